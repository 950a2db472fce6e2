import ImgdTestSupport
import ImgdWire
import Testing

/// Fetches that are refused for their URL are fetches nevertheless.
struct RefusedFetchTests {
  private static let receipt = "5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11"
  private static let echoed = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"

  @Test func `a refused URL is answered with its receipt`() throws {
    let stage = try CoreStage()
    try stage.play(
      #"""
      > {"cmd":"fetch","receipt":"\#(Self.receipt)","url":""}
      < {"ok":false,"receipt":"\#(Self.echoed)","error":{"code":"bad_url"}}
      """#)
    #expect(try stage.stats("downloads", "started") == 0)
  }

  @Test func `a refused URL ends the fetch in its slot`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s"}
      > {"cmd":"fetch","id":2,"url":"","slot":"s","receipt":"\#(Self.receipt)"}
      < {"id":1,"ok":false,"error":{"code":"cancelled","details":{"superseded_by":"\#(Self.echoed)"}}}
      < {"id":2,"ok":false,"receipt":"\#(Self.echoed)","error":{"code":"bad_url"}}
      """#)
    #expect(try stage.stats("downloads", "active") == 0)
    gate.open()
  }
}
