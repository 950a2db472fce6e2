import ImgdTestSupport
import ImgdWire
import Testing

struct ReusedReceiptTests {
  private static let one = "11111111-1111-4111-8111-111111111111"

  @Test func `a receipt that was used again does not answer with its first picture`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)))
    stage.origin.plan("/b", .picture(png(2_000)))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      < {"id":2,"ok":true,"bytes":1000}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/b","receipt":"\#(Self.one)"}
      < {"id":3,"ok":true,"bytes":2000}
      > {"cmd":"wait","id":4,"receipt":"\#(Self.one)"}
      < {"id":4,"ok":false,"error":{"code":"unknown_receipt"}}
      """#)
    #expect(stage.origin.count("/a") == 1 && stage.origin.count("/b") == 1)
  }
}
