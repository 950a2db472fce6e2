import ImgdTestSupport
import ImgdWire
import Testing

/// The limit on the receipts that one connection may have at once.
struct ReceiptLimitTests {
  private static let one = "11111111-1111-4111-8111-111111111111"

  @Test func `a client that waits ten thousand times for a receipt may not wait once more`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      """#)
    let other = try stage.connect()
    let wait = #"{"cmd":"wait","id":2,"receipt":"\#(Self.one)"}"#
    let block = Array(String(repeating: wait + "\n", count: 1_000).utf8)
    for _ in 0..<10 { try other.sendRaw(block) }
    // Without a refusal the ping's answer comes first.
    try stage.play(
      #"""
      > {"cmd":"wait","id":"over","receipt":"\#(Self.one)"}
      > {"cmd":"ping","id":"p"}
      < {"id":"over","ok":false,"error":{"code":"too_many_requests","details":{"limit":10000}}}
      < {"id":"p","ok":true}
      """#, on: other)
    let third = try stage.connect()
    try stage.begin(#"{"cmd":"wait","id":3,"receipt":"\#(Self.one)"}"#, on: third)
    gate.open()
    try stage.play(#"< {"id":3,"ok":true}"#, on: third)
  }

  @Test func `one connection may have ten thousand detached fetches at most`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    let fetch = #"{"cmd":"fetch","id":1,"url":"\#(stage.base)/a","wait":false}"#
    let client = try stage.connect()
    for _ in 0..<10 {
      try client.send(String(repeating: fetch + "\n", count: 999) + fetch)
      #expect(try client.receive(1_000).allSatisfy { $0["ok"] == .bool(true) })
    }
    #expect(try client.ask(fetch).failureCode == "too_many_requests")
    #expect(try stage.client.ask(fetch)["ok"] == .bool(true))
    gate.open()
  }
}
