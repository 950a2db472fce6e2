import ImgdTestSupport
import ImgdWire
import Testing

/// Several answers to one URL, through a real origin and for several processes.
struct VariantTests {
  private static func accept(_ value: String) -> String { #""headers":{"Accept":"\#(value)"}"# }

  @Test(arguments: [false, true])
  func `each answer outlives the process, for the requests that it fits`(isKilled: Bool) throws {
    let stage = try DiskStage()
    let headers = [("Vary", "Accept"), ("Cache-Control", "max-age=1000")]
    stage.origin.plan(
      "/a", .picture(png(1_000), headers: headers), .picture(png(2_000), headers: headers),
      .picture(png(3_000), headers: headers))
    let requests: [(bytes: Int64, first: String, later: String)] = [
      (1_000, "", #""headers":{"Accept-Language":"de"}"#),
      (2_000, Self.accept("image/webp, */*;q=0.80"), Self.accept("*/*;q=0.8,Image/webp")),
      (3_000, Self.accept("image/avif"), #""headers":{"Accept":"image/avif;q=1","DPR":"2"}"#),
    ]
    for request in requests {
      #expect(try stage.fetch("/a", request.first)["bytes"]?.integer == request.bytes)
    }
    if isKilled { try stage.crash() } else { try stage.restart() }
    for request in requests {
      let line = try stage.fetch("/a", request.later)
      #expect(line["bytes"]?.integer == request.bytes && line["source"] == .string("disk"))
    }
    #expect(try stage.fetch("/a", #""headers":{"X-Foo":"1"}"#)["source"] == .string("network"))
    #expect(stage.origin.count("/a") == 4)
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"memory","variants":[{},{},{},{}]}
      > {"cmd":"purge","url":"ORIGIN/a"}
      < {"ok":true,"removed":true,"disk":{"entries":4}}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      """#)
  }
}
