import ImgdConnection
import ImgdMetrics
import ImgdSystem

/// Looks at the daemon again and again from a loop, over a connection that is made anew when it breaks.
final class DaemonFeed {
  /// The answers to one look, or the reason why there are none.
  enum Outcome {
    case answers(Statistics, fetches: [Reply])
    case problem(String)
  }

  private let context: Context
  private let loop: EventLoop
  private let take: (Outcome) -> Void
  private var connection: ControlConnection?
  private var watch: Watch?
  /// The answer to `stats`, while the one to `list` has not come.
  private var statistics: Statistics?
  /// When the look under way began; nil between looks.
  private var begun: Instant?

  init(_ context: Context, _ loop: EventLoop, _ take: @escaping (Outcome) -> Void) {
    self.context = context
    self.loop = loop
    self.take = take
  }

  deinit {
    watch?.cancel()
  }

  /// Asks for the counters and the oldest fetches; nothing while an earlier look waits for its answers.
  func look(atMost fetches: Int) {
    if let begun {
      guard loop.now - begun > Context.patience else { return }
      return fail(ConnectionProblem.silent(path: context.socket).description)
    }
    do throws(Failure) {
      let connection = try connected()
      var list = RequestLine("list")
      list.add("limit", max(1, min(fetches, 1000)))
      connection.send(RequestLine("stats").bytes)
      connection.send(list.bytes)
      begun = loop.now
      exchange()
    } catch { fail(error.sentence) }
  }

  private func connected() throws(Failure) -> ControlConnection {
    if let connection { return connection }
    let connection = try context.connect()
    do throws(SystemFailure) {
      watch = try loop.watch(connection.descriptor, for: .read) { [feed = Unowned(self)] _ in
        feed.object.exchange()
      }
    } catch { throw Failure(error) }
    self.connection = connection
    return connection
  }

  private func exchange() {
    guard let connection else { return }
    do throws(ConnectionProblem) {
      let isOpen = try connection.exchange()
      // An answer may be a refusal, after which this connection is not asked any more.
      while self.connection === connection, let line = try connection.next() {
        receive(try Reply(line, from: connection.path))
      }
      guard self.connection === connection else { return }
      guard isOpen else { throw .closed(path: connection.path) }
      watch?.interest = connection.hasUnsent ? [.read, .write] : .read
    } catch { fail(error.description) }
  }

  private func receive(_ reply: Reply) {
    guard reply.succeeded == true else { return fail(reply.complaint) }
    guard let statistics else {
      self.statistics = Statistics(reply: reply, moment: loop.now)
      return
    }
    self.statistics = nil
    begun = nil
    take(.answers(statistics, fetches: reply.objects("jobs") ?? []))
  }

  private func fail(_ problem: String) {
    watch?.cancel()
    watch = nil
    connection = nil
    statistics = nil
    begun = nil
    take(.problem(problem))
  }
}
