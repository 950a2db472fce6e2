import ImgdTestSupport
import ImgdWire
import Testing

/// Pictures that only the disk tier has.
struct DiskHitTests {
  private func stageWithPicture() throws -> CoreStage {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png()))
    try stage.fetch("/a.png")
    try stage.play(
      #"""
      > {"cmd":"purge","tier":"memory"}
      < {"ok":true}
      """#)
    return stage
  }

  @Test func `a picture that is only on disk comes from disk once, and from memory afterwards`()
    throws
  {
    let stage = try stageWithPicture()
    for _ in 0..<50 {
      try stage.play(
        #"""
        > {"cmd":"purge","tier":"memory"}
        < {"ok":true}
        > {"id":1,"cmd":"fetch","url":"ORIGIN/a.png"}
        < {"id":1,"ok":true,"source":"disk","format":"png","bytes":1000,"age":"…"}
        > {"id":2,"cmd":"fetch","url":"ORIGIN/a.png"}
        < {"id":2,"ok":true,"source":"memory"}
        """#)
    }
    #expect(stage.origin.count("/a.png") == 1)
    #expect(try stage.stats("disk", "misses") == 1)
  }

  @Test(arguments: [
    (#""url":"ORIGIN/b","#, 1), (#""tag":"t","#, 1), (#""url":"ORIGIN/a.png","#, 0),
  ])
  func `a picture rises from disk during a purge that is not about it`(
    purge: String, risen: Int
  ) throws {
    let stage = try stageWithPicture()
    try stage.play(
      #"""
      > {"id":1,"cmd":"fetch","url":"ORIGIN/a.png","deliver":"none"}
      > {"id":2,"cmd":"purge",\#(purge)"tier":"memory"}
      < {"id":1,"ok":true,"source":"disk"}
      < {"id":2,"ok":true}
      """#)
    stage.settle()
    #expect(try stage.stats("memory", "entries") == risen)
  }

  @Test(arguments: ["path", "none", "inline"])
  func `a picture from disk is answered the same with and without tags`(delivery: String) throws {
    let stage = try stageWithPicture()
    let request = #"{"cmd":"fetch","url":"ORIGIN/a.png","deliver":"\#(delivery)""#
    let short = try stage.play("> \(request)}\n< " + #"{"ok":true,"source":"disk"}"#)[0]
    try stage.play(#"> {"cmd":"purge","tier":"memory"}"# + "\n< " + #"{"ok":true}"#)
    let long = try stage.play(
      "> \(request),\"tags\":[\"t\"]}\n< " + #"{"ok":true,"source":"disk"}"#)[0]
    for name in ["url", "format", "type", "width", "height", "frames", "bytes", "path", "data"] {
      #expect(short[name]?.text == long[name]?.text, "\(name)")
    }
  }

  @Test func `a picture from disk stays there for a client that wants nothing in memory`() throws {
    let stage = try stageWithPicture()
    for _ in 0..<3 {
      try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/a.png","store":"disk"}
        < {"ok":true,"source":"disk"}
        """#)
    }
    #expect(try stage.stats("memory", "entries") == 0)
  }
}
