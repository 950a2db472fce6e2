import ImgdCache
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Pictures that were fetched with credentials, and that their origin lets all have.
struct SharedAnswerTests {
  private static let mine = #""headers":{"Authorization":"mine"}"#
  private static let other = #""headers":{"Authorization":"other"}"#
  private static let cookie = #""headers":{"Cookie":"a=1"}"#
  private static let plain = #""headers":{}"#

  private static func control(_ value: String) -> [(String, String)] { [("Cache-Control", value)] }

  // MARK: Who is shown what

  /// What the origin says, the credentials of the first request, and those that are shown its answer.
  static let table: [(control: String, first: String, sharers: [String])] = [
    ("max-age=1000", mine, [mine]),
    ("max-age=1000, public", mine, [mine, other, cookie, plain]),
    ("s-maxage=1000", mine, [mine, other, plain]),
    ("max-age=1000, must-revalidate", mine, [mine, other, plain]),
    ("max-age=1000, proxy-revalidate", mine, [mine]),
    ("max-age=1000, public, private", mine, [mine]),
    ("max-age=1000, s-maxage=1000, private", mine, [mine]),
    ("max-age=1000", cookie, [cookie]),
    ("s-maxage=1000", cookie, [cookie]),
    ("max-age=1000, must-revalidate", cookie, [cookie]),
    ("max-age=1000, public", cookie, [mine, other, cookie, plain]),
    // The answer to a request without any, which is the plain one.
    ("max-age=1000", plain, [plain]),
    ("max-age=1000, public", plain, [mine, other, cookie, plain]),
    ("s-maxage=1000", plain, [mine, other, plain]),
  ]

  @Test(arguments: table.indices, HitTier.allCases)
  func `an answer is shown to those to whom its origin lets it be shown`(
    index: Int, tier: HitTier
  ) throws {
    let row = Self.table[index]
    for (number, second) in [Self.mine, Self.other, Self.cookie, Self.plain].enumerated() {
      let stage = try CoreStage()
      stage.origin.plan("/a", .picture(png(), headers: Self.control(row.control)))
      try stage.ask("/a", row.first)
      // What only memory has is gone when memory is emptied.
      let isOnDisk = row.sharers.contains(Self.plain)
      if isOnDisk { try stage.leave(in: tier) }
      let line = try stage.ask("/a", second)
      let isShared = row.sharers.contains(second)
      let hit = isOnDisk ? tier.rawValue : "memory"
      #expect(line.outcome == (isShared ? hit : "network"), "\(row), \(number)")
      if isShared { #expect((line["path"]?.string != nil) == isOnDisk) }
      #expect(stage.origin.count("/a") == (isShared ? 1 : 2))
    }
  }

  @Test(arguments: HitTier.allCases)
  func `another user is shown it, and a restart leaves it`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("max-age=1000, public")))
    let first = try stage.ask("/a", Self.mine)
    #expect(first["path"]?.string != nil && first["deliver_note"] == nil)
    #expect(try stage.tier(of: "/a") == "memory")
    try stage.leave(in: tier)
    let someone = try stage.connect(as: 4_242)
    for fields in ["", Self.mine, Self.other] {
      #expect(try stage.ask("/a", fields, on: someone)["path"] == first["path"])
    }
    try stage.restart()
    #expect(try stage.outcome("/a", Self.other, on: try stage.connect(as: 4_242)) == "disk")
    #expect(stage.origin.count("/a") == 1)
  }

  @Test(arguments: ["X-Api-Key", "X-Auth", "Private-Token"])
  func `what other credentials have fetched is never shared`(name: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("max-age=1000, public")))
    for headers in [#""\#(name)":"1""#, #""\#(name)":"1","Authorization":"mine""#] {
      let fields = #""headers":{\#(headers)}"#
      #expect(try stage.ask("/a", fields)["path"] == .null)
      #expect(try stage.outcome("/a", fields) == "memory")
      #expect(try stage.outcome("/a", fields, on: try stage.connect(as: 4_242)) == "network")
    }
    #expect(try stage.outcome("/a", Self.mine) == "network")
  }

  @Test func `headers and identifiers part shared answers as they part all`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("max-age=1000, public")))
    let german = #""headers":{"Authorization":"mine","Accept-Language":"de"}"#
    try stage.ask("/a", german)
    #expect(try stage.outcome("/a", #""headers":{"Accept-Language":"de"}"#) == "memory")
    #expect(try stage.outcome("/a") == "network")
    try stage.ask("/a", Self.mine + #","identifier":"x""#)
    #expect(try stage.outcome("/a", #""identifier":"x""#) == "memory")
    let someone = try stage.connect(as: 4_242)
    #expect(try stage.outcome("/a", #""identifier":"x""#, on: someone) == "network")
  }

  @Test(arguments: ["Authorization", "cookie", "Accept, Cookie", "*"])
  func `an answer that varies with credentials is not shared`(vary: String) throws {
    let stage = try CoreStage()
    let headers = Self.control("max-age=1000, public") + [("Vary", vary)]
    stage.origin.plan("/a", .picture(png(), headers: headers))
    for fields in [Self.mine, Self.cookie] {
      #expect(try stage.ask("/a", fields)["path"] == .null)
      #expect(try stage.outcome("/a", fields) == (vary == "*" ? "network" : "memory"))
    }
    #expect(try stage.outcome("/a", Self.other) == "network")
    // Nor is a plain one shown to those who have some.
    #expect(try stage.outcome("/a") == "network")
    #expect(try stage.outcome("/a", #""headers":{"Authorization":"third"}"#) == "network")
  }

  @Test func `the fields that others are shown have nothing personal`() throws {
    let stage = try CoreStage()
    let headers =
      Self.control("max-age=1000, public")
      + [("Set-Cookie", "s=1"), ("Set-Cookie2", "s=2"), ("Authentication-Info", "n=3")]
    stage.origin.plan("/a", .picture(png(), headers: headers))
    try stage.ask("/a", Self.mine)
    let line = try stage.ask("/a", #""http":true"#, on: try stage.connect(as: 4_242))
    #expect(line.outcome == "memory" && line.header("cache-control") != nil)
    for name in ["set-cookie", "set-cookie2", "authentication-info"] {
      #expect(line.header(name) == nil)
    }
  }

  @Test func `nothing is kept of a request that keeps nothing, or of what may not be kept`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("max-age=1000, public")))
    stage.origin.plan("/b", .picture(png(), headers: Self.control("public, no-store")))
    try stage.ask("/a", Self.mine + #","cache":"no-store""#)
    try stage.ask("/b", Self.mine)
    for path in ["/a", "/b"] {
      #expect(try stage.tier(of: path) == "none")
      #expect(try stage.outcome(path, Self.mine + #","cache":"only-if-cached""#) == "not_cached")
    }
    #expect(stage.files.isEmpty)
  }

  @Test func `a rendition of a shared picture is shared with it`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("max-age=1000, public")))
    let small = #","resize":{"width":2}"#
    #expect(try stage.ask("/a", Self.mine + small)["path"]?.string != nil)
    for fields in [#""resize":{"width":2}"#, Self.other + small, Self.mine + small] {
      #expect(try stage.outcome("/a", fields) == "memory")
    }
    #expect(stage.decoding.orders.count == 1)
  }

  @Test(arguments: [("max-age=1000", false), ("max-age=1000, public", true)])
  func `each hop on the way is shared by its own word`(control: String, isShared: Bool) throws {
    let stage = try CoreStage()
    let shared = Self.control("max-age=1000, public")
    stage.origin.plan("/a", .redirect(to: "/b", headers: Self.control(control)))
    stage.origin.plan("/b", .picture(png(), headers: shared))
    try stage.ask("/a", Self.mine)
    for fields in ["", Self.other, Self.mine] {
      let line = try stage.ask("/a", fields)
      #expect(line.outcome == "memory" && line["final_url"]?.string == stage.base + "/b")
    }
    #expect(stage.origin.count("/a") == (isShared ? 1 : 3))
    #expect(stage.origin.count("/b") == 1)
  }

  // MARK: Confirmations

  /// A stale answer that all may have, confirmed by a user with other credentials.
  @Test(arguments: HitTier.allCases)
  func `a confirmation renews the answer for all`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.control("max-age=0, public")),
      .conditional(png(), tag: "\"1\"", headers: Self.control("max-age=1000, public")))
    let path = try stage.ask("/a", Self.mine)["path"]
    try stage.leave(in: tier)
    let line = try stage.ask("/a", Self.other)
    #expect(line.outcome == "revalidated" && line["path"] == path && path?.string != nil)
    try stage.leave(in: tier)
    for fields in ["", Self.mine, Self.cookie] {
      try stage.leave(in: tier)
      #expect(try stage.outcome("/a", fields) == tier.rawValue)
    }
    #expect(stage.files.count == 1)
    #expect(stage.origin.requests("/a").map { $0.header("if-none-match") } == [nil, "\"1\""])
  }

  @Test(arguments: HitTier.allCases)
  func `a confirmation that takes the permission away leaves nothing for others`(
    tier: HitTier
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.control("max-age=0, public")),
      .conditional(png(), tag: "\"1\"", headers: Self.control("max-age=1000")))
    try stage.ask("/a", Self.mine)
    try stage.leave(in: tier)
    let line = try stage.ask("/a", Self.other)
    #expect(line.outcome == "revalidated" && line["path"] == .null)
    #expect(try stage.outcome("/a", Self.other) == "memory")
    #expect(try stage.tier(of: "/a") == "none")
    let cached = #","cache":"only-if-cached""#
    #expect(try stage.outcome("/a", Self.mine + cached) == "not_cached")
    #expect(try stage.outcome("/a", Self.plain + cached) == "not_cached")
    try stage.leave(in: .disk)
    #expect(try stage.outcome("/a", Self.plain + cached) == "not_cached")
  }

  @Test func `a confirmation that gives the permission shares what was one user's`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.control("max-age=0")),
      .conditional(png(), tag: "\"1\"", headers: Self.control("max-age=1000, public")))
    #expect(try stage.ask("/a", Self.mine)["path"] == .null)
    let line = try stage.ask("/a", Self.mine)
    #expect(line.outcome == "revalidated" && line["path"]?.string != nil)
    #expect(try stage.stats("memory", "entries") == 1)
    for fields in ["", Self.mine, Self.other] {
      #expect(try stage.outcome("/a", fields) == "memory")
    }
    try stage.leave(in: .disk)
    #expect(try stage.outcome("/a", Self.other) == "disk")
  }

  @Test(arguments: HitTier.allCases)
  func `another picture that is not for all takes the place of what was`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(1_000), tag: "\"1\"", headers: Self.control("max-age=0, public")),
      .conditional(png(2_000), tag: "\"2\"", headers: Self.control("max-age=1000, private")))
    try stage.ask("/a", Self.mine)
    try stage.leave(in: tier)
    #expect(try stage.ask("/a", Self.mine)["bytes"]?.integer == 2_000)
    #expect(try stage.tier(of: "/a") == "none")
    #expect(try stage.outcome("/a", Self.mine) == "memory")
  }

  @Test(arguments: [404, 410], HitTier.allCases)
  func `a picture that is gone is gone for all`(status: Int, tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.control("max-age=0, public")),
      .status(status))
    try stage.ask("/a", Self.mine)
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a", Self.other) == "http_status")
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
  }

  // MARK: The newest

  @Test func `the newer wins of an answer for one user and one for all`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .picture(png(1_000), headers: Self.control("max-age=1000")),
      .picture(png(2_000), headers: Self.control("max-age=1000, public")),
      .picture(png(3_000), headers: Self.control("max-age=1000")))
    try stage.ask("/a", Self.mine)
    stage.jump(.seconds(5))
    #expect(try stage.ask("/a", Self.other)["bytes"]?.integer == 2_000)
    #expect(try stage.ask("/a", Self.mine)["bytes"]?.integer == 2_000)
    stage.jump(.seconds(5))
    #expect(try stage.ask("/a", Self.mine + #","cache":"reload""#)["bytes"]?.integer == 3_000)
    #expect(try stage.ask("/a", Self.mine)["bytes"]?.integer == 3_000)
    #expect(try stage.ask("/a", Self.other)["bytes"]?.integer == 2_000)
    #expect(try stage.ask("/a")["bytes"]?.integer == 2_000)
  }

  @Test func `a newer answer for all that only the disk has is found`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .picture(png(1_000), headers: Self.control("max-age=1000")),
      .picture(png(2_000), headers: Self.control("max-age=1000, public")))
    try stage.ask("/a", Self.mine)
    stage.jump(.seconds(5))
    try stage.ask("/a", Self.other + #","store":"disk""#)
    let line = try stage.ask("/a", Self.mine)
    #expect(line["bytes"]?.integer == 2_000 && line.outcome == "disk")
    #expect(try stage.outcome("/a", Self.mine) == "memory")
  }

  // MARK: The end

  /// What the origin has opened as long as it is fresh, and modes that take pictures of any age.
  @Test(arguments: ["s-maxage=0", "max-age=0, must-revalidate"], HitTier.allCases)
  func `a stale answer is shown to nobody whom the origin has not been asked for`(
    control: String, tier: HitTier
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.control(control)), .status(401))
    try stage.ask("/a", Self.mine)
    try stage.leave(in: tier)
    let cached = #""cache":"only-if-cached""#
    for fields in ["", Self.mine, Self.other] {
      let more = fields.isEmpty ? "" : fields + ","
      #expect(try stage.outcome("/a", more + cached) == "not_cached")
      #expect(try stage.outcome("/a", more + #""cache":"force-cache""#) == "http_status")
    }
    #expect(stage.origin.count("/a") == 4)
  }

  @Test func `a restart opens nothing`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("s-maxage=0")))
    try stage.ask("/a", Self.mine)
    try stage.restart()
    #expect(try stage.tier(of: "/a") == "disk")
    for fields in [#""cache":"only-if-cached""#, Self.other + #","cache":"only-if-cached""#] {
      #expect(try stage.outcome("/a", fields) == "not_cached")
    }
  }

  @Test func `a stale answer that is public is shown to those who take stale ones`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("max-age=0, public")))
    try stage.ask("/a", Self.mine)
    for fields in [#""cache":"force-cache""#, #""cache":"only-if-cached""#] {
      #expect(try stage.outcome("/a", fields) == "memory stale")
    }
  }

  @Test func `no request makes it last longer than its origin has said`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("s-maxage=60")))
    #expect(try stage.ask("/a", Self.mine + #","ttl":1000"#)["fresh_for"]?.integer == 60)
  }

  @Test(arguments: [#""url":"ORIGIN/a""#, #""host":"127.0.0.1""#])
  func `a purge removes what is shared`(filter: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.control("max-age=1000, public")))
    try stage.ask("/a", Self.mine)
    try stage.play(
      #"""
      > {"cmd":"purge",\#(filter)}
      < {"ok":true,"memory":{"entries":1},"disk":{"entries":1}}
      """#)
    #expect(try stage.outcome("/a", Self.mine) == "network")
  }
}
