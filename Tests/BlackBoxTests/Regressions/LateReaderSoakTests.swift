import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@Suite(.slow) struct LateReaderSoakTests {
  @Test func `a daemon that is told to stop does not cut the line of a slow reader`() throws {
    let stage = try Stage()
    let gate = Gate()
    let picture = png(200_000)
    stage.origin.plan("/a", .held(at: gate, then: .picture(picture)))
    let late = try RawClient(stage.daemon)
    late.say(#"{"cmd":"fetch","id":1,"url":"\#(stage.base)/a","deliver":"inline"}"#)
    #expect(gate.waitUntilReached())
    stage.daemon.signal(SIGTERM)
    try stage.waitUntilItStops()
    gate.open()
    poll(nil, 0, 200)  // what is tried is that time goes by before anything is read
    let line = late.takeAll(4_096)
    #expect(line.last == UInt8(ascii: "\n"))
    let answer = try JSONValue(parsing: line.span)
    #expect(answer["ok"] == .bool(true))
    #expect(answer["data"]?.string?.utf8.count == (picture.count + 2) / 3 * 4)
    #expect(stage.daemon.waitForEnd() == 0)
  }
}
