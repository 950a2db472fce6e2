import ImgdTestSupport
import ImgdWire
import Testing

/// How long a picture is delivered without a request to its origin, by the headers of the origin.
struct LifetimeTests {
  struct Row: Sendable {
    let headers: [(String, String)]
    var fields = ""
    /// Whether the second fetch is a hit.
    let isHit: Bool
  }

  /// Rows of Cache-Control alone.
  static let controls: [(control: String, isHit: Bool)] = [
    ("max-age=1000", true), ("max-age=0", false), ("MAX-AGE=1000", true),
    ("max-age=\"1000\"", true), ("max-age=99999999999999999999999", true),
    ("max-age=abc", false), ("max-age=-1", false), ("max-age=", false), ("max-age", false),
    ("max-age=1.5", false), ("max-age=1000, max-age=0", false), (", ,max-age=1000,,", true),
    ("s-maxage=1000, max-age=0", true), ("s-maxage=0, max-age=1000", false),
    ("public", true), ("public, max-age=0", false), ("must-revalidate, max-age=1000", true),
    ("must-revalidate, max-age=0", false), ("immutable, max-age=1000", true),
    ("immutable, max-age=0", false), ("no-cache", false), ("no-cache, max-age=1000", false),
    ("no-cache=\"set-cookie\", max-age=1000", false), ("no-store", false),
    ("no-store, max-age=1000", false), ("private", false), ("private, max-age=1000", false),
    ("private=\"x\", max-age=1000", false), ("foo=bar, max-age=1000", true), ("", true),
    ("\u{1}=;;\"", true), ("max-age=1000, foo=\"", true),
    ("must-understand, no-store, max-age=1000", true),
  ]

  static let rows: [Row] =
    controls.map { Row(headers: [("Cache-Control", $0.control)], isHit: $0.isHit) } + [
      Row(headers: [], isHit: true),
      Row(
        headers: [("Cache-Control", "max-age=1000"), ("Cache-Control", "no-store")], isHit: false),
      Row(headers: [("Expires", httpDate(1_000))], isHit: true),
      Row(headers: [("Expires", httpDate(-1_000))], isHit: false),
      Row(headers: [("Expires", "0")], isHit: false),
      Row(headers: [("Expires", "soon")], isHit: false),
      Row(headers: [("Expires", httpDate(1_000)), ("Date", httpDate(2_000))], isHit: false),
      Row(headers: [("Expires", httpDate(1_000)), ("Cache-Control", "max-age=0")], isHit: false),
      Row(headers: [("Expires", "0"), ("Cache-Control", "max-age=1000")], isHit: true),
      Row(headers: [("Age", "900"), ("Cache-Control", "max-age=1000")], isHit: true),
      Row(headers: [("Age", "1000"), ("Cache-Control", "max-age=1000")], isHit: false),
      Row(headers: [("Age", "old"), ("Cache-Control", "max-age=1000")], isHit: true),
      Row(headers: [("Age", "-5"), ("Cache-Control", "max-age=1000")], isHit: true),
      Row(headers: [("Date", httpDate(-100)), ("Cache-Control", "max-age=1000")], isHit: true),
      Row(headers: [("Date", httpDate(-1_100)), ("Cache-Control", "max-age=1000")], isHit: false),
      Row(headers: [("Date", httpDate(9_000)), ("Cache-Control", "max-age=1000")], isHit: true),
      Row(headers: [("Date", "today"), ("Cache-Control", "max-age=1000")], isHit: true),
      Row(headers: [("Pragma", "no-cache")], isHit: false),
      Row(headers: [("Pragma", "no-cache"), ("Cache-Control", "max-age=1000")], isHit: true),
      Row(headers: [("Last-Modified", httpDate(-100_000))], isHit: true),
      Row(headers: [("Last-Modified", httpDate()), ("Date", httpDate())], isHit: false),
      Row(headers: [("Last-Modified", httpDate(5_000))], isHit: false),
      Row(headers: [("Cache-Control", "max-age=1000")], fields: #""ttl":0"#, isHit: false),
      Row(headers: [("Cache-Control", "max-age=0")], fields: #""ttl":1000"#, isHit: true),
      Row(headers: [("Cache-Control", "s-maxage=0")], fields: #""ttl":1000"#, isHit: true),
      Row(headers: [("Cache-Control", "no-cache")], fields: #""ttl":1000"#, isHit: false),
      Row(
        headers: [("Cache-Control", "max-age=0, must-revalidate")], fields: #""ttl":1000"#,
        isHit: false),
      Row(headers: [("Cache-Control", "no-store")], fields: #""ttl":1000"#, isHit: false),
      Row(headers: [("Cache-Control", "private")], fields: #""ttl":1000"#, isHit: false),
      Row(headers: [], fields: #""ttl":0"#, isHit: false),
    ]

  @Test(arguments: HitTier.allCases)
  func `a picture is delivered without a request for as long as its origin grants`(tier: HitTier)
    throws
  {
    let stage = try CoreStage()
    for (number, row) in Self.rows.enumerated() {
      let path = "/\(number)"
      stage.origin.plan(path, .picture(png(), headers: row.headers))
      #expect(try stage.outcome(path, row.fields) == "network", "\(row)")
      try stage.leave(in: tier)
      #expect(try stage.outcome(path) == (row.isHit ? tier.rawValue : "network"), "\(row)")
      #expect(stage.origin.count(path) == (row.isHit ? 1 : 2), "\(row)")
    }
  }

  @Test(arguments: HitTier.allCases)
  func `an answer contains the age of the picture and its remaining lifetime`(tier: HitTier) throws {
    let stage = try CoreStage()
    let month = 30 * 86_400
    let table: [(headers: [(String, String)], age: Int, freshFor: Int)] = [
      ([("Cache-Control", "max-age=1000"), ("Age", "900")], 900, 100),
      ([("Cache-Control", "max-age=1000"), ("Age", "400"), ("Date", httpDate(-500))], 500, 500),
      ([("Expires", httpDate(600)), ("Date", httpDate(-400))], 400, 600), ([], 0, 3_600),
      ([("Last-Modified", httpDate(-month))], 0, month / 10),
      ([("Last-Modified", httpDate(-month * 100))], 0, 7 * 86_400),
    ]
    for (number, row) in table.enumerated() {
      stage.origin.plan("/\(number)", .picture(png(), headers: row.headers))
      try stage.fetch("/\(number)")
      try stage.leave(in: tier)
      let line = try stage.fetch("/\(number)")
      let age = Int(try #require(line["age"]?.integer))
      let freshFor = Int(try #require(line["fresh_for"]?.integer))
      // The test takes its time too.
      #expect((row.age...row.age + 20).contains(age), "\(row) \(line.text)")
      #expect((row.freshFor - 20...row.freshFor + 1).contains(freshFor), "\(row) \(line.text)")
    }
  }

  @Test(arguments: [("0s", "network"), ("1h", "memory")])
  func `the default lifetime applies where the origin is silent`(setting: String, outcome: String)
    throws
  {
    let stage = try CoreStage("HTTP.DefaultFreshness=\(setting)")
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a") == outcome)
  }

  @Test func `a heuristic lifetime is the configured part of the time since the last change`()
    throws
  {
    let stage = try CoreStage("HTTP.Heuristic=0%")
    stage.origin.plan("/a", .picture(png(), headers: [("Last-Modified", httpDate(-100_000))]))
    try stage.fetch("/a")
    #expect(try stage.outcome("/a") == "network")
  }

  @Test func `the time of a transfer counts as age`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan(
      "/a",
      .body(png(), heldAfter: 10, at: gate, headers: [("Cache-Control", "max-age=1")]))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    #expect(gate.arrivals == 1)
    stage.pass(.milliseconds(1_100))
    gate.open()
    let line = try stage.client.receive()
    #expect(line["age"]?.integer ?? 0 >= 1, "\(line.text)")
    #expect(line["fresh_for"]?.integer == 0)
    #expect(try stage.outcome("/a") == "network")
  }

  @Test(arguments: ["no-store", "private", "private, max-age=1000", "no-store, max-age=1000"])
  func `a picture that must not be kept is in no tier and no file`(control: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", control)]))
    let line = try stage.ask("/a")
    #expect(line["path"] == .null)
    #expect(line["deliver_note"]?.string?.contains("forbids") == true, "\(line.text)")
    #expect(try stage.tier(of: "/a") == "none")
    #expect(stage.files.count == 0)
    #expect(try stage.stats("disk", "entries") == 0)
    #expect(try stage.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
  }

  @Test(arguments: HitTier.allCases)
  func `a picture with no-cache is confirmed each time`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "no-cache, max-age=1000")]))
    try stage.fetch("/a")
    for round in 2...4 {
      try stage.leave(in: tier)
      #expect(try stage.outcome("/a") == "revalidated")
      #expect(stage.origin.count("/a") == round)
      #expect(stage.origin.requests("/a").last?.header("if-none-match") == "\"1\"")
    }
  }

  @Test(arguments: HitTier.allCases)
  func `a reload revalidates an immutable picture as well`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .picture(png(), headers: [("Cache-Control", "immutable, max-age=1000")]))
    try stage.fetch("/a")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a", #""cache":"reload""#) == "network")
    #expect(stage.origin.count("/a") == 2)
  }
}
