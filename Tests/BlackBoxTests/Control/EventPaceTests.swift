import ImgdTestSupport
import ImgdWire
import Testing

struct EventPaceTests {
  @Test func `a picture in many pieces causes few events`() throws {
    let stage = try Stage()
    stage.origin.plan("/a", .chunked([[UInt8]](repeating: [0], count: 3_000)))
    try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)/a","progress":true}"#)
    var events = 0
    while try stage.client.receive()["ok"] == nil { events += 1 }
    #expect(events < 30)
  }
}
