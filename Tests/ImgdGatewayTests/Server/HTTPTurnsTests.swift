import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import Testing

/// Several servers that accept the clients of one socket.
final class HTTPTurnsTests {
  private let directory = TemporaryDirectory()
  private let loop: EventLoop
  private let listener: HTTPListener
  private let servers: [HTTPServer]
  private var path: String { directory.path + "/http.sock" }

  init() throws {
    let loop = try EventLoop(clock: .manual())
    self.loop = loop
    listener = try HTTPListener(path: directory.path + "/http.sock")
    let place = try listener.makePlace()
    servers = try (0..<3).map { number in
      try HTTPServer(on: loop, at: place, limits: HTTPLimits()) { $0.answer(.text("\(number)")) }
    }
  }

  private var connections: [Int] { servers.map(\.counters.connections) }

  private func connect() throws -> RawClient {
    let client = RawClient(try ImgdTestSupport.connect(to: path)) { [loop] in loop.settle() }
    let before = connections.reduce(0, +)
    try waitFor {
      loop.settle()
      return connections.reduce(0, +) > before
    }
    return client
  }

  private func answer(_ client: RawClient) throws -> String {
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    return try client.answer().body
  }

  @Test func `the one with the fewest connections accepts`() throws {
    var clients = try (0..<12).map { _ in try connect() }
    #expect(connections == [4, 4, 4])
    for _ in 0..<2 {
      let leaving = try #require(try clients.firstIndex { try answer($0) == "1" })
      clients.remove(at: leaving).close()
    }
    try waitFor {
      loop.settle()
      return connections == [4, 2, 4]
    }
    clients.append(contentsOf: try (0..<2).map { _ in try connect() })
    #expect(connections == [4, 4, 4])
  }

  @Test func `one that closes lets the others accept`() throws {
    var isClosed = false
    servers[0].close { isClosed = true }
    loop.settle()
    let clients = try (0..<4).map { _ in try connect() }
    #expect(isClosed && connections == [0, 2, 2])
    #expect(Set(try clients.map(answer)) == ["1", "2"])
  }
}
