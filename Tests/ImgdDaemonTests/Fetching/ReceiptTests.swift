import ImgdTestSupport
import ImgdWire
import Testing

struct ReceiptTests {
  @Test func `a receipt of the client's own is returned by value, in lower case`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","receipt":"5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11"}
      < {"ok":true,"source":"network","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}
      > {"cmd":"fetch","url":"ORIGIN/a.png","receipt":"5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11"}
      < {"ok":true,"source":"memory","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}
      """#)
  }

  @Test func `every fetch has a receipt, a hit too, and no two are the same`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png()))
    let receipts = try (0..<20).map { _ in try stage.fetch("/a.png")["receipt"]?.string ?? "" }
    #expect(Set(receipts).count == 20)
    #expect(receipts.allSatisfy { $0.utf8.count == 36 && $0 == $0.lowercased() })
  }

  @Test func `a receipt in use is refused, in upper and lower case and from every connection`()
    throws
  {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}"#
    )
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/b.png","receipt":"5D0C9B7E-2a43-4b57-9a57-2c2e3c9e1b11"}
      < {"id":2,"ok":false,"receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11","error":{"code":"duplicate_receipt","retryable":false}}
      """#, on: try stage.connect())
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/a.png","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}
      < {"id":3,"ok":true,"source":"memory"}
      """#)
    #expect(stage.origin.count("/b.png") == 0)
  }

  @Test(arguments: [
    "", "x", "5d0c9b7e2a434b579a572c2e3c9e1b11", "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b1g",
  ])
  func `a text that is not a UUID is refused as a receipt`(text: String) throws {
    let stage = try CoreStage()
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","receipt":"\#(text)"}
      < {"id":1,"ok":false,"error":{"code":"bad_request","details":{"field":"receipt"}}}
      """#)
  }

  @Test func `a client that has received the answer finds the picture`() throws {
    let stage = try CoreStage()
    let other = try stage.connect()
    for number in 0..<20 {
      stage.origin.plan("/\(number)", .picture(png()))
      try stage.fetch("/\(number)")
      try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/\#(number)","cache":"only-if-cached"}
        < {"ok":true,"source":"memory"}
        """#, on: other)
    }
  }
}
