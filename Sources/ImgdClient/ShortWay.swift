internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire

/// A connection on which a task itself waits for its picture, as long as that takes no longer than a hit does.
///
/// To hand a request to the client's thread, and to be woken by it, takes three times as long as the daemon needs for a
/// hit. So a task that is alone sends its line and waits; what is not answered by then goes on at the client's thread,
/// and no thread of the tasks is held up for longer than `patience`.
final class ShortWay: Sendable {
  /// Many times what a hit takes, and less than anybody notices who waits on the thread of the task.
  static let patience = Duration.microseconds(300)
  /// As long as a hit takes: to set a timer for the sleep takes half as long again.
  private static let looks = 40
  /// The most fetches that go another way after one that was no hit.
  private static let longestPause = 64

  private enum State {
    case unused
    case kept(Connection)
    case lent
    case closed
  }

  private struct Plan {
    var state = State.unused
    /// How many fetches do not try this way, and how many it will be after the next one that is no hit.
    var (skips, pause) = (0, 1)
    var lastID = 0
    var receipts: [UInt64] = [0, 0]
  }

  /// A fetch as it is sent over this way.
  struct Attempt: Sendable {
    let id: Int
    let receipt: ReceiptID
  }

  enum Outcome {
    case answered(DaemonAnswer, path: String)
    /// The daemon has the request; the answer is waited for elsewhere.
    case underWay(Connection, Attempt)
    /// It has to be sent another way, for the second time if the connection broke.
    case unanswered(wasSent: Bool)
  }

  /// A connection that has one owner at a time.
  final class Connection: @unchecked Sendable {
    // Unchecked, because it is either kept, and used by nobody, or lent to one who gives it back or away.
    let lines: ControlConnection

    init(_ lines: ControlConnection) { self.lines = lines }
  }

  private let patience: Duration
  private let plan: Locked<Plan>

  init(patience: Duration = patience) {
    self.patience = patience
    var plan = Plan()
    Randomness.fill(&plan.receipts)
    self.plan = Locked(plan)
  }

  func close() { plan.withLock { $0.state = .closed } }

  /// Sends a fetch and waits a moment for its answer.
  func answer(_ fetch: FetchRequest, path: () -> String) -> Outcome {
    guard let (kept, attempt) = lend() else { return .unanswered(wasSent: false) }
    guard let connection = kept ?? Self.connect(path()) else {
      giveBack(nil, wasHit: false)
      return .unanswered(wasSent: false)
    }
    var fetch = fetch
    fetch.extras.receipt = attempt.receipt
    connection.lines.send(Request.fetch(fetch).line(id: .integer(Int64(attempt.id))))
    let outcome = wait(for: attempt, on: connection)
    if case .answered = outcome { giveBack(connection, wasHit: true) } else { giveBack(nil, wasHit: false) }
    return outcome
  }

  private static func connect(_ path: String) -> Connection? {
    (try? ControlConnection(path: path, mayWait: false)).map { Connection($0) }
  }

  private func wait(for attempt: Attempt, on connection: Connection) -> Outcome {
    let lines = connection.lines
    do throws(ConnectionProblem) {
      guard let line = try lines.receive(until: .current + patience, looking: Self.looks) else {
        return .unanswered(wasSent: true)
      }
      let reply = try Reply(line, from: lines.path)
      guard reply.id == attempt.id, reply.succeeded != nil else { return .unanswered(wasSent: true) }
      let descriptor = reply.objects("fds")?.first == nil ? nil : lines.takeDescriptor()
      return .answered(DaemonAnswer(reply, descriptor), path: lines.path)
    } catch {
      if case .silent = error { return .underWay(connection, attempt) }
      return .unanswered(wasSent: true)
    }
  }

  private func lend() -> (Connection?, Attempt)? {
    plan.withLock { plan in
      guard plan.skips == 0 else {
        plan.skips -= 1
        return nil
      }
      let kept: Connection?
      switch plan.state {
      case .unused: kept = nil
      case .kept(let connection): kept = connection
      case .lent, .closed: return nil
      }
      plan.state = .lent
      plan.lastID += 1
      plan.receipts[1] &+= 1
      return (kept, Attempt(id: plan.lastID, receipt: .random(using: (plan.receipts[0], plan.receipts[1]))))
    }
  }

  private func giveBack(_ connection: Connection?, wasHit: Bool) {
    plan.withLock { plan in
      plan.skips = wasHit ? 0 : plan.pause
      plan.pause = wasHit ? 1 : min(plan.pause * 2, Self.longestPause)
      guard case .lent = plan.state else { return }
      plan.state = connection.map { .kept($0) } ?? .unused
    }
  }
}

extension FetchRequest {
  /// Whether it may be answered at once, and its answer is all that comes.
  var mayTakeShortWay: Bool {
    wait && !detach && !events && !progress && slot == nil
      && (cache == .default_ || cache == .forceCache || cache == .onlyIfCached)
  }
}
