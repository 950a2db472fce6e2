import ImgdTestSupport
import ImgdWire
import Testing

/// Answers that depend on headers of the request.
struct VaryTests {
  /// The origin's Vary, the headers of the first and of the second request, and whether they share
  /// the answer.
  static let table: [(vary: String, first: String, second: String, isShared: Bool)] = [
    ("Accept-Language", #""Accept-Language":"de""#, #""Accept-Language":"de""#, true),
    ("Accept-Language", #""Accept-Language":"de""#, #""accept-language":" de ""#, true),
    ("accept-language", #""Accept-Language":"de, fr""#, #""Accept-Language":"de,fr""#, true),
    ("Accept-Language", #""Accept-Language":"de""#, #""Accept-Language":"fr""#, false),
    ("Accept-Language", #""Accept-Language":"de""#, "", false),
    ("Accept-Language", "", #""Accept-Language":"de""#, false),
    ("Accept-Language", "", "", true), ("Accept-Language", #""DNT":"1""#, "", true),
    ("Accept-Language", #""X-Other":"1""#, "", false), ("DNT", #""DNT":"1""#, "", false),
    ("X-Nobody, X-Never", "", "", true), ("X-Nobody", #""X-Other":"1""#, #""X-Other":"2""#, false),
    ("X-Nobody", #""DNT":"1""#, #""DNT":"0""#, true),
    ("Accept-Encoding", "", "", true), ("Accept-Encoding, Origin", "", #""DNT":"2""#, true),
    ("Accept", "", "", true), ("Accept", "", #""Accept":"image/webp""#, false),
    ("User-Agent", "", "", true), ("", "", "", true), (",,", "", "", true),
    ("*", "", "", false), ("Accept-Encoding, *", "", "", false),
  ]

  @Test(arguments: HitTier.allCases)
  func `an answer is shared by requests that would have got the same`(tier: HitTier) throws {
    let stage = try CoreStage()
    for (number, row) in Self.table.enumerated() {
      let path = "/\(number)"
      stage.origin.plan(
        path,
        .picture(png(), headers: [("Vary", row.vary), ("Cache-Control", "max-age=1000")]))
      #expect(try stage.outcome(path, #""headers":{\#(row.first)}"#) == "network", "\(row)")
      try stage.leave(in: tier)
      let outcome = try stage.outcome(path, #""headers":{\#(row.second)}"#)
      #expect(outcome == (row.isShared ? tier.rawValue : "network"), "\(row)")
      #expect(stage.origin.count(path) == (row.isShared ? 1 : 2), "\(row)")
    }
  }

  @Test func `an answer that varies on everything is in no tier and no file`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(), headers: [("Vary", "*")]))
    #expect(try stage.ask("/a")["path"] == .null)
    #expect(try stage.tier(of: "/a") == "none")
    #expect(stage.files.count == 0)
  }

  /// The stored picture of one language must not be confirmed by an answer in another.
  @Test(arguments: HitTier.allCases)
  func `another variant is requested without the condition of the stored one`(
    tier: HitTier
  ) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [("Vary", "Accept-Language")]))
    #expect(try stage.outcome("/a", #""headers":{"Accept-Language":"de"}"#) == "network")
    try stage.leave(in: tier)
    #expect(try stage.outcome("/a", #""headers":{"Accept-Language":"fr"}"#) == "network")
    #expect(stage.origin.requests("/a").last?.header("if-none-match") == nil)
  }
}
