import ImgdCache
import Testing

/// An answer's directives for the time after its lifetime, each row with its section.
struct StaleGrantTests {
  struct Row: Sendable {
    let section: String
    let control: String
    var isScoped = false
    var ttl: Int64?
    /// Whether it needs confirmation, and whether it does once it is stale.
    let confirms: (always: Bool, stale: Bool)
    let meanwhile: Int64
    let onError: Int64?

    init(
      _ section: String, _ control: String, isScoped: Bool = false, ttl: Int64? = nil,
      confirms: (always: Bool, stale: Bool) = (false, false), meanwhile: Int64 = 0,
      onError: Int64? = nil
    ) {
      (self.section, self.control, self.isScoped, self.ttl) = (section, control, isScoped, ttl)
      (self.confirms, self.meanwhile, self.onError) = (confirms, meanwhile, onError)
    }
  }

  private static let both = "stale-while-revalidate=30, stale-if-error=90"

  static let rows = [
    Row("4.2.4", "max-age=1"),
    Row("5861 3", "max-age=1, stale-while-revalidate=30", meanwhile: 30),
    Row("5861 4", "max-age=1, stale-if-error=90", onError: 90),
    Row("5861 4", "stale-if-error=0", onError: 0),
    Row("5861 3", "stale-while-revalidate", meanwhile: 0),
    Row("5861 3", "stale-while-revalidate=x, stale-if-error=x", onError: 0),
    Row("5861 3", "stale-while-revalidate=30, stale-while-revalidate=5", meanwhile: 5),
    Row("5861 4", "STALE-IF-ERROR=\"90\"", onError: 90),
    Row("1.2.2", "stale-while-revalidate=99999999999999", meanwhile: 1 << 31),
    Row("5.2.2.2", "must-revalidate", confirms: (false, true), onError: 0),
    Row("5.2.2.2", "must-revalidate, \(both)", confirms: (false, true), onError: 0),
    Row("5.2.2.8", "proxy-revalidate, \(both)", confirms: (false, true), onError: 0),
    Row("5.2.2.10", "s-maxage=1, \(both)", confirms: (false, true), onError: 0),
    Row("5.2.2.4", "no-cache, \(both)", confirms: (true, false), onError: 0),
    Row("5.2.2.4", "no-cache=\"set-cookie\", \(both)", confirms: (true, false), onError: 0),
    Row("5.2.2.4", "NO-CACHE", confirms: (true, false), onError: 0),
    Row("5.2.2.8", "proxy-revalidate, \(both)", isScoped: true, meanwhile: 30, onError: 90),
    Row("5.2.2.10", "s-maxage=1, \(both)", isScoped: true, meanwhile: 30, onError: 90),
    Row("5.2.2.2", "must-revalidate, \(both)", isScoped: true, confirms: (false, true), onError: 0),
    Row("5.2.3", "stale-if-errors=9, x-stale-while-revalidate=9"),
    Row("ttl", "no-cache, \(both)", ttl: 7, confirms: (true, false), onError: 0),
    Row("ttl", "must-revalidate, \(both)", ttl: 7, confirms: (false, true), onError: 0),
  ]

  @Test(arguments: rows.indices)
  func `a directive decides how long a stale answer may be used`(index: Int) {
    let row = Self.rows[index]
    let answer = Freshness(
      status: 200, headers: [("cache-control", row.control)],
      terms: FreshnessTerms(ttl: row.ttl.map { .seconds($0) }, isScoped: row.isScoped),
      receivedAt: 0)
    #expect(answer.needsConfirmation == row.confirms.always, "\(row.section): \(row.control)")
    #expect(answer.mustRevalidate == row.confirms.stale, "\(row.section): \(row.control)")
    #expect(
      answer.staleWhileRevalidate == .seconds(row.meanwhile), "\(row.section): \(row.control)")
    #expect(
      answer.staleIfError == row.onError.map { .seconds($0) }, "\(row.section): \(row.control)")
  }

  @Test(
    arguments: [
      ([("pragma", "no-cache")], true), ([("pragma", "No-Cache, x")], true),
      ([("pragma", "x=1, no-cache")], true), ([("pragma", "x")], false),
      ([("pragma", "no-cache"), ("cache-control", "max-age=1")], false),
      ([("pragma", "no-cache"), ("cache-control", "")], false),
      ([("pragma", "x=\"no-cache\"")], false),
    ] as [([(name: String, value: String)], Bool)])
  func `Pragma counts where Cache-Control is missing`(
    headers: [(name: String, value: String)], confirms: Bool
  ) {
    let answer = Freshness(status: 200, headers: headers, receivedAt: 0)
    #expect(answer.needsConfirmation == confirms)
  }

  @Test func `a stored judgement is restored unchanged`() {
    let made = Freshness(
      status: 200,
      headers: [
        ("cache-control", "max-age=9, immutable, \(Self.both)"), ("age", "2"), ("vary", "accept"),
      ],
      receivedAt: 0)
    let restored = Freshness(
      initialAge: .seconds(2), remaining: .seconds(7), needsConfirmation: false,
      mustRevalidate: false, isImmutable: true,
      staleWhileRevalidate: .seconds(30), staleIfError: .seconds(90))
    #expect(restored == made)
    #expect(restored.refusal == nil)
  }
}
