import ImgdTestSupport
import ImgdWire
import Testing

/// A receipt is its user's until it is forgotten.
struct ForeignReceiptTests {
  private static let one = "11111111-1111-4111-8111-111111111111"

  private func refused(_ id: Int) -> String {
    #"< {"id":\#(id),"ok":false,"receipt":"\#(Self.one)","error":{"code":"duplicate_receipt"}}"#
  }

  @Test func `another user's use of a receipt does not drop the outcome kept under it`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)))
    stage.origin.plan("/b", .picture(png(2_000)))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      """#)
    stage.settle()
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/b","wait":false,"receipt":"\#(Self.one)"}
      \#(refused(2))
      """#, on: try stage.connect(as: 4_242))
    try stage.play(
      #"""
      > {"cmd":"wait","id":3,"receipt":"\#(Self.one)"}
      < {"id":3,"ok":true,"bytes":1000}
      """#)
    #expect(stage.origin.count("/b") == 0)
  }

  @Test func `a receipt whose fetch has ended stays its user's`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let fetch = #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","receipt":"\#(Self.one)"}"#
    try stage.play("> \(fetch)\n< {\"id\":1,\"ok\":true}")
    try stage.play("> \(fetch)\n\(refused(1))", on: try stage.connect(as: 4_242))
    try stage.play("> \(fetch)\n< {\"id\":1,\"ok\":true}", on: try stage.connect())
  }

  @Test func `a receipt of which nothing is remembered is anybody's`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let fields = #""receipt":"\#(Self.one)""#
    #expect(try stage.outcome("/a", fields, on: try stage.connect(as: 4_242)) == "network")
    #expect(try stage.ask("/a", fields).failureCode == "duplicate_receipt")
    // Hits that are answered at once are not remembered.
    for _ in 0..<1_000 { try stage.ask("/a", #""events":true"#) }
    #expect(try stage.outcome("/a", fields) == "memory")
  }
}
