import ImgdTestSupport
import ImgdWire
import Testing

/// No client chooses the picture that another one is shown for a plain URL.
struct PoisoningTests {
  /// Headers to which origins are known to answer with other pictures, without a word in `Vary`.
  static let telling = [
    "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded",
    "X-HTTP-Method-Override", "Accept", "Accept-Language", "User-Agent", "Referer", "Origin",
    "Save-Data", "X-Anything",
  ]

  @Test(arguments: telling, HitTier.allCases)
  func `a picture for a header is not shown to a plain request`(name: String, tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    let other = try stage.connect(as: 4_242)
    let fields = #""headers":{"\#(name)":"evil"},"ttl":315360000"#
    #expect(try stage.ask("/a", fields, on: other)["bytes"]?.integer == 1_000)
    try stage.leave(in: tier)
    for cache in ["default", "force-cache"] {
      let line = try stage.ask("/a", #""cache":"\#(cache)""#)
      #expect(line["bytes"]?.integer == 2_000, "\(cache)")
    }
    #expect(try stage.ask("/a", fields, on: other)["bytes"]?.integer == 1_000)
    #expect(stage.origin.count("/a") == 2, "each has an entry of its own")
  }

  @Test(arguments: HitTier.allCases)
  func `a picture for a header is not shown to one for another value`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    try stage.ask("/a", #""headers":{"X-Forwarded-Host":"one"}"#)
    try stage.leave(in: tier)
    let line = try stage.ask("/a", #""headers":{"X-Forwarded-Host":"two"}"#)
    #expect(line["bytes"]?.integer == 2_000)
  }

  @Test func `only-if-cached shows a plain request no picture for a header`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.ask("/a", #""headers":{"X-Original-URL":"/b"}"#)
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
    #expect(try stage.tier(of: "/a") == "none")
  }

  @Test(arguments: [
    "Cache-Control", "Pragma", "DNT", "Sec-GPC", "Priority", "traceparent", "tracestate",
    "X-Request-ID", "X-Correlation-ID", "If-None-Match",
  ])
  func `a header that changes no answer shares the plain picture`(name: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a", #""headers":{"\#(name)":"1"}"#) == "memory")
    try stage.leave(in: .disk)
    #expect(try stage.outcome("/a", #""headers":{"\#(name)":"2"}"#) == "disk")
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `requests that belong to different traces share a download, which has the first one's`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","headers":{"traceparent":"1","X-Request-ID":"a"}}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a","headers":{"traceparent":"2"}}"#,
      #"{"cmd":"fetch","id":3,"url":"ORIGIN/a"}"#)
    gate.open()
    _ = try stage.client.receive(3)
    let requests = stage.origin.requests("/a")
    #expect(requests.count == 1 && requests[0].header("traceparent") == "1")
    #expect(requests[0].header("x-request-id") == "a")
  }

  @Test func `a picture for a header has its own file, and outlives a restart as such`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    let fields = #""headers":{"X-Original-URL":"/b"}"#
    let evil = try stage.ask("/a", fields)["path"]?.string
    let plain = try stage.fetch("/a")["path"]?.string
    #expect(evil != nil && plain != nil && evil != plain)
    try stage.restart()
    #expect(try stage.fetch("/a")["bytes"]?.integer == 2_000)
    #expect(try stage.ask("/a", fields)["bytes"]?.integer == 1_000)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test(arguments: [HitTier.memory, .disk], [404, 410])
  func `a missing picture for a header removes no plain picture`(tier: HitTier, status: Int) throws {
    let stage = try CoreStage()
    let fields = #""headers":{"X-Original-URL":"/b"},"ttl":0"#
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)), .status(status))
    #expect(try stage.fetch("/a")["bytes"]?.integer == 1_000)
    #expect(try stage.outcome("/a", fields) == "network")
    #expect(try stage.outcome("/a", fields) == "http_status")
    try stage.leave(in: tier)
    #expect(try stage.fetch("/a")["bytes"]?.integer == 1_000)
    try stage.restart()
    #expect(try stage.fetch("/a")["source"]?.string == "disk")
    let cached = fields + #","cache":"only-if-cached""#
    #expect(try stage.outcome("/a", cached) == "not_cached", "its own picture is gone")
  }

  @Test(arguments: [#""url":"ORIGIN/a""#, #""prefix":"ORIGIN/""#, #""host":"127.0.0.1""#])
  func `a purge removes the pictures of all headers and users`(filter: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let other = try stage.connect(as: 4_242)
    try stage.fetch("/a")
    try stage.ask("/a", #""headers":{"X-Original-URL":"/b"}"#)
    try stage.ask("/a", #""identifier":"x""#)
    try stage.ask("/a", #""identifier":"x""#, on: other)
    try stage.play(
      #"""
      > {"cmd":"purge",\#(filter)}
      < {"ok":true,"memory":{"entries":4},"disk":{"entries":4}}
      """#)
    #expect(try stage.outcome("/a", #""headers":{"X-Original-URL":"/b"}"#) == "network")
  }

  // MARK: Identifiers

  @Test(arguments: HitTier.allCases)
  func `an identifier is its user's own`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    let other = try stage.connect(as: 4_242)
    let fields = #""identifier":"logo","ttl":315360000"#
    #expect(try stage.ask("/a", fields, on: other)["bytes"]?.integer == 1_000)
    try stage.leave(in: tier)
    let cached = #""identifier":"logo","cache":"only-if-cached""#
    #expect(try stage.outcome("/a", cached) == "not_cached")
    #expect(try stage.ask("/a", #""identifier":"logo""#)["bytes"]?.integer == 2_000)
    for cache in ["default", "only-if-cached"] {
      let fields = #""identifier":"logo","cache":"\#(cache)""#
      #expect(try stage.ask("/a", fields)["bytes"]?.integer == 2_000)
      #expect(try stage.ask("/a", fields, on: other)["bytes"]?.integer == 1_000)
    }
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `query shows a user the entry of their own identifier`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let other = try stage.connect(as: 4_242)
    try stage.ask("/a", #""identifier":"logo""#, on: other)
    let query = #"{"cmd":"query","url":"\#(stage.base)/a","identifier":"logo"}"#
    #expect(try stage.client.ask(query)["tier"]?.string == "none")
    #expect(try other.ask(query)["tier"]?.string == "memory")
    try stage.leave(in: .disk)
    #expect(try stage.client.ask(query)["tier"]?.string == "none")
    #expect(try other.ask(query)["tier"]?.string == "disk")
  }

  @Test func `users share neither downloads nor failures under an identifier`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    stage.origin.plan("/b", .status(404))
    let other = try stage.connect(as: 4_242)
    let fetch = #"{"cmd":"fetch","url":"\#(stage.base)/a","identifier":"x"}"#
    try stage.begin(fetch)
    try stage.begin(fetch, on: other)
    try stage.begin(fetch)
    gate.open()
    let own = try stage.client.receive(2).map { $0["coalesced"]?.bool }
    #expect(Set(own) == [false, true])
    #expect(try other.receive()["coalesced"]?.bool == false)
    #expect(stage.origin.count("/a") == 2)
    let fields = #""identifier":"x""#
    #expect(try stage.outcome("/b", fields) == "http_status")
    #expect(try stage.outcome("/b", fields, on: other) == "http_status")
    #expect(try stage.outcome("/b", fields) == "http_status cached")
  }

  @Test func `a purge by identifier removes those of all users`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.ask("/a", #""identifier":"logo""#)
    try stage.ask("/a", #""identifier":"logo""#, on: try stage.connect(as: 4_242))
    try stage.play(
      #"""
      > {"cmd":"purge","identifier":"logo"}
      < {"ok":true,"memory":{"entries":2},"disk":{"entries":2}}
      """#)
  }

  // MARK: Lifetimes

  @Test func `a lifetime that a request sets is cut to the longest that is allowed`() throws {
    let stage = try CoreStage("HTTP.MaxTTL=1h", "Disk.Enabled=no")
    stage.origin.plan("/a", .picture(png()))
    #expect(try stage.ask("/a", #""ttl":315360000"#)["fresh_for"]?.integer == 3_600)
    stage.jump(.seconds(3_599))
    #expect(try stage.outcome("/a") == "memory")
    stage.jump(.seconds(1))
    #expect(try stage.outcome("/a") == "network")
  }

  @Test func `a week is the longest lifetime that a request sets by default`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    #expect(try stage.ask("/a", #""ttl":315360000"#)["fresh_for"]?.integer == 7 * 86_400)
    #expect(try stage.ask("/a", #""ttl":60,"cache":"reload""#)["fresh_for"]?.integer == 60)
  }
}
