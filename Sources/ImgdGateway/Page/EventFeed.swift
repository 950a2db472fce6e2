import ImgdConnection
import ImgdSystem
import ImgdWire

/// Looks at the daemon once a second while somebody has the page open, and shows all viewers the same. Otherwise it
/// looks every five seconds, so that a page that is opened has a history to show.
final class EventFeed {
  static let mostViewers = 32
  static let period = Duration.seconds(1)
  static let unwatchedPeriod = Duration.seconds(5)
  /// The most fetches under way that are shown.
  private static let mostFetches = 50
  /// A viewer with this much unread gets nothing new until it has read it.
  private static let mostUnsent = 128 << 10

  private let link: DaemonLink
  private let loop: EventLoop
  private let purges: Bool
  private var viewers: [HTTPStream] = []
  private var history = TrafficHistory()
  /// The event that was shown last.
  private var newest: [UInt8] = []
  private var timer: Timer?
  /// Whether a look still waits for its answers.
  private var isLooking = false

  init(_ link: DaemonLink, on loop: EventLoop, purges: Bool) {
    self.link = link
    self.loop = loop
    self.purges = purges
  }

  /// A stream for one more viewer; nil if there are too many already.
  func addViewer() -> HTTPStream? {
    guard viewers.count < Self.mostViewers else { return nil }
    let stream = HTTPStream()
    stream.onEnd = { [unowned self, unowned stream] in remove(stream) }
    stream.write(EventFrame.history(history))
    viewers.append(stream)
    if viewers.count == 1 {
      // What was shown last may be long out of date.
      newest = []
      look()
    } else {
      stream.write(newest)
    }
    return stream
  }

  private func remove(_ stream: HTTPStream) {
    viewers.removeAll { $0 === stream }
    if viewers.isEmpty { expectLook() }
  }

  // MARK: Looks

  /// Begins to gather the history before anybody watches.
  func begin() { look() }

  private func expectLook() {
    timer?.cancel()
    let pause = viewers.isEmpty ? Self.unwatchedPeriod : Self.period
    timer = loop.schedule(after: pause) { [weak self] in self?.look() }
  }

  /// Asks for the counters and, if somebody watches, the oldest fetches; does nothing while an earlier look waits for
  /// its answers.
  private func look() {
    expectLook()
    guard !isLooking else { return }
    isLooking = true
    link.ask(.stats) { [weak self] result in
      switch PageReply.of(result) {
      case .success(let reply): self?.add(reply)
      case .failure(let error): self?.fail(error)
      }
    }
  }

  private func add(_ reply: Reply) {
    let statistics = DaemonStatistics(reply: reply, moment: loop.now)
    history.add(statistics, at: Int(WallClock.nanoseconds / 1_000_000))
    guard !viewers.isEmpty else { return isLooking = false }
    listFetches(beside: statistics)
  }

  private func listFetches(beside statistics: DaemonStatistics) {
    link.ask(.list(PageRequest(limit: Self.mostFetches))) { [weak self] result in
      switch PageReply.of(result) {
      case .success(let reply): self?.show(statistics, reply)
      case .failure(let error): self?.fail(error)
      }
    }
  }

  private func show(_ statistics: DaemonStatistics, _ fetches: Reply) {
    publish(EventFrame.look(statistics, history, fetches: fetches, purges: purges))
  }

  private func fail(_ error: GatewayError) { publish(EventFrame.problem(error)) }

  private func publish(_ event: [UInt8]) {
    isLooking = false
    newest = event
    // A write may end a stream, which then leaves the list.
    for viewer in viewers where viewer.unsent < Self.mostUnsent { viewer.write(event) }
  }
}
