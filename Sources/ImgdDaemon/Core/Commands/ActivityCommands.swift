import ImgdSystem
import ImgdWire

/// `clients` and `failures`: who asks for how much, and what has gone wrong.
final class ActivityCommands {
  private let clients: Clients
  private let failed: RecentFailures
  private let access: Access
  private let loop: EventLoop

  init(_ parts: CoreParts, loop: EventLoop) {
    clients = parts.clients
    failed = parts.jobs.failed
    access = parts.access
    self.loop = loop
  }

  /// The open connections in the order in which they came, and behind the last of them the users.
  func clients(_ page: PageRequest, id: RequestID, for client: ReplyPlace) {
    guard let start = client.start(of: page, for: .clients, id: id) else { return }
    let answer = ListAnswer("clients", of: page, id: id, to: client)
    let connections = ConnectionList(
      of: clients, after: start, seenBy: access.viewer(client.peer), in: answer, at: loop.now)
    client.walk { connections.goOn() }
  }

  /// The latest failures, the newest first.
  func failures(_ page: PageRequest, id: RequestID, for client: ReplyPlace) {
    guard let start = client.start(of: page, for: .failures, id: id, from: .max) else { return }
    client.walk { [self] in
      let answer = ListAnswer("failures", of: page, id: id, to: client)
      var last: UInt64?
      for failure in failed.before(start) where access.sees(workOf: failure.uid, by: client.peer) {
        guard answer.room > 0 else {
          answer.finish(cursor: last.map(String.init))
          return false
        }
        answer.add { describe(failure, in: &$0) }
        last = failure.number
      }
      answer.finish(cursor: nil)
      return false
    }
  }

  private func describe(_ failure: RecentFailures.Failure, in line: inout JSONWriter) {
    line.field("url", failure.url)
    line.field("code", failure.code.rawValue)
    if let status = failure.status { line.field("status", status) }
    line.field("message", failure.message)
    line.field("times", failure.times)
    line.field("last", Timestamp.rfc3339(failure.last))
    line.field("uid", Int(failure.uid))
  }
}

/// A page of the open connections; the last one says what each user has asked for over all of them.
private final class ConnectionList {
  /// How many rows are written in one step, and how many connections are added up.
  private static let (mostAtOnce, mostCounted) = (16, 256)

  private let clients: Clients
  private let viewer: UInt32?
  private let answer: ListAnswer
  private let now: Instant
  private var next: UInt64
  /// Those that have been added up; nil while rows are written.
  private var users: [UInt32: UserUse]?

  init(of clients: Clients, after start: UInt64, seenBy viewer: UInt32?, in answer: ListAnswer, at now: Instant) {
    self.clients = clients
    self.viewer = viewer
    self.answer = answer
    self.now = now
    next = start
  }

  /// Goes on with some of the connections; returns whether there is more to do.
  func goOn() -> Bool { users == nil ? writeRows() : addUp() }

  private func isShown(_ uid: UInt32) -> Bool { viewer.map { $0 == uid } ?? true }

  private func writeRows() -> Bool {
    let part = clients.some(after: next, most: Self.mostAtOnce)
    for session in part.sessions where isShown(session.peer.uid) {
      answer.add { describe(session, in: &$0) }
      if answer.room == 0 {
        answer.finish(cursor: String(session.number))
        return false
      }
    }
    next = part.end ?? 0
    if part.end == nil { users = clients.formerUsers }
    return true
  }

  private func describe(_ session: ClientSession, in line: inout JSONWriter) {
    let place = session.place
    line.fields([
      "connection": Int(session.number), "uid": Int(session.peer.uid), "pid": Int(session.peer.pid),
      "age_s": Int((now - session.since).components.seconds), "under_way": place.awaited + place.standingCount,
    ])
    line.use(session.use)
  }

  private func addUp() -> Bool {
    let part = clients.some(after: next, most: Self.mostCounted)
    for session in part.sessions { users?[session.peer.uid, default: UserUse()].add(open: session.use) }
    next = part.end ?? 0
    guard part.end == nil else { return true }
    let shown = (users ?? [:]).filter { isShown($0.key) }.sorted { $0.key < $1.key }
    answer.finish(cursor: nil) { line in
      line.array("users") { line in for (uid, user) in shown { line.object { $0.user(uid, user) } } }
    }
    return false
  }
}

extension JSONWriter {
  fileprivate mutating func user(_ uid: UInt32, _ user: UserUse) {
    fields(["uid": Int(uid), "connected": user.connected, "accepted": user.accepted])
    use(user.use)
  }

  fileprivate mutating func use(_ use: ClientUse) { fields(["requests": use.requests, "bytes_sent": use.bytesSent]) }
}
