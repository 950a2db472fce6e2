import ImgdCache
import Testing

/// Freshness by RFC 9111.
struct FreshnessTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT.
  private let now: Int64 = 784_111_777
  private static let thisMoment = "Sun, 06 Nov 1994 08:49:37 GMT"

  private func judge(
    _ headers: HeaderList, status: Int = 200, ttl: Duration? = nil, isScoped: Bool = false,
    rules: FreshnessRules = FreshnessRules(), delay: Duration = .zero
  ) -> Freshness {
    Freshness(
      status: status, headers: headers, rules: rules,
      terms: FreshnessTerms(ttl: ttl, isScoped: isScoped),
      receivedAt: now, delay: delay)
  }

  struct Case: Sendable {
    let name: String
    let headers: [(name: String, value: String)]
    let remaining: Int
    init(_ name: String, _ headers: [(name: String, value: String)], _ remaining: Int) {
      self.name = name
      self.headers = headers
      self.remaining = remaining
    }
  }

  private static let cases = [
    Case("nothing said", [], 3600),
    Case("max-age", [("cache-control", "max-age=60")], 60),
    Case("s-maxage wins", [("cache-control", "max-age=60, s-maxage=5")], 5),
    Case("max-age beats Expires", [("cache-control", "max-age=60"), ("expires", "0")], 60),
    Case("Expires", [("expires", "Sun, 06 Nov 1994 09:49:37 GMT")], 3600),
    Case(
      "Expires is counted from Date",
      [("expires", "Sun, 06 Nov 1994 09:49:37 GMT"), ("date", "Sun, 06 Nov 1994 08:39:37 GMT")],
      3600),
    Case("Expires in the past", [("expires", "Sun, 06 Nov 1994 07:49:37 GMT")], 0),
    Case("Expires that is no date", [("expires", "0")], 0),
    Case("the earliest Expires", [("expires", Self.thisMoment), ("expires", "x")], 0),
    Case("Expires beyond reason", [("expires", "Fri, 31 Dec 9999 23:59:59 GMT")], 1 << 31),
    Case("Age is used up", [("cache-control", "max-age=60"), ("age", "50")], 10),
    Case("more Age than lifetime", [("cache-control", "max-age=60"), ("age", "100")], -40),
    Case("the first Age", [("cache-control", "max-age=60"), ("age", "5"), ("age", "6")], 55),
    Case("a bad Age", [("cache-control", "max-age=60"), ("age", "x")], 60),
    Case("a negative Age", [("cache-control", "max-age=60"), ("age", "-5")], 60),
    Case(
      "apparent age", [("cache-control", "max-age=60"), ("date", "Sun, 06 Nov 1994 08:49:07 GMT")],
      30),
    Case(
      "an origin whose clock is ahead",
      [("cache-control", "max-age=60"), ("date", "Sun, 06 Nov 1994 18:00:00 GMT")], 60),
    Case("a tenth of the age", [("last-modified", "Sun, 06 Nov 1994 08:48:37 GMT")], 6),
    Case("at most a week", [("last-modified", "Sun, 06 Nov 1988 08:48:37 GMT")], 604_800),
    Case("changed just now", [("last-modified", Self.thisMoment)], 0),
    Case("changed in the future", [("last-modified", "Sun, 06 Nov 1996 08:49:37 GMT")], 0),
    Case("Last-Modified that is no date", [("last-modified", "yesterday")], 3600),
    Case("a malformed max-age", [("cache-control", "max-age=x")], 0),
  ]

  @Test(arguments: cases.indices)
  func `the remaining lifetime follows from the headers`(index: Int) {
    let given = Self.cases[index]
    #expect(judge(given.headers).remaining == .seconds(given.remaining), "\(given.name)")
    #expect(judge(given.headers).refusal == nil, "\(given.name)")
  }

  @Test func `the time of the exchange is added to the Age that a cache has sent`() {
    let answer = judge([("cache-control", "max-age=60"), ("age", "10")], delay: .seconds(5))
    #expect(answer.initialAge == .seconds(15))
    #expect(answer.remaining == .seconds(45))
    #expect(judge([], delay: .seconds(-5)).initialAge == .zero)
  }

  @Test func `the defaults for silent origins can be changed`() {
    let letter = FreshnessRules(defaultLifetime: .zero, heuristicPercent: 50)
    #expect(judge([], rules: letter).remaining == .zero)
    let modified: HeaderList = [("last-modified", "Sun, 06 Nov 1994 08:48:37 GMT")]
    #expect(judge(modified, rules: letter).remaining == .seconds(30))
    let none = FreshnessRules(heuristicPercent: 0)
    #expect(judge(modified, rules: none).remaining == .zero)
  }

  @Test func `a request's own lifetime replaces the origin's`() {
    let headers: HeaderList = [("cache-control", "max-age=60"), ("age", "50")]
    let answer = judge(headers, ttl: .seconds(7))
    #expect(answer.remaining == .seconds(7))
    #expect(answer.initialAge == .seconds(50))
    #expect(judge([("cache-control", "no-store")], ttl: .seconds(7)).refusal == .noStore)
  }

  @Test func `a request's own lifetime lifts nothing that the origin forbids, nor a bound`() {
    #expect(judge([("cache-control", "no-cache")], ttl: .seconds(7)).needsConfirmation)
    for control in ["must-revalidate", "proxy-revalidate"] {
      let headers: HeaderList = [("cache-control", "max-age=60, \(control)")]
      #expect(judge(headers, ttl: .seconds(70)).remaining == .seconds(60))
      #expect(judge(headers, ttl: .seconds(7)).remaining == .seconds(7))
    }
    let rules = FreshnessRules(longestTTL: .seconds(100))
    #expect(judge([], ttl: .seconds(101), rules: rules).remaining == .seconds(100))
    #expect(judge([], ttl: .seconds(99), rules: rules).remaining == .seconds(99))
  }

  @Test func `a response that must not be stored is recognised`() {
    #expect(judge([("cache-control", "no-store, max-age=60")]).refusal == .noStore)
    #expect(judge([("cache-control", "private")]).refusal == .noStore)
    #expect(judge([("cache-control", "private")], isScoped: true).refusal == nil)
    #expect(judge([("vary", "*")]).refusal == .varies)
    #expect(judge([("vary", "accept"), ("vary", "a, *")]).refusal == .varies)
    #expect(judge([("cache-control", "no-cache")]).refusal == nil)
  }

  @Test(arguments: [
    (200, true, true), (203, true, true), (206, false, false), (304, false, false),
    (100, false, false), (404, true, true), (302, false, true), (500, false, true),
    (403, false, true), (410, true, true),
  ])
  func `a status decides whether the response may be stored`(
    status: Int, byDefault: Bool, whenTold: Bool
  ) {
    #expect((judge([], status: status).refusal == nil) == byDefault)
    let told = judge([("cache-control", "max-age=60")], status: status)
    #expect((told.refusal == nil) == whenTold)
  }

  @Test func `the flags for later uses are read`() {
    #expect(judge([("cache-control", "no-cache")]).needsConfirmation)
    #expect(judge([("pragma", "no-cache")]).needsConfirmation)
    #expect(judge([("cache-control", "must-revalidate")]).mustRevalidate)
    #expect(judge([("cache-control", "s-maxage=1")]).mustRevalidate)
    #expect(!judge([("cache-control", "max-age=1")]).mustRevalidate)
    #expect(judge([("cache-control", "immutable")]).isImmutable)
  }

  @Test func `Vary is a list of names, each once, in lower case`() {
    let names = varyingNames([("vary", "Accept-Encoding, Accept"), ("vary", "accept,,X-Y")])
    #expect(names == ["accept", "accept-encoding", "x-y"])
    #expect(varyingNames([("vary", " , ")]).isEmpty)
  }
}
