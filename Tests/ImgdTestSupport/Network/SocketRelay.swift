import Glibc
import ImgdSystem

/// A Unix socket that leads to another one until it is cut.
package final class SocketRelay: Sendable {
  private struct State {
    var isCut = false
    var open: Set<CInt> = []
  }

  package let socket: String
  private let target: String
  private let listener: CInt
  private let state = Shared(State())

  package init(to target: String, at path: String) throws {
    self.target = target
    socket = path
    listener = try UnixName.listening(at: path)
    let (listener, target, state) = (listener, target, state)
    detachThread {
      while let connection = OriginSocket.accept(listener) {
        Self.serve(connection, target, state)
      }
      close(listener)
    }
  }

  deinit {
    cut()
    shutdown(listener, CInt(SHUT_RDWR))
    unlink(socket)
  }

  /// Ends all connections, and new ones at once.
  package func cut() {
    state.with { state in
      state.isCut = true
      for number in state.open { shutdown(number, CInt(SHUT_RDWR)) }
    }
  }

  /// Leads on again.
  package func mend() {
    state.with { $0.isCut = false }
  }

  // MARK: Connections

  private static func serve(_ connection: CInt, _ target: String, _ state: Shared<State>) {
    guard let onward = try? connect(to: target) else { return _ = close(connection) }
    let isOpen = state.with { state in
      if !state.isCut { state.open.formUnion([connection, onward]) }
      return !state.isCut
    }
    guard isOpen else {
      close(connection)
      return _ = close(onward)
    }
    // Closed when both directions have ended, so that neither number is in use again before.
    let left = Shared(2)
    for (from, to) in [(connection, onward), (onward, connection)] {
      detachThread {
        pass(from, to)
        for number in [from, to] { shutdown(number, CInt(SHUT_RDWR)) }
        guard
          left.with({ left in
            left -= 1
            return left == 0
          })
        else { return }
        state.with { state in
          for number in [from, to] {
            state.open.remove(number)
            close(number)
          }
        }
      }
    }
  }

  /// Passes on what two sockets receive, until both directions have ended.
  static func join(_ one: CInt, _ other: CInt) {
    var room = [UInt8](repeating: 0, count: 65_536)
    var open = [one, other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while poll(&open, 2, -1) > 0 {
      for (index, to) in [other, one].enumerated() where open[index].revents != 0 {
        let count = recv(open[index].fd, &room, room.count, 0)
        guard count > 0, OriginSocket.send(Array(room[..<count]), to: to) else { return }
      }
    }
  }

  private static func pass(_ from: CInt, _ to: CInt) {
    var room = [UInt8](repeating: 0, count: 65_536)
    while case let count = recv(from, &room, room.count, 0), count > 0 {
      guard OriginSocket.send(Array(room[..<count]), to: to) else { return }
    }
  }
}
