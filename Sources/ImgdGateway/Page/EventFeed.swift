import ImgdConnection
import ImgdSystem
import ImgdWire

/// Looks at the daemon once a second while somebody has the page open, and shows all viewers the same. Otherwise it
/// looks every five seconds, so that a page that is opened has a history to show.
final class EventFeed {
  static let mostViewers = 32
  static let period = Duration.seconds(1)
  static let unwatchedPeriod = Duration.seconds(5)
  private static let (mostFetches, mostFailures) = (50, 12)
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
    stream.onEnd = { [unowned self, unowned stream] in
      viewers.removeAll { $0 === stream }
      if viewers.isEmpty { expectLook() }
    }
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

  // MARK: Looks

  private func expectLook() {
    timer?.cancel()
    let pause = viewers.isEmpty ? Self.unwatchedPeriod : Self.period
    timer = loop.schedule(after: pause) { [weak self] in self?.look() }
  }

  /// Asks for the counters and, if somebody watches, the oldest fetches and the latest failures; does nothing while an earlier look waits for
  /// its answers.
  func look() {
    expectLook()
    guard !isLooking else { return }
    isLooking = true
    ask(.stats) { [unowned self] reply in
      let statistics = DaemonStatistics(reply: reply, moment: loop.now)
      history.add(statistics, at: Int(WallClock.nanoseconds / 1_000_000))
      guard !viewers.isEmpty else { return isLooking = false }
      ask(.list(PageRequest(limit: Self.mostFetches))) { [unowned self] fetches in
        ask(.failures(PageRequest(limit: Self.mostFailures))) { [unowned self] failures in
          publish(EventFrame.look(statistics, history, fetches: fetches, failures: failures, purges: purges))
        }
      }
    }
  }

  private func ask(_ request: Request, then: @escaping (Reply) -> Void) {
    link.ask(request) { [weak self] result in
      guard let self else { return }
      switch PageReply.of(result) {
      case .success(let reply): then(reply)
      case .failure(let error): publish(EventFrame.problem(error))
      }
    }
  }

  private func publish(_ event: [UInt8]) {
    isLooking = false
    newest = event
    // A write may end a stream, which then leaves the list.
    for viewer in viewers where viewer.unsent < Self.mostUnsent { viewer.write(event) }
  }
}

/// The events of a stream, as bytes that all viewers get.
enum EventFrame {
  /// The length at which URLs in the lists are cut off: people read these.
  private static let longestURL = 512

  /// The beginning of a stream: how soon to connect again when it is lost, and the past five minutes.
  static func history(_ history: TrafficHistory) -> [UInt8] {
    event("history", after: "retry: 2000\n") { history.write(to: &$0) }
  }

  /// The daemon at this moment: all its counters, the newest sample, the fetches under way and those that have failed.
  static func look(
    _ statistics: DaemonStatistics, _ history: TrafficHistory, fetches: Reply, failures: Reply, purges: Bool
  ) -> [UInt8] {
    event("look") { line in
      line.object { line in
        line.name("sample")
        history.writeLast(to: &line)
        line.field("purges", purges)
        line.array("fetches") { line in for fetch in fetches.objects("jobs") ?? [] { write(fetch, to: &line) } }
        line.field("more", fetches.text("cursor") != nil)
        line.array("failures") { line in
          for failure in failures.objects("failures") ?? [] { write(failure, asFailureTo: &line) }
        }
        line.name("stats")
        line.encoded(Array(statistics.reply.json.utf8))
      }
    }
  }

  /// The event for a daemon that does not answer.
  static func problem(_ error: GatewayError) -> [UInt8] {
    event("problem") { line in line.object { $0.field("message", error.message) } }
  }

  private static func write(_ fetch: Reply, to line: inout JSONWriter) {
    line.object { line in
      line.field("url", shortURL(of: fetch))
      line.field("receipt", fetch.text("receipt"))
      line.field("state", fetch.text("state"))
      for field: StaticString in ["received", "expected", "waiters", "age_ms"] {
        line.field(field, fetch.number("\(field)"))
      }
    }
  }

  private static func write(_ failure: Reply, asFailureTo line: inout JSONWriter) {
    line.object { line in
      line.field("url", shortURL(of: failure))
      for field: StaticString in ["code", "message", "last"] { line.field(field, failure.text("\(field)")) }
      for field: StaticString in ["status", "times"] { line.field(field, failure.number("\(field)")) }
    }
  }

  private static func shortURL(of fetch: Reply) -> String {
    String(decoding: (fetch.text("url") ?? "").utf8.prefix(longestURL), as: UTF8.self)
  }

  private static func event(_ name: String, after head: String = "", _ fill: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter(appendingTo: Array("\(head)event: \(name)\ndata: ".utf8))
    fill(&writer)
    writer.newline()
    writer.newline()
    return writer.bytes
  }
}

/// The last five minutes of the counters that the page plots, so that a page that is opened shows them at once.
struct TrafficHistory {
  /// Five minutes with one sample each second.
  static let longest = 300
  private static let span = 300_000

  /// Each with its time in milliseconds since 1970, the process, hits, look-ups and bytes received.
  private var samples: [[Int]] = []

  /// Adds the counters as they were at a time, in milliseconds since 1970.
  mutating func add(_ statistics: DaemonStatistics, at time: Int) {
    let old = samples.prefix { $0[0] < time - Self.span }.count
    samples.removeFirst(max(old, samples.count - Self.longest + 1))
    samples.append([
      time, statistics.number("process", "pid"), statistics.hits, statistics.lookups("memory"),
      statistics.number("downloads", "bytes_received"),
    ])
  }

  /// An array with one array for each sample.
  func write(to line: inout JSONWriter) {
    line.beginArray()
    for sample in samples { Self.write(sample, to: &line) }
    line.endArray()
  }

  func writeLast(to line: inout JSONWriter) {
    guard let sample = samples.last else { return line.null() }
    Self.write(sample, to: &line)
  }

  private static func write(_ sample: [Int], to line: inout JSONWriter) {
    line.beginArray()
    for number in sample { line.value(number) }
    line.endArray()
  }
}
