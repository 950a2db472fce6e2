import ImgdTestSupport
import ImgdWire
import Testing

/// Which answers are stored, and how they are delivered afterwards.
struct StoredAnswerTests {
  private static let picture = [("Content-Type", "image/png")]

  @Test(arguments: HitTier.allCases)
  func `the field http shows the answer as it is stored`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .picture(
        png(),
        headers: [
          ("Cache-Control", "max-age=1000"), ("X-Two", "1"), ("X-Two", "2"), ("X-Empty", ""),
          ("Set-Cookie", "a=b"),
        ]))
    let first = try stage.ask("/a", #""http":true"#)
    try stage.leave(in: tier)
    let second = try stage.ask("/a", #""http":true"#)
    #expect(second.outcome == tier.rawValue)
    #expect(first["http"] == second["http"], "\(first.text) \(second.text)")
    #expect(second["http"]?["status"]?.integer == 200)
    #expect(second.header("x-two") == "1, 2")
    #expect(second.header("x-empty") == "")
    #expect(second.header("content-length") == "1000")
    #expect(try stage.ask("/a")["http"] == nil)
  }

  /// The status of an answer with a picture, the outcome of the fetch, and whether the picture is
  /// stored without and with an explicit lifetime.
  static let statuses: [(status: Int, outcome: String, isStored: Bool, isStoredForTime: Bool)] = [
    (200, "network", true, true), (201, "network", false, true), (203, "network", true, true),
    (206, "http_status", false, false), (300, "http_status", false, false),
    (301, "http_status", false, false), (302, "http_status", false, false),
    (308, "http_status", false, false), (404, "http_status", false, false),
    (410, "http_status", false, false), (500, "http_status", false, false),
  ]

  @Test(arguments: statuses)
  func `a status decides whether its picture may be kept`(
    status: Int, outcome: String, isStored: Bool, isStoredForTime: Bool
  ) throws {
    let stage = try CoreStage("HTTP.NegativeFreshness=0s")
    stage.origin.plan("/a", .status(status, headers: Self.picture, body: png()))
    stage.origin.plan(
      "/b",
      .status(
        status, headers: Self.picture + [("Cache-Control", "max-age=1000")], body: png()))
    for (path, isStored) in [("/a", isStored), ("/b", isStoredForTime)] {
      #expect(try stage.outcome(path) == outcome)
      #expect(try stage.tier(of: path) == (isStored ? "memory" : "none"), "\(path)")
      try stage.leave(in: .disk)
      #expect(try stage.tier(of: path) == (isStored ? "disk" : "none"), "\(path)")
    }
    #expect(stage.files.count == (isStored ? 1 : 0) + (isStoredForTime ? 1 : 0))
  }

  @Test(arguments: ["not a picture", ""])
  func `a body that is not a picture is not stored`(body: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(Array(body.utf8), headers: [("Cache-Control", "max-age=9")]))
    for _ in 0..<2 { #expect(try stage.ask("/a")["ok"]?.bool == false) }
    #expect(stage.origin.count("/a") == 2)
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try stage.stats("disk", "entries") == 0)
  }

  // MARK: Both tiers have the same

  /// How the newer answer comes, and where the picture is afterwards: in which tier at first, and
  /// then without memory.
  static let replacements: [(control: String, fields: String, first: String, second: String)] = [
    ("max-age=1000", #""cache":"reload""#, "memory", "disk"),
    ("no-store", #""cache":"reload""#, "none", "none"),
    ("private", #""cache":"reload""#, "none", "none"),
    ("max-age=1000", #""cache":"reload","store":"memory""#, "memory", "none"),
    ("max-age=1000", #""cache":"reload","store":"disk""#, "disk", "disk"),
    ("no-store", #""cache":"no-cache""#, "none", "none"),
  ]

  @Test(arguments: HitTier.allCases, replacements)
  func `a newer answer leaves no older one`(
    tier: HitTier, row: (control: String, fields: String, first: String, second: String)
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .picture(png(1_000)), .picture(png(2_000), headers: [("Cache-Control", row.control)]))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.ask("/a", row.fields)["bytes"]?.integer == 2_000)
    #expect(try stage.tier(of: "/a") == row.first)
    let kept = try stage.ask("/a", #""cache":"only-if-cached","store":"none""#)
    #expect(kept["bytes"]?.integer == (row.first == "none" ? nil : 2_000))
    try stage.leave(in: .disk)
    #expect(try stage.tier(of: "/a") == row.second)
    #expect(try stage.stats("disk", "entries") == (row.second == "none" ? 0 : 1))
  }

  @Test(arguments: [("memory", "disk"), ("disk", "memory")])
  func `a picture that moves to another tier leaves the first`(first: String, second: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    try stage.ask("/a", #""store":"\#(first)""#)
    #expect(try stage.tier(of: "/a") == first)
    try stage.ask("/a", #""cache":"reload","store":"\#(second)""#)
    #expect(try stage.tier(of: "/a") == second)
    let kept = try stage.ask("/a", #""cache":"only-if-cached","store":"none""#)
    #expect(kept["bytes"]?.integer == 2_000)
    #expect(try stage.stats("disk", "entries") == (second == "disk" ? 1 : 0))
  }

  /// A fetch that was begun before a reload, and ends after it.
  @Test(arguments: HitTier.allCases, ["all", "disk"])
  func `an earlier transfer does not replace the result of a later one`(
    tier: HitTier, store: String
  ) throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png(1_000))), .picture(png(2_000)))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","store":"\#(store)"}"#)
    #expect(gate.arrivals == 1)
    #expect(
      try stage.ask("/a", #""cache":"reload","store":"\#(store)""#)["bytes"]?.integer == 2_000)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true,"bytes":1000}
      """#)
    try stage.leave(in: tier)
    #expect(try stage.ask("/a")["bytes"]?.integer == 2_000)
    #expect(stage.origin.count("/a") == 2)
  }
}
