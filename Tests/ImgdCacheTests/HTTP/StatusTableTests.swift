import ImgdCache
import Testing

/// Which status is kept with which words, and for how long (RFC 9111, 3 and 4.2).
///
/// Every answer arrives at Sun, 06 Nov 1994 08:49:37 GMT, and has a guess of an hour where its
/// origin says nothing.
struct StatusTableTests {
  private static let now: Int64 = 784_111_777

  /// Statuses that RFC 9110 lets a cache keep without a word (15.1).
  private static let byDefault = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
  /// Others whose meaning is known.
  private static let others = [302, 303, 307, 400, 403, 500, 502, 503, 504]
  private static let unknown = [299, 499, 599]
  /// Those of parts, of confirmations and of what comes before an answer.
  private static let never = [100, 103, 206, 304]

  /// The seconds that an answer stays fresh, for each kind of status; nil: it must not be stored.
  struct Kept: Sendable {
    let byDefault: Int64?
    let other: Int64?
    let unknown: Int64?

    init(_ byDefault: Int64?, _ other: Int64?, _ unknown: Int64?) {
      (self.byDefault, self.other, self.unknown) = (byDefault, other, unknown)
    }

    static let not = Kept(nil, nil, nil)

    static func all(_ seconds: Int64) -> Kept { Kept(seconds, seconds, seconds) }
  }

  struct Row: Sendable {
    let headers: [(name: String, value: String)]
    let shared: Kept
    let own: Kept

    /// `own` is what a cache of one user does, where it is something else.
    init(_ headers: [(name: String, value: String)], _ shared: Kept, own: Kept? = nil) {
      (self.headers, self.shared, self.own) = (headers, shared, own ?? shared)
    }

    init(_ control: String, _ shared: Kept, own: Kept? = nil) {
      self.init([("cache-control", control)], shared, own: own)
    }

    init(
      _ control: String, _ more: [(name: String, value: String)], _ shared: Kept, own: Kept? = nil
    ) {
      self.init([("cache-control", control)] + more, shared, own: own)
    }
  }

  private static let changed = ("last-modified", "Sun, 06 Nov 1994 07:49:37 GMT")
  private static let ends = ("expires", "Sun, 06 Nov 1994 08:51:37 GMT")

  static let rows = [
    Row([], Kept(3600, nil, nil)),
    Row([changed], Kept(360, nil, nil)),
    Row([ends], .all(120)),
    Row([("expires", "0")], .all(0)),
    Row([changed, ends], .all(120)),
    Row("max-age=60", .all(60)),
    Row("max-age=0", .all(0)),
    Row("max-age=x", .all(0)),
    Row("s-maxage=60", .all(60)),
    Row("s-maxage=60, max-age=5", .all(60), own: .all(5)),
    Row("s-maxage=60", [ends], .all(60), own: .all(120)),
    Row("no-store", .not),
    Row("no-store, max-age=60", .not),
    Row("no-store, public, s-maxage=60", [ends], .not),
    Row("private", .not, own: .all(3600)),
    Row("private", [changed], .not, own: .all(360)),
    Row("private, max-age=60", .not, own: .all(60)),
    Row("private=\"x-user\", max-age=60", .not, own: .all(60)),
    Row("private, public, s-maxage=60", .not, own: .all(60)),
    Row("public", .all(3600)),
    Row("public", [changed], .all(360)),
    Row("public, max-age=60", .all(60)),
    Row("no-cache", Kept(3600, nil, nil)),
    Row("no-cache, max-age=60", .all(60)),
    Row("must-revalidate", Kept(3600, nil, nil)),
    Row("immutable, stale-while-revalidate=9, stale-if-error=9", Kept(3600, nil, nil)),
    Row("must-understand", Kept(3600, nil, nil)),
    Row("must-understand, max-age=60", Kept(60, 60, nil)),
    Row("must-understand, no-store", Kept(3600, nil, nil)),
    Row("must-understand, no-store, max-age=60", Kept(60, 60, nil)),
    Row("must-understand, no-store, public", Kept(3600, 3600, nil)),
    Row("must-understand, no-store", [ends], Kept(120, 120, nil)),
    Row("must-understand, no-store, private", .not, own: Kept(3600, 3600, nil)),
    Row("must-understand, no-store, private, max-age=60", .not, own: Kept(60, 60, nil)),
    Row("max-age=60", [("vary", "*")], .not),
    Row("max-age=60", [("vary", "accept")], .all(60)),
    Row("max-age=60", [("age", "20")], .all(40)),
    Row("x-unknown", Kept(3600, nil, nil)),
  ]

  @Test(arguments: rows.indices, [false, true])
  func `each kind of status is kept with the words of its row, and as long as they say`(
    index: Int, isScoped: Bool
  ) {
    let row = Self.rows[index]
    let kept = isScoped ? row.own : row.shared
    for (statuses, left) in [
      (Self.byDefault, kept.byDefault), (Self.others, kept.other), (Self.unknown, kept.unknown),
      (Self.never, nil),
    ] {
      for status in statuses {
        let answer = Freshness(
          status: status, headers: row.headers, terms: FreshnessTerms(isScoped: isScoped),
          receivedAt: Self.now)
        #expect((answer.refusal == nil) == (left != nil), "\(status), \(row.headers)")
        guard let left else { continue }
        #expect(answer.remaining == .seconds(left), "\(status), \(row.headers)")
      }
    }
  }
}
