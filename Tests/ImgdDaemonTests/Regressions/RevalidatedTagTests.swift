import ImgdTestSupport
import ImgdWire
import Testing

struct RevalidatedTagTests {
  /// How the entry comes to be confirmed, and by which of its tags it is purged afterwards.
  static let table: [(first: String, second: String, purged: String)] = [
    (#""ttl":0"#, #""cache":"default""#, "first"), (#""ttl":0"#, #""cache":"default""#, "second"),
    (#""ttl":500"#, #""cache":"no-cache""#, "first"),
    (#""ttl":500"#, #""cache":"no-cache""#, "second"),
  ]

  @Test(arguments: table)
  func `a confirmed entry is found by the tag of the request that confirmed it`(
    first: String, second: String, purged: String
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .conditional(png(), tag: "\"1\""))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","tags":["first"],\#(first)}
      < {"id":1,"ok":true,"source":"network"}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a","tags":["second"],\#(second)}
      < {"id":2,"ok":true,"source":"revalidated"}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"memory","tags":["first","second"]}
      > {"cmd":"purge","tag":"\#(purged)"}
      < {"ok":true,"removed":true}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      """#)
    #expect(stage.origin.count("/a") == 2)
  }
}
