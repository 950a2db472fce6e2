import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

struct CacheModeTests {
  /// The source of each mode's answer with a fresh entry, a stale one, and none.
  static let table: [(mode: String, fresh: String, stale: String, none: String)] = [
    ("default", "memory", "network", "network"), ("reload", "network", "network", "network"),
    ("no-cache", "network", "network", "network"), ("force-cache", "memory", "memory", "network"),
    ("only-if-cached", "memory", "memory", "not_cached"),
    ("peek", "memory", "memory", "not_cached"),
    ("no-store", "network", "network", "network"),
  ]

  @Test(arguments: table)
  func `each mode treats fresh, stale and missing entries as its table says`(
    mode: String, fresh: String, stale: String, none: String
  ) throws {
    let stage = try CoreStage()
    for (path, age) in [("/fresh", 1_000), ("/stale", 0)] {
      stage.origin.plan(path, .picture(png(), headers: [("Cache-Control", "max-age=\(age)")]))
      try stage.fetch(path)
    }
    stage.origin.plan("/none", .picture(png()))
    for (path, source) in [("/fresh", fresh), ("/stale", stale), ("/none", none)] {
      let line = try stage.client.ask(
        #"{"cmd":"fetch","url":"\#(stage.base)\#(path)","cache":"\#(mode)"}"#)
      #expect((line["source"] ?? line["error"]?["code"])?.string == source, "\(path)")
      #expect(line["stale"]?.bool == (path == "/stale" && source == "memory" ? true : nil))
    }
  }

  @Test(arguments: ["default", "no-cache"])
  func `an entity tag confirms a stale entry, whose headers are renewed`(mode: String) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0"), ("X-N", "1")]),
      .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=500"), ("X-N", "2")]))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a","cache":"\#(mode)","http":true}
      < {"ok":true,"source":"revalidated","bytes":1000,"fresh_for":"…","http":{"status":200,"headers":{"x-n":"2"}}}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"memory"}
      > {"cmd":"stats"}
      < {"ok":true,"downloads":{"revalidated":1,"started":2,"completed":2},"memory":{"entries":1}}
      """#)
    #expect(stage.origin.requests("/a").last?.header("if-none-match") == "\"1\"")
  }

  @Test func `a date of change confirms a stale entry`() throws {
    let stage = try CoreStage()
    let date = "Tue, 01 Jul 2025 10:00:00 GMT"
    let headers = [("Last-Modified", date), ("Cache-Control", "max-age=0")]
    stage.origin.plan("/a", .picture(png(), headers: headers), .status(304, headers: headers))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a","deliver":"inline"}
      < {"ok":true,"source":"revalidated","data":"…"}
      """#)
    #expect(stage.origin.requests("/a").last?.header("if-modified-since") == date)
  }

  @Test func `a changed picture replaces the stale one`() throws {
    let stage = try CoreStage()
    let headers = [("Cache-Control", "max-age=0")]
    stage.origin.plan(
      "/a", .conditional(png(1_000), tag: "\"1\"", headers: headers),
      .conditional(png(2_000), tag: "\"2\""))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network","bytes":1000}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network","bytes":2000}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"memory","bytes":2000}
      > {"cmd":"stats"}
      < {"ok":true,"memory":{"entries":1,"replacements":1}}
      """#)
  }

  @Test func `a reload request has no condition`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .conditional(png(), tag: "\"1\""))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","cache":"reload"}
      < {"ok":true,"source":"network"}
      """#)
    #expect(stage.origin.requests("/a").allSatisfy { $0.header("if-none-match") == nil })
  }

  @Test func `a failed confirmation keeps the entry`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0")]),
      .status(500))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":false,"error":{"code":"http_status"}}
      > {"cmd":"fetch","url":"ORIGIN/a","cache":"force-cache"}
      < {"ok":true,"source":"memory","stale":true}
      """#)
  }

  @Test(arguments: ["no-store", "private", "private, max-age=100"])
  func `a picture that HTTP forbids to keep is delivered and not kept`(control: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", control)]))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network"}
      """#)
  }

  @Test(arguments: [
    (#""cache":"no-store""#, "none"), (#""store":"none""#, "none"), (#""store":"disk""#, "disk"),
    (#""store":"memory""#, "memory"), (#""store":"all""#, "memory"),
  ])
  func `a request decides whether its picture is kept`(option: String, tier: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a",\#(option)}
      < {"ok":true,"source":"network"}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"\#(tier)"}
      """#)
  }

  @Test(arguments: [
    (#""cache":"no-store""#, false), (#""store":"none""#, false), (#""store":"memory""#, true),
  ])
  func `a body that breaks off may stay only for a request that keeps its picture`(
    option: String, mayStay: Bool
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .fails(.truncated))
    #expect(try stage.outcome("/a", option) == "truncated")
    #expect(stage.origin.orders.map(\.keepsPartial) == [mayStay])
  }

  @Test func `no-store leaves existing entries alone`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","cache":"no-store"}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"memory"}
      """#)
  }

  @Test func `an answer that varies on a sent header is not given to other requests`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: [("Vary", "Accept-Language")]))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","headers":{"Accept-Language":"fr"}}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a","headers":{"Accept-Language":"de"}}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a","headers":{"Accept-Language":" de","DNT":"1"}}
      < {"ok":true,"source":"memory"}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"memory"}
      > {"cmd":"fetch","url":"ORIGIN/a","headers":{"DNT":"1"}}
      < {"ok":true,"source":"memory"}
      """#)
    #expect(
      stage.origin.requests("/a").map { $0.header("accept-language") } == ["fr", nil, "de"])
  }

  @Test func `an answer that varies on everything is not kept`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: [("Vary", "*")]))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  @Test(arguments: ["Authorization", "Cookie", "authorization"])
  func `a picture that was fetched with credentials is found only with the same credentials`(
    name: String
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", "max-age=100, private")]))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","headers":{"\#(name)":"one"}}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a","headers":{"\#(name)":"two"}}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network"}
      > {"cmd":"fetch","url":"ORIGIN/a","headers":{"\#(name)":"one"}}
      < {"ok":true,"source":"memory"}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  @Test(arguments: [
    "Host", "Content-Length", "Range", "If-Range", "Accept-Encoding", "Expect", "Connection",
    "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authorization", "proxy-x",
    "", "a b", "a:b",
  ])
  func `a header that is reserved for the daemon is refused`(name: String) throws {
    let stage = try CoreStage()
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","headers":{"\#(name)":"x"}}
      < {"id":1,"ok":false,"error":{"code":"bad_request","details":{"field":"headers"}}}
      """#)
    #expect(stage.origin.requests.isEmpty)
  }
}
