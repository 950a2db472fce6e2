import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// The limits for one client, and for all clients together.
struct ClientLimitTests {
  private func fetch(_ stage: CoreStage) -> String {
    #"{"cmd":"fetch","url":"\#(stage.base)/hangs.png"}"#
  }

  @Test func `a client above the limit is refused and closed`() throws {
    let stage = try CoreStage("Control.MaxClients=3", "Disk.Enabled=no")
    let inside = try (0..<2).map { _ in try stage.connect() }
    for client in inside { _ = try client.ask(#"{"cmd":"ping"}"#) }
    for _ in 0..<5 {
      let outside = try stage.connect()
      let refusal = try outside.receive()
      #expect(refusal.failureCode == "too_many_requests")
      #expect(refusal["error"]?["retryable"]?.bool == true)
      #expect(try outside.isClosedByDaemon())
    }
    for client in inside { #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true)) }
    try stage.play(
      #"""
      > {"cmd":"stats"}
      < {"ok":true,"clients":{"connected":3,"rejected":5}}
      """#)
  }

  @Test func `a freed place is given to the next client`() throws {
    let stage = try CoreStage("Control.MaxClients=2", "Disk.Enabled=no")
    for _ in 0..<10 {
      #expect(stage.connected == 1)
      #expect(try stage.connect().ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true))
      stage.settle()
    }
  }

  @Test func `what half lines of many clients have held is given back when they have gone`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    var clients = try (0..<200).map { _ in try stage.connect() }
    for client in clients { try client.sendRaw([UInt8](repeating: UInt8(ascii: "x"), count: 60_000)) }
    stage.settle()
    #expect(!stage.core.clients.heap.isDue, "it is still held")
    clients = []
    stage.settle()
    #expect(stage.connected == 1)
    #expect(stage.core.clients.heap.isDue)
    stage.pass(FreedMemory.delay)
    #expect(!stage.core.clients.heap.isDue, "it was given back")
  }

  @Test func `one connection may have ten thousand receipts at most`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/hangs.png", .silence)
    var client: TestClient? = try stage.connect()
    for _ in 0..<100 {
      try client?.send(String(repeating: fetch(stage) + "\n", count: 99) + fetch(stage))
    }
    #expect(try stage.stats("downloads", "coalesced") == 9_999)
    let refusal = try #require(client).ask(fetch(stage))
    #expect(refusal.failureCode == "too_many_requests")
    #expect(refusal["error"]?["details"]?["limit"]?.integer == 10_000)
    client = nil
    #expect(try stage.stats("downloads", "active") == 0)
    #expect(stage.origin.count("/hangs.png") == 1)
  }

  @Test func `all connections may have a hundred thousand fetches at most`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/hangs.png", .silence)
    let block = String(repeating: fetch(stage) + "\n", count: 999) + fetch(stage)
    var clients = try (0..<10).map { _ in try stage.connect() }
    for client in clients { for _ in 0..<10 { try client.send(block) } }
    #expect(try stage.stats("downloads", "coalesced") == 99_999)
    let refusal = try stage.client.ask(fetch(stage))
    #expect(refusal.failureCode == "queue_full")
    #expect(refusal["error"]?["retryable"]?.bool == true)
    clients = []
    #expect(try stage.stats("downloads", "active") == 0)
    #expect(stage.origin.aborted == 1)
  }

  @Test func `slots are limited, and an idle one is replaced`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    for batch in 0..<11 {
      let lines = (0..<1_000).map { number in
        #"{"cmd":"fetch","url":"http://127.0.0.1:1/","cache":"only-if-cached","slot":"\#(batch).\#(number)"}"#
      }
      try stage.client.send(lines.joined(separator: "\n"))
      #expect(try stage.client.receive(1_000).allSatisfy { $0.failureCode == "not_cached" })
    }
    var (count, cursor) = (0, "")
    while true {
      let page = try stage.client.ask(#"{"cmd":"slots"\#(cursor)}"#)
      count += page["slots"]?.array?.count ?? 0
      guard let next = page["cursor"]?.string else { break }
      cursor = #","cursor":"\#(next)""#
    }
    #expect(count == 10_000)
  }
}
