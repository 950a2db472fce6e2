import ImgdConnection
import ImgdSystem
import ImgdWire

/// The daemon's answers at one time.
struct Look {
  let statistics: DaemonStatistics
  var fetches: [Reply] = []
  var failures: [Reply] = []

  /// The hosts that most was asked of; none for who sees no others.
  var hosts: [Reply] {
    let hosts = (statistics.reply.objects("origins") ?? []).filter { $0.text("host") != nil }
    return hosts.sorted { $0.number("requests") ?? 0 > $1.number("requests") ?? 0 }
  }
}

struct TopState {
  /// What rates are averages of; looks come a little early or late.
  private static let averaged = Duration.milliseconds(3_500)
  /// How many intervals the widest terminal has columns for.
  private static let longestHistory = 1000

  let socket: String
  private(set) var latest: Look?
  /// The counters of the last few seconds, the oldest first.
  private var recent: [DaemonStatistics] = []
  private(set) var history: [Traffic] = []
  /// Why there is no connection; nil if there is one.
  private(set) var problem: String?
  var isPaused = false
  /// Whether the keys are explained in place of the numbers.
  var showsKeys = false

  init(socket: String) { self.socket = socket }

  /// Takes in the daemon's answers to one look.
  mutating func show(_ look: Look) {
    let last = recent.popLast()
    recent.removeAll { look.statistics.moment - $0.moment > Self.averaged }
    if let last { recent.append(last) }
    if let first = recent.first, let interval = Interval(from: first, to: look.statistics) {
      history.append(Traffic(interval))
      if history.count > Self.longestHistory { history.removeFirst() }
    } else {
      // Another process: what came before has nothing to do with it.
      (history, recent) = ([], [])
    }
    recent.append(look.statistics)
    latest = look
    problem = nil
  }

  /// Notes that the daemon cannot be asked now.
  mutating func show(problem: String) {
    self.problem = problem
    latest?.fetches = []
  }
}

/// What happened in one interval, per second.
struct Traffic {
  let hits: Double
  let misses: Double
  let downloads: Double
  let bytes: Double
  /// The share of look-ups that were answered from the cache; nil without any.
  let ratio: Double?

  init(_ interval: Interval) {
    hits = interval.hitRate
    misses = interval.missRate
    downloads = interval.rate("downloads", "completed")
    bytes = interval.rate("downloads", "bytes_received")
    ratio = interval.hitRatio
  }
}

/// Looks at the daemon again and again from a loop, over a connection that is made again when it breaks.
final class DaemonFeed {
  /// The answers to one look, or the reason why there are none.
  enum Outcome {
    case answers(Look)
    case problem(String)
  }

  private let context: Context
  private let loop: EventLoop
  private let onLook: (Outcome) -> Void
  private var connection: WatchedConnection?
  /// The answers that have come of the look under way.
  private var answers: [Reply] = []
  /// When the first of them came.
  private var moment = Instant.current
  /// When the look under way began; nil between looks.
  private var begun: Instant?

  init(_ context: Context, _ loop: EventLoop, _ onLook: @escaping (Outcome) -> Void) {
    self.context = context
    self.loop = loop
    self.onLook = onLook
  }

  deinit { connection?.close() }

  /// Asks for the counters, the oldest fetches and the latest failures; does nothing while an earlier look waits for its answers.
  func look(atMost fetches: Int) {
    if let begun {
      guard loop.now - begun > Context.patience else { return }
      return fail(ConnectionProblem.silent(path: context.socket).description)
    }
    do throws(Failure) {
      let connection = try connected()
      let page = PageRequest(limit: max(1, min(fetches, WireLimits.entries.upperBound)))
      connection.send(Request.stats.line())
      connection.send(Request.list(page).line())
      connection.send(Request.failures(page).line())
      begun = loop.now
    } catch { fail(error.sentence) }
  }

  private func connected() throws(Failure) -> WatchedConnection {
    if let connection { return connection }
    let made = try context.connect()
    let feed = Unowned(self)
    do throws(ConnectionProblem) {
      let watched = try WatchedConnection(
        made, on: loop, onLine: { feed.object.receive($0) }, onEnd: { feed.object.lose($0) })
      connection = watched
      return watched
    } catch { throw Failure(error) }
  }

  private func receive(_ line: [UInt8]) {
    do throws(ConnectionProblem) {
      let reply = try Reply(line, from: context.socket)
      // A daemon of an earlier release keeps no failures.
      guard reply.succeeded == true || answers.count == 2 else { return fail(reply.complaint) }
      if answers.isEmpty { moment = loop.now }
      answers.append(reply)
      guard answers.count == 3 else { return }
      let look = Look(
        statistics: DaemonStatistics(reply: answers[0], moment: moment), fetches: answers[1].objects("jobs") ?? [],
        failures: answers[2].objects("failures") ?? [])
      (answers, begun) = ([], nil)
      onLook(.answers(look))
    } catch { connection?.breakOff(error) }
  }

  private func lose(_ problem: ConnectionProblem?) { fail((problem ?? .closed(path: context.socket)).description) }

  private func fail(_ problem: String) {
    connection.take()?.close()
    (answers, begun) = ([], nil)
    onLook(.problem(problem))
  }
}
