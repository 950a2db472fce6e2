import ImgdTestSupport
import ImgdWire
import Testing

struct EventTests {
  @Test func `the events queued, started and progress come in this order before the answer`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/busy", .held(at: gate, then: .picture(png())))
    stage.origin.plan("/a", .picture(png(20_000)))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/busy"}"#)
    let other = try stage.connect()
    try stage.begin(
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a","events":true,"progress":true}"#, on: other)
    gate.open()
    var lines: [JSONValue] = []
    repeat { lines.append(try other.receive()) } while lines.last?["ok"] == nil
    #expect(lines.allSatisfy { $0["id"] == .integer(2) })
    #expect(Set(lines.compactMap { $0["receipt"]?.string }).count == 1)
    // "queued" came before the pong that `begin` waited for.
    #expect(lines.first?["event"] == .string("started"))
    #expect(lines.dropFirst().dropLast().allSatisfy { $0["event"] == .string("progress") })
  }

  @Test func `the event queued comes at once`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .silence)
    try stage.client.send(#"{"cmd":"fetch","id":1,"url":"\#(stage.base)/a","events":true}"#)
    let lines = try stage.client.receive(2)
    #expect(lines.map { $0["event"]?.string } == ["queued", "started"])
    #expect(lines.allSatisfy { $0["url"]?.string == stage.base + "/a" })
  }

  @Test func `a request that joins a running transfer gets its events`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .silence)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    try stage.client.send(#"{"cmd":"fetch","id":2,"url":"\#(stage.base)/a","events":true}"#)
    #expect(try stage.client.receive(2).map { $0["event"]?.string } == ["queued", "started"])
  }

  @Test func `a hit has no events`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    let line = try stage.client.ask(
      #"{"cmd":"fetch","url":"\#(stage.base)/a","events":true,"progress":true}"#)
    #expect(line["ok"] == .bool(true))
  }

  @Test func `progress begins with zero, never decreases, and ends with the full size once`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .body(png(3_000_000), heldAfter: 100_000, at: gate))
    try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)/a","progress":true}"#)
    var counts = [try stage.client.receive()["received"]?.integer ?? -1]
    stage.pass(.seconds(1))
    gate.open()
    while true {
      let line = try stage.client.receive()
      if line["ok"] != nil { break }
      #expect(line["expected"] == .integer(3_000_000))
      counts.append(line["received"]?.integer ?? -1)
    }
    #expect(counts.first == 0)
    #expect(counts.last == 3_000_000)
    #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func `a length that the origin does not announce is null`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .untilClosed(png(5_000)))
    try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)/a","progress":true}"#)
    let first = try stage.client.receive()
    #expect(first["received"] == .integer(0) && first["expected"] == .null)
    try stage.play(
      #"""
      < {"event":"progress","received":5000}
      < {"ok":true,"bytes":5000}
      """#)
  }
}
