import ImgdCache
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Several stored answers to one name, each for the requests that it fits.
struct VariantTests {
  private static func answer(
    _ bytes: Int, _ vary: String, _ control: String = "max-age=1000"
  ) -> OriginAnswer {
    .picture(png(bytes), headers: [("Vary", vary), ("Cache-Control", control)])
  }

  private static func accept(_ value: String) -> String { #""headers":{"Accept":"\#(value)"}"# }

  /// Where an answer is looked for after it was stored.
  enum Place: CaseIterable, Sendable {
    case memory, disk, nextProcess

    func prepare(_ stage: CoreStage) throws {
      switch self {
      case .memory: break
      case .disk: try stage.leave(in: .disk)
      case .nextProcess: try stage.restart()
      }
    }

    var source: String { self == .memory ? "memory" : "disk" }
  }

  @Test(arguments: Place.allCases)
  func `each request is shown the answer that was chosen for its like`(place: Place) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", Self.answer(1_000, "Accept"), Self.answer(2_000, "Accept"),
      Self.answer(3_000, "Accept"))
    let requests = [
      (1_000, "", ""),
      (2_000, Self.accept("image/webp, */*;q=0.8"), Self.accept("*/*;q=0.80,image/WEBP")),
      (3_000, Self.accept("image/avif"), Self.accept(" image/avif;q=1 ")),
    ]
    for (bytes, fields, _) in requests {
      #expect(try stage.ask("/a", fields)["bytes"]?.integer == Int64(bytes))
    }
    try place.prepare(stage)
    for (bytes, _, fields) in requests {
      let line = try stage.ask("/a", fields)
      #expect(line["bytes"]?.integer == Int64(bytes), "\(fields)")
      #expect(line["source"]?.string == place.source)
    }
    #expect(stage.origin.count("/a") == 3)
  }

  @Test
  func `an answer that comes after eight that were asked for later takes the oldest one's place`()
    throws
  {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .held(at: gate, then: Self.answer(1_000, "Accept")), Self.answer(2_000, "Accept"))
    try stage.client.send(
      #"{"cmd":"fetch","id":0,"url":"\#(stage.base)/a",\#(Self.accept("image/slow"))}"#)
    stage.settle()
    let other = try stage.connect()
    for number in 0..<8 { try stage.ask("/a", Self.accept("image/\(number)"), on: other) }
    gate.open()
    #expect(try stage.client.receive()["ok"] == .bool(true))
    #expect(try stage.stats("memory", "entries") == 8)
    #expect(try stage.stats("disk", "entries") == 8)
    let mode = #","cache":"only-if-cached""#
    #expect(try stage.outcome("/a", Self.accept("image/slow") + mode) == "memory")
    #expect(try stage.outcome("/a", Self.accept("image/0") + mode) == "not_cached")
  }

  @Test(arguments: Place.allCases)
  func `requests share an answer that does not depend on how they differ`(place: Place) throws {
    let stage = try CoreStage()
    for (path, first, second) in [
      ("/a", "", Self.accept("image/webp")), ("/b", Self.accept("image/webp"), ""),
      ("/c", Self.accept("image/webp"), #""headers":{"Accept-Language":"de","DPR":"2"}"#),
    ] {
      stage.origin.plan(path, Self.answer(1_000, "Accept-Encoding"))
      try stage.ask(path, first)
      try place.prepare(stage)
      #expect(try stage.outcome(path, second) == place.source, "\(path)")
      #expect(stage.origin.count(path) == 1)
    }
  }

  @Test(arguments: Place.allCases)
  func `a field of a client's own parts, and so does an answer without Vary`(place: Place) throws {
    let stage = try CoreStage()
    let evil = #""headers":{"X-Foo":"1","Accept":"image/webp"}"#
    stage.origin.plan("/a", Self.answer(1_000, "Accept-Encoding"))
    stage.origin.plan("/b", .picture(png(), headers: [("Cache-Control", "max-age=1000")]))
    for path in ["/a", "/b"] { try stage.ask(path, evil) }
    try place.prepare(stage)
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
    #expect(try stage.outcome("/a", #""headers":{"X-Foo":"1"}"#) == place.source)
    let cached = #","cache":"only-if-cached""#
    #expect(try stage.outcome("/b", #""headers":{"X-Foo":"1"}"# + cached) == "not_cached")
    #expect(try stage.outcome("/b", Self.accept("image/webp") + cached) == "not_cached")
    #expect(try stage.outcome("/b", evil) == place.source)
  }

  @Test(arguments: Place.allCases)
  func `the newest that fits wins, whatever it depends on`(place: Place) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", Self.answer(1_000, "Accept"), Self.answer(2_000, "Accept-Language"))
    try stage.ask("/a", Self.accept("image/webp"))
    try stage.ask("/a", Self.accept("image/avif"))
    try place.prepare(stage)
    #expect(try stage.ask("/a", Self.accept("image/webp"))["bytes"]?.integer == 2_000)
    let both = #""headers":{"Accept":"image/webp","Accept-Language":"de"}"#
    #expect(try stage.ask("/a", both)["bytes"]?.integer == 1_000)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test(arguments: Place.allCases)
  func `of nine answers the oldest is in no tier`(place: Place) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept"))
    for number in 1...9 { try stage.ask("/a", Self.accept("a/\(number)")) }
    #expect(try stage.stats("memory", "entries") == 8)
    #expect(try stage.stats("disk", "entries") == 8)
    try place.prepare(stage)
    let cached = #","cache":"only-if-cached""#
    #expect(try stage.outcome("/a", Self.accept("a/1") + cached) == "not_cached")
    for number in 2...9 {
      #expect(try stage.outcome("/a", Self.accept("a/\(number)") + cached) == place.source)
    }
  }

  @Test func `an answer to the same requests takes the place of the older one`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept"), Self.answer(2_000, "Accept"))
    try stage.ask("/a", Self.accept("a/a,b/b"))
    let reload = Self.accept("b/b,a/a") + #","cache":"reload""#
    #expect(try stage.outcome("/a", reload) == "network")
    #expect(try stage.ask("/a", Self.accept("a/a,b/b"))["bytes"]?.integer == 2_000)
    #expect(try stage.stats("memory", "entries") == 1)
    #expect(try stage.stats("disk", "entries") == 1)
  }

  @Test(arguments: Place.allCases)
  func `another answer under the same key is not taken for the earlier one`(place: Place) throws {
    let stage = try CoreStage()
    let plain = OriginAnswer.picture(png(2_000), headers: [("Cache-Control", "max-age=1000")])
    stage.origin.plan("/a", Self.answer(1_000, "Accept-Encoding"), plain)
    try stage.ask("/a", Self.accept("image/webp"))
    try stage.ask("/a", Self.accept("image/webp") + #","cache":"reload""#)
    try place.prepare(stage)
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
    #expect(try stage.outcome("/a", Self.accept("image/webp")) == place.source)
  }

  @Test func `a newer answer under the own key goes before one that fits`() throws {
    let stage = try CoreStage()
    let plain = OriginAnswer.picture(png(2_000), headers: [("Cache-Control", "max-age=1000")])
    stage.origin.plan("/a", Self.answer(1_000, "Accept-Encoding"), plain)
    try stage.ask("/a", Self.accept("image/webp"))
    try stage.ask("/a", #""cache":"reload""#)
    let like = #""headers":{"DNT":"1"}"#
    #expect(try stage.ask("/a", like)["bytes"]?.integer == 2_000)
    #expect(try stage.ask("/a", Self.accept("image/avif"))["bytes"]?.integer == 1_000)
  }

  @Test func `an answer that may not be kept leaves none for the same requests`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", Self.answer(1_000, "Accept"), Self.answer(2_000, "Accept", "no-store"))
    try stage.ask("/a", Self.accept("a/a,b/b"))
    try stage.ask("/a", Self.accept("b/b,a/a") + #","cache":"reload""#)
    let cached = #","cache":"only-if-cached""#
    #expect(try stage.outcome("/a", Self.accept("a/a,b/b") + cached) == "not_cached")
    #expect(try stage.stats("disk", "entries") == 0)
  }

  @Test(arguments: Place.allCases)
  func `a stale answer is confirmed for another request that it fits`(place: Place) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .conditional(
        png(), tag: "\"1\"", headers: [("Vary", "Accept-Language"), ("Cache-Control", "no-cache")]))
    try stage.ask("/a", Self.accept("image/webp"))
    try place.prepare(stage)
    #expect(try stage.outcome("/a", Self.accept("image/avif")) == "revalidated")
    #expect(try stage.outcome("/a") == "revalidated")
    #expect(try stage.stats("memory", "entries") == 1)
    #expect(stage.origin.requests("/a").last?.header("if-none-match") == "\"1\"")
  }

  @Test func `a missing picture is removed for all requests that it fits`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept-Encoding", "no-cache"), .status(404))
    try stage.ask("/a", Self.accept("image/webp"))
    #expect(try stage.outcome("/a") == "http_status")
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try stage.stats("disk", "entries") == 0)
  }

  @Test(arguments: Place.allCases)
  func `a purge takes all answers to a URL, and a soft one has all confirmed`(place: Place) throws {
    let stage = try CoreStage()
    for path in ["/a", "/b"] {
      stage.origin.plan(path, Self.answer(1_000, "Accept"))
      for number in 1...3 { try stage.ask(path, Self.accept("a/\(number)")) }
    }
    try place.prepare(stage)
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a"}
      < {"ok":true}
      > {"cmd":"purge","url":"ORIGIN/b","soft":true}
      < {"ok":true}
      """#)
    let cached = #","cache":"only-if-cached""#
    for number in 1...3 {
      let fields = Self.accept("a/\(number)")
      #expect(try stage.outcome("/a", fields + cached) == "not_cached")
      #expect(try stage.outcome("/b", fields) == "network", "\(number)")
    }
    #expect(stage.origin.count("/b") == 6)
  }

  @Test func `answers go with the memory tier, and are found on disk again`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept-Encoding"))
    try stage.ask("/a", Self.accept("image/webp"))
    #expect(try stage.stats("held", "variants") > 0)
    stage.core.parts.pictures.emptyMemory { _ in }
    stage.settle()
    #expect(try stage.stats("held", "variants") == 0)
    #expect(try stage.outcome("/a") == "disk")
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a"}
      < {"ok":true}
      """#)
    #expect(try stage.stats("held", "variants") == 0)
    #expect(try stage.outcome("/a") == "network")
  }

  @Test(arguments: HitTier.allCases)
  func `identifiers of users and credentials part`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept-Encoding"))
    let other = try stage.connect(as: 4_242)
    let own = #""identifier":"x","headers":{"Accept":"image/webp"}"#
    try stage.ask("/a", own)
    let secret = #""headers":{"Authorization":"a","Accept":"image/webp"}"#
    try stage.ask("/a", secret)
    try stage.leave(in: tier)
    let cached = #","cache":"only-if-cached""#
    #expect(try stage.outcome("/a", #""identifier":"x""# + cached) == tier.rawValue)
    #expect(try stage.outcome("/a", #""identifier":"x""# + cached, on: other) == "not_cached")
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
    let plain = #""headers":{"Authorization":"a"}"#
    let found = tier == .memory ? "memory" : "not_cached"
    #expect(try stage.outcome("/a", plain + cached) == found, "credentials are on no disk")
    #expect(try stage.outcome("/a", plain + cached, on: other) == "not_cached")
  }

  @Test(arguments: HitTier.allCases)
  func `another form is made of the answer that fits`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept-Encoding"))
    try stage.ask("/a", Self.accept("image/webp"))
    try stage.leave(in: tier)
    let cached = #""format":"webp","cache":"only-if-cached""#
    #expect(try stage.outcome("/a", cached) != "not_cached")
  }

  @Test func `answers that an earlier process has left in memory are known again`() throws {
    let (first, second) = (
      try CoreStage("Disk.Enabled=no"), try CoreStage("Disk.Enabled=no")
    )
    first.origin.plan("/a", Self.answer(1_000, "Accept-Encoding"))
    try first.ask("/a", Self.accept("image/webp"))
    let limits = HandoverLimits(descriptors: 10, bytes: 1 << 20)
    let left = try first.core.memory.handover(
      within: limits, isClean: true, at: first.now, wall: WallClock.seconds)
    let handover = try #require(left)
    _ = try second.core.memory.takeOver(
      index: handover.index, bodies: handover.bodies, at: second.now,
      wall: WallClock.seconds, taken: second.core.inherit)
    #expect(try second.outcome("/a", #""cache":"only-if-cached""#) == "memory")
  }

  @Test func `a later answer is not replaced by that of an earlier transfer`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a", .held(at: gate, then: Self.answer(1_000, "Accept")), Self.answer(2_000, "Accept"))
    try stage.begin(
      #"{"cmd":"fetch","url":"ORIGIN/a","id":1,\#(Self.accept("a/a,b/b"))}"#,
      #"{"cmd":"fetch","url":"ORIGIN/a","id":2,\#(Self.accept("b/b,a/a"))}"#)
    #expect(try stage.client.receive()["id"]?.integer == 2)
    gate.open()
    #expect(try stage.client.receive()["id"]?.integer == 1)
    let line = try stage.ask("/a", Self.accept("a/a,b/b"))
    #expect(line["bytes"]?.integer == 2_000)
    #expect(try stage.stats("memory", "entries") == 1)
  }

  // MARK: query

  @Test(arguments: Place.allCases)
  func `query lists the answers, the newest first`(place: Place) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept, Accept-Language"))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a", Self.accept("image/webp"))
    try stage.ask("/a", #""headers":{"Accept-Language":"DE"}"#)
    try stage.fetch("/b")
    try place.prepare(stage)
    let tiers = place == .memory ? #"["memory","disk"]"# : #"["disk"]"#
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none","variants":[{"vary":{"accept":null,"accept-language":"de"},"stored":"…","tiers":\#(tiers)},{"vary":{"accept":"image/webp","accept-language":null},"stored":"…","tiers":\#(tiers)}]}
      """#)
    let plain = try stage.client.ask(#"{"cmd":"query","url":"\#(stage.base)/b"}"#)
    #expect(plain["tier"]?.string == place.source && plain["variants"] == nil)
  }

  @Test func `query finds what a plain request would be shown`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept-Encoding"))
    try stage.ask("/a", Self.accept("image/webp"))
    #expect(try stage.tier(of: "/a") == "memory")
    try stage.leave(in: .disk)
    #expect(try stage.tier(of: "/a") == "disk")
  }

  @Test func `query shows no more of an answer than is read`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", Self.answer(1_000, "Accept, X-Z"))
    let long = String(repeating: "x", count: 30_000)
    try stage.ask("/a", #""headers":{"Accept":"\#(long)","X-Z":"1"}"#)
    let line = try stage.client.ask(#"{"cmd":"query","url":"\#(stage.base)/a"}"#)
    #expect(line["variants"]?.array?.first?["vary"]?.object?.isEmpty == true)
  }
}
