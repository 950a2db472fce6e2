import Glibc

/// A proxy that speaks SOCKS 5 and resolves every name as loopback.
package final class SocksProxy: Sendable {
  package let port: Int
  private let listener: CInt
  private let asked = Shared<[String]>([])

  /// Where connections were to lead, as clients said it.
  package var targets: [String] { asked.with { $0 } }
  package var url: String { "socks5h://127.0.0.1:\(port)" }

  package init() throws {
    listener = try OriginSocket.listen(ipv6: false)
    port = OriginSocket.port(of: listener)
    let (listener, asked) = (listener, asked)
    detachThread {
      while let client = OriginSocket.accept(listener) {
        detachThread { Self.serve(client, asked) }
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, CInt(SHUT_RDWR)) }

  private static func serve(_ client: CInt, _ asked: Shared<[String]>) {
    defer { close(client) }
    // The methods that the client knows; the answer is that none is needed.
    guard let hello = receive(2, from: client), receive(Int(hello[1]), from: client) != nil,
      OriginSocket.send([5, 0], to: client),
      // Version, CONNECT, reserved, a name with its length.
      let head = receive(5, from: client), head[1] == 1, head[3] == 3,
      let name = receive(Int(head[4]), from: client), let port = receive(2, from: client)
    else { return }
    let number = Int(port[0]) << 8 | Int(port[1])
    asked.with { $0.append(String(decoding: name, as: UTF8.self) + ":\(number)") }
    guard let origin = OriginSocket.connect(number) else { return }
    defer { close(origin) }
    guard OriginSocket.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0], to: client) else { return }
    SocketRelay.join(client, origin)
  }

  private static func receive(_ count: Int, from client: CInt) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return count == 0 || recv(client, &bytes, count, CInt(MSG_WAITALL)) == count ? bytes : nil
  }
}
