import ImgdTestSupport
import ImgdWire
import Testing

struct EventPaceTests {
  @Test func `a picture in many pieces causes few events`() throws {
    let stage = try Stage()
    stage.origin.plan("/a", .chunked([[UInt8]](repeating: [0], count: 3_000)))
    let begun = ContinuousClock.now
    try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)/a","progress":true}"#)
    var events = 0
    while try stage.client.receive()["ok"] == nil { events += 1 }
    // Ten in a second at most, the first and the last, and those that tell that it begins.
    #expect(events <= 5 + Int((ContinuousClock.now - begun) / .milliseconds(100)))
  }
}
