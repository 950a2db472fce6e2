import ImgdDecode
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// What stands for a picture until it is there.
struct PlaceholderTests {
  private func stage() throws -> CoreStage {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(TestPicture.png(width: 100, height: 50)))
    return stage
  }

  @Test func `a placeholder is made once and kept with its picture, in both tiers`() throws {
    let stage = try stage()
    let shown = ##""thumbhash":"AQIDBAU=","average":"#ff8000""##
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","describe":true}
      < {"id":1,"ok":true,"source":"network","width":100,\#(shown)}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a.png","describe":true}
      < {"id":2,"ok":true,"source":"memory",\#(shown)}
      > {"cmd":"query","id":3,"url":"ORIGIN/a.png","describe":true}
      < {"id":3,"ok":true,"tier":"memory",\#(shown)}
      """#)
    try stage.restart()
    try stage.play(
      #"""
      > {"cmd":"purge","id":1,"tier":"memory"}
      < {"id":1,"ok":true}
      > {"cmd":"query","id":2,"url":"ORIGIN/a.png","describe":true}
      < {"id":2,"ok":true,"tier":"disk",\#(shown)}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/a.png","describe":true}
      < {"id":3,"ok":true,"source":"disk",\#(shown)}
      """#)
    #expect(stage.decoding.orders.count == 1)
  }

  @Test func `a query has a placeholder made, of whichever tier`() throws {
    let stage = try stage()
    try stage.play(
      #"""
      > {"cmd":"query","id":1,"url":"ORIGIN/a.png","describe":true}
      < {"id":1,"ok":true,"tier":"none"}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a.png"}
      < {"id":2,"ok":true}
      > {"cmd":"purge","id":3,"tier":"memory"}
      < {"id":3,"ok":true}
      > {"cmd":"query","id":4,"url":"ORIGIN/a.png","describe":true}
      < {"id":4,"ok":true,"tier":"disk","width":100,"thumbhash":"AQIDBAU=","average":"#ff8000"}
      """#)
    #expect(stage.decoding.orders.count == 1)
  }

  @Test func `only who asks for a placeholder gets one`() throws {
    let stage = try stage()
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","describe":true}
      < {"id":1,"ok":true}
      """#)
    let line = try stage.client.ask(
      #"{"cmd":"fetch","url":"\#(stage.origin.url("/a.png"))"}"#)
    #expect(line["thumbhash"] == nil)
  }

  @Test func `a picture comes without its placeholder when none can be made`() throws {
    let stage = try stage()
    stage.decoding.failure = DecodeFailure(.unavailable, "no decoder")
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","describe":true}
      < {"id":1,"ok":true,"thumbhash":null,"average":null,"describe_note":"no decoder"}
      """#)
  }

  @Test func `a slot that has to wait for its picture shows a placeholder meanwhile`() throws {
    let stage = try stage()
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","describe":true,"deliver":"none"}
      < {"id":1,"ok":true}
      """#)
    stage.decoding.isHeld = true
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a.png","slot":"s","describe":true,"events":true,"resize":{"width":20}}
      < {"id":2,"event":"queued"}
      < {"id":2,"event":"placeholder","receipt":"…","width":100,"height":50,"thumbhash":"AQIDBAU=","average":"#ff8000"}
      """#)
    stage.decoding.letThrough()
    try stage.play(
      #"""
      < {"id":2,"ok":true,"width":20,"thumbhash":"AQIDBAU="}
      """#)
  }

  @Test(arguments: [
    ([1, 2, 3, 255], "#010203"), ([255, 160, 11, 128], "#ffa00b80"), ([0, 0, 0, 0], "#00000000"),
  ])
  func `a mean colour is written as CSS does`(colour: [UInt8], text: String) {
    #expect(PictureDescription(thumbHash: [1], average: colour).averageText == text)
  }
}
