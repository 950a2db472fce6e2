import ImgdSystem
import ImgdWire

/// `clients` and `failures`: who asks for how much, and what has gone wrong.
final class ActivityCommands {
  /// How many rows are written in one step.
  private static let mostAtOnce = 16

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
    let viewer = access.viewer(client.peer)
    var rest = clients.numbers(after: start)[...]
    client.walk { [self] in
      for number in rest.prefix(min(answer.room, Self.mostAtOnce)) {
        rest.removeFirst()
        guard let session = clients[number], viewer.map({ $0 == session.peer.uid }) ?? true else { continue }
        answer.add { describe(session, in: &$0) }
        if answer.room == 0 {
          answer.finish(cursor: String(number))
          return false
        }
      }
      guard rest.isEmpty else { return true }
      answer.finish(cursor: nil) { line in
        line.array("users") { line in
          for (uid, user) in clients.users where viewer.map({ $0 == uid }) ?? true {
            line.object { line in
              line.fields(["uid": Int(uid), "connected": user.connected, "accepted": user.accepted])
              line.use(user.use)
            }
          }
        }
      }
      return false
    }
  }

  private func describe(_ session: ClientSession, in line: inout JSONWriter) {
    let place = session.place
    line.fields([
      "connection": Int(session.number), "uid": Int(session.peer.uid), "pid": Int(session.peer.pid),
      "age_s": Int((loop.now - session.since).components.seconds), "under_way": place.awaited + place.standingCount,
    ])
    line.use(session.use)
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

extension JSONWriter {
  fileprivate mutating func use(_ use: ClientUse) { fields(["requests": use.requests, "bytes_sent": use.bytesSent]) }
}
