import ImgdTestSupport
import ImgdWire
import Testing

/// Each mode without a picture, with a fresh and with a stale one, and how often it asks.
struct ModeTableTests {
  struct Row: Sendable {
    let mode: String
    /// The outcome of the fetch; `hit` stands for the tier.
    let nothing: String
    let fresh: String
    let stale: String
    /// The tag of the request to the origin when a picture was there; nil: there was no request.
    let freshTag: String??
    let staleTag: String??
  }

  private static let asked: String?? = .some("\"1\"")
  private static let plain: String?? = .some(nil)

  static let table: [Row] = [
    Row(
      mode: "default", nothing: "network", fresh: "hit", stale: "revalidated", freshTag: nil,
      staleTag: asked),
    Row(
      mode: "reload", nothing: "network", fresh: "network", stale: "network", freshTag: plain,
      staleTag: plain),
    Row(
      mode: "no-cache", nothing: "network", fresh: "revalidated", stale: "revalidated",
      freshTag: asked, staleTag: asked),
    Row(
      mode: "force-cache", nothing: "network", fresh: "hit", stale: "hit stale", freshTag: nil,
      staleTag: nil),
    Row(
      mode: "only-if-cached", nothing: "not_cached", fresh: "hit", stale: "hit stale",
      freshTag: nil, staleTag: nil),
    Row(
      mode: "peek", nothing: "not_cached", fresh: "hit", stale: "hit stale", freshTag: nil,
      staleTag: nil),
    Row(
      mode: "no-store", nothing: "network", fresh: "network", stale: "network", freshTag: plain,
      staleTag: plain),
  ]

  @Test(arguments: HitTier.allCases)
  func `each mode reads the tiers and asks the origin as its row says`(tier: HitTier) throws {
    let stage = try CoreStage()
    for row in Self.table {
      let fields = #""cache":"\#(row.mode)""#
      let paths = ["nothing", "fresh", "stale"].map { "/\(row.mode)/\($0)" }
      for (path, age) in zip(paths, [1_000, 1_000, 0]) {
        let headers = [("Cache-Control", "max-age=\(age)")]
        stage.origin.plan(path, .conditional(png(), tag: "\"1\"", headers: headers))
      }
      for path in paths.dropFirst() { try stage.fetch(path) }
      try stage.leave(in: tier)
      let wanted = [row.nothing, row.fresh, row.stale].map { outcome in
        outcome.hasPrefix("hit") ? tier.rawValue + outcome.dropFirst(3) : outcome
      }
      #expect(try paths.map { try stage.outcome($0, fields) } == wanted, "\(row.mode)")
      let isAsked = row.nothing == "network" ? 1 : 0
      #expect(stage.origin.count(paths[0]) == isAsked, "\(row.mode)")
      #expect(stage.tags(of: paths[1]) == Self.tags(row.freshTag), "\(row.mode)")
      #expect(stage.tags(of: paths[2]) == Self.tags(row.staleTag), "\(row.mode)")
    }
  }

  /// The conditions of the first fetch, which had none, and of the second, if there was one.
  private static func tags(_ second: String??) -> [String?] {
    second.map { [nil, $0] } ?? [nil]
  }

  @Test(arguments: HitTier.allCases)
  func `no-store and store none remove nothing and leave nothing`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)), .picture(png(2_000)))
    stage.origin.plan("/b", .picture(png()))
    try stage.fetch("/a")
    for fields in [#""cache":"no-store""#, #""cache":"reload","store":"none""#] {
      #expect(try stage.ask("/a", fields)["bytes"]?.integer == 2_000)
      #expect(try stage.outcome("/b", fields) == "network")
    }
    try stage.leave(in: tier)
    let line = try stage.ask("/a")
    #expect(line.outcome == tier.rawValue && line["bytes"]?.integer == 1_000)
    #expect(try stage.tier(of: "/b") == "none")
    #expect(stage.files.count == 1)
  }
}

extension CoreStage {
  fileprivate func tags(of path: String) -> [String?] {
    origin.requests(path).map { $0.header("if-none-match") }
  }
}
