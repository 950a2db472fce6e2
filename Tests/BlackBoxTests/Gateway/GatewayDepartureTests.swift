import Glibc
import ImgdTestSupport
import Testing

/// Clients of the gateway that come and go.
struct GatewayDepartureTests {
  private let stage: GatewayStage
  private let gate = Gate()
  private let picture = TestPicture.png(bytes: 5_000)

  init() throws {
    stage = try GatewayStage()
    stage.origin.plan("/slow", .held(at: gate, then: .picture(picture)))
  }

  private func begin() throws -> HTTPConversation {
    let connection = try HTTPConversation(stage.gateway.socket)
    try connection.send("/fetch?url=" + stage.url("/slow"))
    return connection
  }

  @Test func `a client that leaves ends its download`() throws {
    let client = try begin()
    #expect(gate.waitUntilReached())
    client.leave()
    #expect(try becomes { try stage.stage.stats("downloads", "active") == 0 })
    #expect(try stage.stage.stats("downloads", "cancelled") == 1)
  }

  @Test func `one that leaves does not end it for another`() throws {
    let (leaving, staying) = (try begin(), try begin())
    #expect(gate.waitUntilReached())
    #expect(try becomes { try stage.stage.stats("downloads", "coalesced") == 1 })
    leaving.leave()
    #expect(try becomes { try stage.stage.stats("queue", "requests") == 1 })
    gate.open()
    #expect(try staying.answer().body == picture)
    #expect(stage.origin.count("/slow") == 1)
  }

  @Test func `one that sends no more still gets its answer`() throws {
    let client = try begin()
    client.endSending()
    #expect(gate.waitUntilReached())
    gate.open()
    #expect(try client.answer().body == picture)
  }

  @Test func `many that send no more at once all get their answers`() throws {
    stage.origin.plan("/cat", .picture(picture))
    #expect(try stage.gateway.fetch(stage.url("/cat")).status == 200)
    for _ in 0..<10 {
      let clients = try (0..<100).map { _ in
        let client = try HTTPConversation(stage.gateway.socket)
        try client.send("/fetch?url=" + stage.url("/cat"), ["Range: bytes=0-9"])
        client.endSending()
        return client
      }
      for client in clients { #expect(try client.answer().status == 206) }
    }
  }

  @Test func `a stop answers what is under way`() throws {
    let client = try begin()
    #expect(gate.waitUntilReached())
    stage.gateway.beginStop()
    gate.open()
    #expect(try client.answer().body == picture)
    #expect(stage.gateway.waitForEnd() == 0)
  }
}
