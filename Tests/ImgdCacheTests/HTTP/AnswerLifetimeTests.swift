import ImgdSystem
import Testing

@testable import ImgdCache

/// How long an answer without a picture is fresh.
struct AnswerLifetimeTests {
  struct Row: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let rule: Int64
    /// Nil: it may not be stored.
    let lifetime: Int64?

    init(
      _ status: Int, _ headers: [(name: String, value: String)], rule: Int64 = 60,
      _ lifetime: Int64?
    ) {
      (self.status, self.headers, self.rule, self.lifetime) = (status, headers, rule, lifetime)
    }
  }

  private static func control(_ value: String) -> [(name: String, value: String)] {
    [("cache-control", value)]
  }

  /// At 1000 seconds since 1970; a guess is a tenth of the 1000 seconds since the last change.
  private static let changed = [(name: "last-modified", value: "Thu, 01 Jan 1970 00:00:00 GMT")]

  static let rows: [Row] = [missing, failed, kept, named, unknown].flatMap(\.self)

  private static let missing: [Row] = [404, 410].flatMap { status -> [Row] in
    [
      Row(status, [], 60), Row(status, [], rule: 0, 0), Row(status, changed, 60),
      Row(status, control("max-age=5"), 5), Row(status, control("max-age=31536000"), 31_536_000),
      Row(status, control("max-age=9"), rule: 0, 9), Row(status, control("max-age=0"), 0),
      Row(status, control("no-store"), nil), Row(status, control("private, max-age=60"), nil),
      Row(status, [("vary", "*")], nil), Row(status, control("max-age=60") + [("age", "20")], 40),
      Row(status, expiring, 30), Row(status, [("expires", "0")], 0),
      Row(status, control("must-understand, no-store, max-age=7"), 7),
    ]
  }

  private static let failed: [Row] = [405, 414, 501].flatMap { status -> [Row] in
    [
      Row(status, [], 60), Row(status, changed, 100), Row(status, control("max-age=5"), 5),
      Row(status, control("no-store"), nil),
    ]
  }

  private static let kept: [Row] = [204, 300, 301, 308].flatMap { status -> [Row] in
    [
      Row(status, [], 3_600), Row(status, [], rule: 0, 3_600), Row(status, changed, 100),
      Row(status, control("max-age=5"), 5), Row(status, control("private"), nil),
    ]
  }

  private static let named: [Row] = [
    302, 303, 307, 400, 403, 421, 429, 451, 499, 500, 502, 503, 504, 599,
  ].flatMap { status -> [Row] in
    [
      Row(status, [], nil), Row(status, changed, nil), Row(status, control("max-age=5"), 5),
      Row(status, control("s-maxage=7, max-age=5"), 7), Row(status, control("no-store"), nil),
      Row(status, expiring, 30),
    ]
  }

  private static let unknown: [Row] = [
    Row(206, control("max-age=5"), nil), Row(304, control("max-age=5"), nil),
    Row(499, control("must-understand, max-age=5"), nil),
    Row(599, control("must-understand, max-age=5"), nil),
  ]

  private static let expiring = [(name: "expires", value: "Thu, 01 Jan 1970 00:17:10 GMT")]

  @Test(arguments: rows.indices)
  func `it depends on the status, the origin's word and the rule`(index: Int) {
    let row = Self.rows[index]
    let freshness = Freshness(
      status: row.status, headers: row.headers,
      terms: FreshnessTerms(
        silence: AnswerLifetime.ofSilence(
          status: row.status, headers: row.headers, rule: .seconds(row.rule))),
      receivedAt: 1_000)
    let lifetime = freshness.refusal == nil ? freshness.remaining : nil
    #expect(lifetime == row.lifetime.map { .seconds($0) }, "\(row.status) \(row.headers)")
  }
}
