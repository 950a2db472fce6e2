import ImgdSystem

/// A connection to a redis-server that waits for each answer.
package final class RedisConversation {
  private let socket: ClientSocket
  private var arrived: [UInt8] = []

  package init(path: String) throws {
    socket = try ClientSocket(path: path)
  }

  /// Sends a command and waits for the answer to it.
  package func answer(to parts: [[UInt8]]) throws -> RedisValue {
    try send(parts)
    return try next()
  }

  /// Sends a command.
  package func send(_ parts: [[UInt8]]) throws {
    var outbox = Outbox()
    outbox.bytes += Array("*\(parts.count)\r\n".utf8)
    for part in parts {
      outbox.bytes += Array("$\(part.count)\r\n".utf8) + part + Array("\r\n".utf8)
    }
    while outbox.unsent > 0 {
      guard socket.send(&outbox) else { throw TestFailure("the redis-server is gone") }
      if outbox.unsent > 0 { _ = try socket.wait(forRoom: true, until: nil) }
    }
  }

  /// The next answer, or a message to a channel.
  package func next(within limit: Duration = Patience.limit) throws -> RedisValue {
    let deadline = Instant.current + limit
    while true {
      if let (value, rest) = RedisValue.parse(arrived[...]) {
        arrived = Array(rest)
        return value
      }
      guard try socket.wait(forRoom: false, until: deadline) else {
        throw TestFailure("no answer of the redis-server")
      }
      switch try socket.receive() {
      case .bytes(let bytes, _): arrived += bytes
      case .nothing: break
      case .end: throw TestFailure("the redis-server has closed the connection")
      }
    }
  }
}
