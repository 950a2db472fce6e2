import ImgdTestSupport
import ImgdWire
import Testing

struct CachedSizeTests {
  @Test(arguments: ["default", "no-cache", "force-cache", "only-if-cached"])
  func `a cached picture is not delivered to a request with a smaller max_bytes`(mode: String)
    throws
  {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(20_000), tag: "\"1\"", headers: [("Cache-Control", "max-age=500")]))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","cache":"\#(mode)","max_bytes":1000}
      < {"id":1,"ok":false,"error":{"code":"too_large"}}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a","cache":"\#(mode)","max_bytes":20000}
      < {"id":2,"ok":true,"bytes":20000}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"memory"}
      """#)
    #expect((stage.origin.count("/a") == 1) == (mode != "no-cache"))
  }
}
