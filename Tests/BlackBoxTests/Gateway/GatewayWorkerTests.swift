import Glibc
import ImgdTestSupport
import Testing

/// A gateway of several threads, which is one to its clients.
struct GatewayWorkerTests {
  private static let workers = 3

  private let stage: GatewayStage
  private let clients: [HTTPConversation]

  /// With clients at each of the threads.
  init() throws {
    let stage = try GatewayStage([
      "Allow=127.0.0.1", "Page=all", "MaxPerAddress=2", "Workers=\(Self.workers)",
    ])
    self.stage = stage
    clients = try (0..<4 * Self.workers).map { number in
      let client = try HTTPConversation(stage.gateway.socket)
      try client.send("/nothing")
      #expect(try client.answer().status == 404)
      return client
    }
  }

  private func fetch(_ path: String, _ client: HTTPConversation) throws -> [UInt8] {
    try client.send("/fetch?url=" + stage.url(path))
    return try client.answer().body
  }

  private func metric(_ name: String) throws -> Int? {
    let page = try stage.gateway.get("/metrics").text
    return page.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap {
      Int($0.dropFirst(name.count + 1))
    }
  }

  @Test func `a purge is in force at all of them when it is answered`() throws {
    for round in 1...20 {
      let picture = TestPicture.png(bytes: 500 + round)
      stage.origin.plan("/a", .picture(picture, headers: [("Cache-Control", "max-age=600")]))
      for _ in 0..<3 { for client in clients { #expect(try fetch("/a", client) == picture) } }
      try stage.stage.play(
        #"""
        > {"cmd":"purge","url":"ORIGIN/a"}
        < {"ok":true,"removed":true}
        """#)
    }
    #expect(stage.origin.count("/a") == 20)
    // Each of them has held it.
    #expect(try stage.stage.stats("clients", "connected") > 2 * Self.workers)
    #expect(try #require(try metric("imgd_http_held_total")) > 20 * clients.count)
  }

  @Test func `an address has one share at all of them`() throws {
    let gate = Gate()
    stage.origin.plan("/slow", .held(at: gate, then: .picture(TestPicture.png(bytes: 500))))
    let address = ["X-Forwarded-For: 192.0.2.1"]
    for client in clients[..<2] { try client.send("/fetch?url=" + stage.url("/slow"), address) }
    #expect(gate.waitUntilReached())
    #expect(try becomes { try stage.stage.stats("queue", "requests") == 2 })
    for client in clients[2...] {
      try client.send("/fetch?url=" + stage.url("/slow"), address)
      #expect(try client.answer().status == 429)
    }
    #expect(try metric("imgd_http_limited_total") == clients.count - 2)
    gate.open()
    for client in clients[..<2] { #expect(try client.answer().status == 200) }
  }

  @Test func `the metrics are those of all`() throws {
    stage.origin.plan("/a", .picture(TestPicture.png(bytes: 500)))
    for client in clients { #expect(try fetch("/a", client).count == 500) }
    #expect(try metric("imgd_http_bytes_sent_total") == 500 * clients.count)
    #expect(try metric(#"imgd_http_requests_total{code="4xx"}"#) == clients.count)
    #expect(try #require(try metric("imgd_http_connections")) > clients.count)
  }

  @Test func `a stop answers what is under way at all of them`() throws {
    let gate = Gate()
    let picture = TestPicture.png(bytes: 5_000)
    stage.origin.plan("/slow", .held(at: gate, then: .picture(picture)))
    for client in clients { try client.send("/fetch?url=" + stage.url("/slow")) }
    #expect(gate.waitUntilReached())
    #expect(try becomes { try stage.stage.stats("queue", "requests") == clients.count })
    stage.gateway.beginStop()
    gate.open()
    for client in clients { #expect(try client.answer().body == picture) }
    #expect(stage.gateway.waitForEnd() == 0)
  }
}
