import ImgdTestSupport
import ImgdWire
import Testing

/// Header fields that break the grammar of HTTP, and those that are about one connection alone.
struct StrictnessTests {
  private static let fresh = [("Cache-Control", "max-age=1000")]
  private static let stale = [("Cache-Control", "max-age=0")]

  // MARK: What is malformed is stale

  /// A moment ahead, with one part of its text replaced by another.
  private static func ahead(_ part: String = "", _ other: String = "") -> String {
    let date = httpDate(100_000)
    return part.isEmpty ? date : date.replacing(part, with: other)
  }

  static let answers: [(headers: [(String, String)], isHit: Bool)] = [
    ([("Expires", ahead())], true), ([("Expires", ahead().lowercased())], true),
    ([("Expires", ahead("GMT", "UTC"))], false), ([("Expires", ahead(" GMT", ""))], false),
    ([("Expires", ahead("GMT", "+0000"))], false), ([("Expires", ahead(", ", " "))], false),
    ([("Expires", ahead(":", "."))], false), ([("Expires", ahead(" 20", " 0"))], false),
    ([("Expires", ahead(" 20", "-20"))], false), ([("Expires", ahead(" 20", "  20"))], false),
    ([("Expires", ahead()), ("Expires", ahead())], false),
    ([("Expires", ahead("GMT", "UTC"))] + fresh, true),
    (fresh + [("Date", ahead("GMT", "UTC"))], true), (fresh + [("Age", "2147483649")], false),
    (fresh + [("Age", "2000"), ("Age", "0")], false), (fresh + [("Age", "0, 2000")], true),
    (fresh + [("Age", "2000;x=1")], true), (fresh + [("Age", "-2000")], true),
    ([("Cache-Control", "max-age = 1000")], false), ([("Cache-Control", "max-age=1000s")], false),
    ([("Cache-Control", "max-age=1000, max-age=0")], false),
    ([("Cache-Control", "max-age=1000, MAX-AGE=\"0\"")], false),
    ([("Cache-Control", "x=\"max-age=0, no-store\", max-age=1000")], true),
    ([("Cache-Control", "max-age=1000, x=\"no end"), ("Cache-Control", "no-store")], false),
    ([("Cache-Control", "max-age=1000"), ("Cache-Control", "no-store=\"x\"")], false),
    ([("Cache-Control", "x=\"\\\", max-age=1000")], false),
  ]

  @Test(arguments: HitTier.allCases)
  func `a lifetime that is malformed is over, and a word that forbids counts in every form`(
    tier: HitTier
  ) throws {
    let stage = try CoreStage()
    for (number, row) in Self.answers.enumerated() {
      let path = "/\(number)"
      stage.origin.plan(path, .picture(png(), headers: row.headers))
      try stage.fetch(path)
      try stage.leave(in: tier)
      #expect(try stage.outcome(path) == (row.isHit ? tier.rawValue : "network"), "\(row)")
    }
  }

  // MARK: Fields of the connection

  private static let ofConnection = [
    ("Connection", "x-hop, \"X-Torn"), ("Connection", "X-Hop2 ,,close"), ("X-Hop", "1"),
    ("X-Hop2", "2"), ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "close"),
    ("Proxy-Authenticate", "Basic"), ("Proxy-Authentication-Info", "x"), ("TE", "trailers"),
    ("Trailer", "x-sum"), ("Upgrade", "h2c"), ("X-Kept", "3"),
  ]

  private func expectNone(in line: JSONValue, _ comment: Comment) {
    let shown = line["http"]?["headers"]?.object?.map(\.name) ?? []
    #expect(shown.contains("x-kept"), comment)
    let hidden = Set(Self.ofConnection.map { $0.0.lowercased() }).subtracting(["x-kept"])
    #expect(hidden.isDisjoint(with: shown), comment)
  }

  @Test(arguments: HitTier.allCases)
  func `the connection's fields are neither stored with a picture nor shown`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: Self.fresh + Self.ofConnection))
    expectNone(in: try stage.ask("/a", #""http":true"#), "from the network")
    try stage.leave(in: tier)
    let stored = try stage.ask("/a", #""http":true"#)
    #expect(stored.outcome == tier.rawValue)
    expectNone(in: stored, "stored")
  }

  @Test(arguments: HitTier.allCases)
  func `a confirmation brings none of its connection's fields`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.stale),
      .conditional(png(), tag: "\"1\"", headers: Self.fresh + Self.ofConnection))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    let confirmed = try stage.ask("/a", #""http":true"#)
    #expect(confirmed.outcome == "revalidated")
    expectNone(in: confirmed, "confirmed")
    expectNone(in: try stage.ask("/a", #""http":true"#), "stored")
  }

  @Test(arguments: [304, 400, 404, 410, 500, 503])
  func `an error shows none of its connection's fields, remembered or not`(status: Int) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(status, headers: Self.fresh + Self.ofConnection))
    for _ in 0..<2 {
      let line = try stage.ask("/a", #""http":true,"headers":{"If-None-Match":"\"1\""}"#)
      #expect(line["ok"] == .bool(false))
      expectNone(in: line, "with a condition")
      expectNone(in: try stage.ask("/a", #""http":true"#), "plain")
    }
  }

  @Test func `an answer that is no picture shows none of its connection's fields`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .body(Array("no".utf8), headers: Self.ofConnection))
    let line = try stage.ask("/a", #""http":true"#)
    #expect(line.outcome == "not_an_image")
    expectNone(in: line, "not a picture")
  }

  // MARK: Asking the origin

  @Test(arguments: HitTier.allCases)
  func `a confirmation is asked for with every validator that there is`(tier: HitTier) throws {
    let stage = try CoreStage()
    let date = "Tue, 01 Jul 2025 10:00:00 GMT"
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: Self.stale + [("Last-Modified", date)]))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == "revalidated")
    let request = try #require(stage.origin.requests("/a").last)
    #expect(request.header("if-none-match") == "\"1\"")
    #expect(request.header("if-modified-since") == date)
  }

  /// A condition that was answered with the whole picture (4.3.3): no status but 304 confirms.
  @Test(arguments: HitTier.allCases, [200, 203])
  func `a whole answer to a condition takes the place of what was stored`(
    tier: HitTier, status: Int
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(1_000), tag: "\"1\"", headers: Self.stale + [("X-Old", "1")]),
      .status(status, headers: [("Content-Type", "image/png")] + Self.fresh, body: png(2_000)))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.ask("/a")["bytes"]?.integer == 2_000)
    let stored = try stage.ask("/a", #""http":true"#)
    #expect(stored.outcome == "memory" && stored["bytes"]?.integer == 2_000)
    #expect(stored.header("x-old") == nil)
  }

  @Test(arguments: HitTier.allCases)
  func `the date that an answer ended by is not put off by the origin's failure`(
    tier: HitTier
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .picture(png(), headers: [("Expires", Self.ahead("GMT", "UTC"))]), .status(500))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a") == "http_status")
  }
}
