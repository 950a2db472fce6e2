import Glibc

/// A Unix socket that keeps the lines which are sent to it, and never answers.
package final class LineRecorder: Sendable {
  package let socket: String
  private let directory: String
  private let listener: CInt
  private let received = Shared([String]())

  package init() throws {
    directory = try TemporaryDirectory.make()
    socket = directory + "/imgd.sock"
    listener = try UnixName.listening(at: socket)
    let (listener, received) = (listener, received)
    detachThread {
      while let connection = OriginSocket.accept(listener) {
        detachThread { Self.read(connection, into: received) }
      }
      close(listener)
    }
  }

  deinit {
    shutdown(listener, CInt(SHUT_RDWR))
    TemporaryDirectory.remove(directory)
  }

  package var lines: [String] { received.with { $0 } }

  private static func read(_ connection: CInt, into received: Shared<[String]>) {
    var text: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 65_536)
    while case let count = recv(connection, &room, room.count, 0), count > 0 {
      text += room[..<count]
      while let end = text.firstIndex(of: 10) {
        let line = String(decoding: text[..<end], as: UTF8.self)
        received.with { $0.append(line) }
        text.removeFirst(end + 1)
      }
    }
    close(connection)
  }
}
