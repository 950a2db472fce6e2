import ImgdTestSupport
import ImgdWire
import Testing

/// Servers that accept and say nothing, beside one that answers.
struct DeadServerTests {
  @Test func `a live picture is fetched while a hundred dead ones are under way`() throws {
    let origin = try OriginServer()
    origin.plan("/live.png", .picture(TestPicture.png(bytes: 5_000)))
    for number in 0..<100 { origin.plan("/dead\(number)", .silence) }
    // Nothing of them ends during the test.
    let daemon = try DaemonProcess(settings: [
      "Downloads.MaxPerHost=100", "Downloads.IdleTimeout=1h", "Downloads.Timeout=1h",
    ])
    let client = try daemon.connect()
    for number in 0..<100 {
      try client.send(#"{"cmd":"fetch","id":\#(number),"url":"\#(origin.url("/dead\(number)"))"}"#)
    }
    let witness = try Witness(daemon)
    #expect(try witness.waits(for: "queue", "requests", toBe: 100))
    let live = #"{"cmd":"fetch","url":"\#(origin.url("/live.png"))","deliver":"none"}"#
    #expect(try daemon.connect().ask(live)["source"]?.string == "network")
    // The rest of them starts by and by, and the client that has begun them is not shut out.
    #expect(try witness.waits(for: "downloads", "slow", toBe: 96))
    let last = #"{"cmd":"fetch","id":"last","url":"\#(origin.url("/live.png"))","cache":"reload"}"#
    #expect(try daemon.connect().ask(last)["source"]?.string == "network")
  }
}
