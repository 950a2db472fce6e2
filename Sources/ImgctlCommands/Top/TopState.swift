import ImgdConnection
import ImgdSystem
import ImgdWire

struct TopState {
  /// How many intervals the widest terminal has columns for.
  private static let longestHistory = 1000

  let socket: String
  private(set) var latest: DaemonStatistics?
  private(set) var history: [Traffic] = []
  private(set) var fetches: [Reply] = []
  /// Why there is no connection; nil if there is one.
  private(set) var problem: String?
  var isPaused = false
  /// Whether the keys are explained in place of the numbers.
  var showsKeys = false

  /// Takes in the daemon's answers to one look.
  mutating func show(_ statistics: DaemonStatistics, _ fetches: [Reply]) {
    if let latest, let interval = Interval(from: latest, to: statistics) {
      history.append(Traffic(interval))
      if history.count > Self.longestHistory { history.removeFirst() }
    } else {
      // Another process: what came before has nothing to do with it.
      history = []
    }
    latest = statistics
    self.fetches = fetches
    problem = nil
  }

  /// Notes that the daemon cannot be asked now.
  mutating func show(problem: String) {
    self.problem = problem
    fetches = []
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
    case answers(DaemonStatistics, fetches: [Reply])
    case problem(String)
  }

  private let context: Context
  private let loop: EventLoop
  private let onLook: (Outcome) -> Void
  private var connection: WatchedConnection?
  /// The answer to `stats`, while the one to `list` has not come.
  private var statistics: DaemonStatistics?
  /// When the look under way began; nil between looks.
  private var begun: Instant?

  init(_ context: Context, _ loop: EventLoop, _ onLook: @escaping (Outcome) -> Void) {
    self.context = context
    self.loop = loop
    self.onLook = onLook
  }

  deinit { connection?.close() }

  /// Asks for the counters and the oldest fetches; does nothing while an earlier look waits for its answers.
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
      guard reply.succeeded == true else { return fail(reply.complaint) }
      guard let statistics else { return self.statistics = DaemonStatistics(reply: reply, moment: loop.now) }
      self.statistics = nil
      begun = nil
      onLook(.answers(statistics, fetches: reply.objects("jobs") ?? []))
    } catch { connection?.breakOff(error) }
  }

  private func lose(_ problem: ConnectionProblem?) { fail((problem ?? .closed(path: context.socket)).description) }

  private func fail(_ problem: String) {
    connection.take()?.close()
    statistics = nil
    begun = nil
    onLook(.problem(problem))
  }
}
