import ImgdTestSupport
import ImgdWire
import Testing

/// The work of libcurl and its engine for a fetch, as a client sees it.
struct FetchTests {
  @Test func `a redirect is followed and reported`() throws {
    let stage = try Stage()
    stage.origin.plan("/old.png", .redirect(to: stage.origin.url("/new.png")))
    stage.origin.plan("/new.png", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/old.png"}
      < {"ok":true,"url":"ORIGIN/old.png","final_url":"ORIGIN/new.png"}
      > {"cmd":"fetch","url":"ORIGIN/old.png"}
      < {"ok":true,"source":"memory","final_url":"ORIGIN/new.png"}
      > {"cmd":"query","url":"ORIGIN/new.png"}
      < {"ok":true,"tier":"memory"}
      """#)
  }

  @Test(arguments: HitTier.allCases)
  func `a redirected picture is found under its own URL`(
    tier: HitTier
  ) throws {
    let stage = try Stage()
    stage.origin.plan("/a", .redirect(to: "/b", status: 301))
    stage.origin.plan("/b", .picture(png(), headers: [("Cache-Control", "max-age=1000")]))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    let line = try stage.fetch("/a")
    #expect(line.outcome == tier.rawValue)
    #expect(line["final_url"]?.string == stage.base + "/b")
    // A redirect is remembered in memory.
    #expect(stage.origin.count("/a") == (tier == .memory ? 1 : 2))
    #expect(stage.origin.count("/b") == 1)
    #expect(try stage.tier(of: "/a") == "none")
  }

  @Test func `a circle of redirects ends`() throws {
    let stage = try Stage("Downloads.MaxRedirects=3")
    stage.origin.plan("/ring.png", .redirect(to: stage.origin.url("/ring.png")))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/ring.png"}
      < {"ok":false,"error":{"code":"too_many_redirects"}}
      """#)
    #expect(stage.origin.count("/ring.png") == 4)
  }

  @Test func `an error is retried as often as configured before it is reported`() throws {
    let stage = try Stage("Downloads.Retries=1")
    stage.origin.plan("/a.png", .status(503), .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png"}
      < {"ok":true,"source":"network"}
      """#)
    #expect(try stage.stats("downloads", "retries") == 1)
  }

  static let wrappings: [(String, OriginAnswer)] = [
    ("chunked", .chunked([Array(png(4_000).prefix(1_500)), Array(png(4_000).dropFirst(1_500))])),
    ("gzip", .gzip(png(4_000))), ("chunked gzip", .chunkedGzip(png(4_000))),
    ("until closed", .untilClosed(png(4_000))),
    ("called text", .picture(png(4_000), type: "text/plain")),
    ("called something", .picture(png(4_000), type: "application/octet-stream")),
  ]

  @Test(arguments: wrappings)
  func `a picture is the same in every transfer coding`(
    name: String, answer: OriginAnswer
  ) throws {
    let stage = try Stage()
    stage.origin.plan("/a", answer)
    let line = try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","deliver":"inline"}
      < {"ok":true,"format":"png","type":"image/png","bytes":4000}
      """#)[0]
    #expect(Base64.decode(line["data"]?.string ?? "") == png(4_000))
  }

  @Test func `an unreachable origin is reported as such`() throws {
    let stage = try Stage("Downloads.Retries=0")
    let nobody = try DeafPort()
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"\#(nobody.url("/a.png"))"}
      < {"ok":false,"error":{"code":"connect","retryable":true}}
      """#)
  }

  @Test func `a confirmation after a redirect counts as one`() throws {
    let stage = try Stage("Network.Private=allow")
    stage.origin.plan("/a", .redirect(to: stage.origin.url("/b")))
    stage.origin.plan(
      "/b", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0")]))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a"}
      < {"id":1,"ok":true,"source":"revalidated","final_url":"ORIGIN/b"}
      """#)
  }

  @Test func `credentials do not follow a redirect to another origin`() throws {
    let stage = try Stage("Network.Private=allow")
    let other = try OriginServer()
    other.plan("/there", .picture(png()))
    stage.origin.plan("/away", .redirect(to: other.url("/there")))
    stage.origin.plan("/near", .redirect(to: stage.origin.url("/here")))
    stage.origin.plan("/here", .picture(png()))
    for path in ["/away", "/near"] {
      try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN\#(path)","headers":{"Authorization":"secret","Cookie":"c=1"}}
        < {"ok":true}
        """#)
    }
    #expect(other.requests("/there").first?.header("authorization") == nil)
    #expect(other.requests("/there").first?.header("cookie") == nil)
    #expect(stage.origin.requests("/here").first?.header("authorization") == "secret")
    other.stop()
  }

  @Test func `a request to the origin names the daemon and the accepted formats`() throws {
    let stage = try Stage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    let request = try #require(stage.origin.requests("/a").first)
    #expect(request.method == "GET")
    #expect(request.header("user-agent")?.hasPrefix("imgd/") == true)
    #expect(request.header("accept")?.contains("image/") == true)
    #expect(request.header("cookie") == nil && request.header("range") == nil)
  }
}
