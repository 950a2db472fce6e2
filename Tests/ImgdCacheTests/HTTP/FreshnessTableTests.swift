import ImgdCache
import Testing

/// Rows in the order of RFC 9111, each with the section from whose wording it is taken.
///
/// Every answer arrives at Sun, 06 Nov 1994 08:49:37 GMT, and has a guess of an hour where its
/// origin says nothing.
struct FreshnessTableTests {
  private static let now: Int64 = 784_111_777
  private static let inAnHour = "Sun, 06 Nov 1994 09:49:37 GMT"
  private static let rightNow = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let anHourAgo = "Sun, 06 Nov 1994 07:49:37 GMT"

  struct Row: Sendable {
    let section: String
    let name: String
    let headers: [(name: String, value: String)]
    var status = 200
    var isScoped = false
    var ttl: Int64?
    /// Seconds left; nil for an answer that must not be stored.
    let left: Int64?

    init(
      _ section: String, _ name: String, _ headers: [(name: String, value: String)] = [],
      status: Int = 200, isScoped: Bool = false, ttl: Int64? = nil, _ left: Int64?
    ) {
      (self.section, self.name, self.headers) = (section, name, headers)
      (self.status, self.isScoped, self.ttl, self.left) = (status, isScoped, ttl, left)
    }
  }

  private static func control(_ value: String) -> [(name: String, value: String)] {
    [("cache-control", value)]
  }

  private static let storing = [
    Row("3", "a final status without a word", [], 3600),
    Row("3", "no final status", control("max-age=60"), status: 100, nil),
    Row("3", "no final status, early hints", control("max-age=60"), status: 103, nil),
    Row("3", "no-store", control("no-store"), nil),
    Row("3", "no-store beside all that allows", control("public, max-age=60, no-store"), nil),
    Row("3", "private in a shared cache", control("private, max-age=60"), nil),
    Row("3", "private in a cache of one's own", control("private, max-age=60"), isScoped: true, 60),
    Row("3", "no-store in a cache of one's own", control("no-store"), isScoped: true, nil),
    Row("3", "public allows any status", control("public"), status: 302, 3600),
    Row(
      "3", "private allows any, where allowed", control("private"), status: 302, isScoped: true,
      3600),
    Row("3", "Expires allows any status", [("expires", inAnHour)], status: 302, 3600),
    Row("3", "max-age allows any status", control("max-age=60"), status: 500, 60),
    Row("3", "s-maxage allows any status", control("s-maxage=60"), status: 403, 60),
    Row("3", "nothing allows 302", status: 302, nil),
    Row("3", "must-understand with a known status", control("must-understand, max-age=9"), 9),
    Row(
      "3", "must-understand with an unknown one", control("must-understand, max-age=9"),
      status: 299, nil),
    Row("3.3", "a part is not the whole", control("max-age=60"), status: 206, nil),
    Row(
      "3.4", "a part of one's own neither", control("max-age=60"), status: 206, isScoped: true, nil),
    Row("3.5", "with credentials, without a word", isScoped: true, 3600),
    Row("3.5", "with credentials and public", control("public, max-age=60"), isScoped: true, 60),
    Row(
      "3.5", "with credentials and must-revalidate", control("must-revalidate"), isScoped: true,
      3600),
    Row("3.5", "with credentials and s-maxage", control("s-maxage=60"), isScoped: true, 60),
    Row("4.1", "Vary with *", [("vary", "*"), ("cache-control", "max-age=60")], nil),
    Row("4.1", "Vary with * among others", [("vary", "accept"), ("vary", "cookie , *")], nil),
    Row("4.1", "Vary with names", [("vary", "accept, cookie")], 3600),
    Row("4.3.3", "304 is no answer of its own", control("max-age=60"), status: 304, nil),
  ]

  private static let statuses: [Row] =
    [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].map {
      Row("9110 15.1", "kept by default: \($0)", status: $0, 3600)
    }
    + [201, 202, 205, 206, 302, 303, 307, 400, 401, 403, 429, 500, 502, 503, 504].map {
      Row("9110 15.1", "not kept by default: \($0)", status: $0, nil)
    }

  private static let lifetimes = [
    Row("4.2.1", "s-maxage before max-age", control("max-age=60, s-maxage=5"), 5),
    Row("4.2.1", "s-maxage before max-age in any order", control("s-maxage=60, max-age=5"), 60),
    Row("4.2.1", "s-maxage before Expires", [("expires", inAnHour)] + control("s-maxage=5"), 5),
    Row("4.2.1", "max-age before Expires", [("expires", inAnHour)] + control("max-age=5"), 5),
    Row(
      "4.2.1", "in one's own cache s-maxage is not meant", control("s-maxage=60, max-age=5"),
      isScoped: true, 5),
    Row(
      "4.2.1", "nor before Expires", control("s-maxage=60") + [("expires", "0")], isScoped: true, 0),
    Row("4.2.1", "Expires less Date", [("expires", inAnHour), ("date", rightNow)], 3600),
    Row(
      "4.2.1", "Expires less Date, by a clock an hour behind",
      [("expires", rightNow), ("date", anHourAgo)], 0),
    Row(
      "4.2.1", "Expires less Date, by a clock an hour ahead",
      [("expires", inAnHour), ("date", inAnHour)], 0),
    Row("4.2.1", "two max-age, the first smaller", control("max-age=5, max-age=10"), 5),
    Row("4.2.1", "two max-age, the second smaller", control("max-age=10, max-age=5"), 5),
    Row("4.2.1", "two max-age in two fields", control("max-age=10") + control("max-age=5"), 5),
    Row("4.2.1", "two Expires", [("expires", inAnHour), ("expires", rightNow)], 0),
    Row("4.2.1", "the same Expires twice", [("expires", inAnHour), ("expires", inAnHour)], 0),
    Row("4.2.1", "the same in one line", [("expires", "\(inAnHour), \(inAnHour)")], 0),
    Row("4.2.1", "max-age and max-age=0", control("max-age=3600, max-age=0"), 0),
    Row(
      "4.2.1", "max-age beside an Expires that is none", [("expires", "0")] + control("max-age=5"),
      5),
    Row(
      "4.2.1", "max-age=0 beside an Expires to come",
      [("expires", inAnHour)] + control("max-age=0"), 0),
    Row("4.2.1", "s-maxage beside max-age=0", control("max-age=0, s-maxage=60"), 60),
    Row(
      "4.2.1", "s-maxage beside an Expires in the past",
      [("expires", anHourAgo)] + control("s-maxage=60"), 60),
    Row("4.2.1", "a max-age that is no number is stale", control("max-age=soon"), 0),
    Row("4.2.1", "a max-age without a number is stale", control("max-age"), 0),
    Row("4.2.1", "a fraction is no number", control("max-age=1.5"), 0),
    Row("4.2.1", "a bad max-age beside a good one", control("max-age=60, max-age=x"), 0),
    Row("4.2.1", "a bad s-maxage beside a good max-age", control("max-age=60, s-maxage=x"), 0),
    Row("4.2.2", "a tenth of the time since the last change", [("last-modified", anHourAgo)], 360),
    Row(
      "4.2.2", "the same by the origin's clock",
      [("last-modified", anHourAgo), ("date", inAnHour)], 720),
    Row(
      "4.2.2", "no guess beside max-age", [("last-modified", anHourAgo)] + control("max-age=5"), 5),
    Row("4.2.2", "no guess beside Expires", [("last-modified", anHourAgo), ("expires", "0")], 0),
    Row(
      "4.2.2", "no guess for a status without a default", [("last-modified", anHourAgo)],
      status: 403, nil),
    Row(
      "4.2.2", "a guess where public allows it", [("last-modified", anHourAgo)] + control("public"),
      status: 403, 360),
    Row(
      "4.2.2", "a change at a time that is none",
      [("last-modified", "Sun, 06 Nov 1994 07:49:37 UTC")], 3600),
    Row(
      "4.2.2", "two times of change", [("last-modified", anHourAgo), ("last-modified", anHourAgo)],
      3600),
    Row(
      "4.2.2", "no guess where no-cache is all that is said", control("no-cache"), status: 403, nil),
    Row("4.2.2", "changed after it was sent", [("last-modified", inAnHour)], 0),
  ]

  private static let ages = [
    Row("4.2.3", "Age is used up", control("max-age=60") + [("age", "20")], 40),
    Row("4.2.3", "apparent age is used up", control("max-age=7200") + [("date", anHourAgo)], 3600),
    Row(
      "4.2.3", "the larger of both: Age",
      control("max-age=7200") + [("date", anHourAgo), ("age", "4000")], 3200),
    Row(
      "4.2.3", "the larger of both: apparent",
      control("max-age=7200") + [("date", anHourAgo), ("age", "10")], 3600),
    Row(
      "4.2.3", "a Date in the future makes no age", control("max-age=60") + [("date", inAnHour)], 60
    ),
    Row(
      "4.2.3", "a Date that is none counts as now", control("max-age=60") + [("date", "today")], 60),
    Row(
      "4.2.3", "nor does a Date in another zone",
      control("max-age=60") + [("date", "Sun, 06 Nov 1994 07:49:37 UTC")], 60),
    Row(
      "4.2.3", "two Dates are none",
      control("max-age=60") + [("date", anHourAgo), ("date", anHourAgo)], 60),
    Row(
      "4.2.3", "Expires where Date is none", [("expires", inAnHour), ("date", "foo")], 3600),
    Row(
      "4.2.3", "Age beyond Expires less Date, by a clock behind",
      [("date", anHourAgo), ("expires", rightNow), ("age", "3601")], -1),
    Row(
      "4.2.3", "Age beyond Expires less Date, by a clock ahead",
      [("date", rightNow), ("expires", inAnHour), ("age", "5400")], -1800),
    Row("4.2.3", "no Date counts as now", [("expires", inAnHour)], 3600),
    Row(
      "5.1", "of several ages the first", control("max-age=60") + [("age", "5"), ("age", "50")], 55),
    Row("5.1", "of a list of ages the first", control("max-age=60") + [("age", "5, 50")], 55),
    Row("5.1", "an age that is no number is none", control("max-age=60") + [("age", "old")], 60),
    Row(
      "5.1", "a list that begins with none is none", control("max-age=60") + [("age", "old, 50")],
      60),
    Row("5.1", "a negative age is none", control("max-age=60") + [("age", "-7")], 60),
    Row(
      "5.1", "an age below all numbers", control("max-age=60") + [("age", "-99999999999999999999")],
      60),
    Row("5.1", "an age with a parameter is none", control("max-age=60") + [("age", "7;x=1")], 60),
    Row("5.1", "an age in quotes is none", control("max-age=60") + [("age", "\"7\"")], 60),
    Row("5.1", "an empty age is none", control("max-age=60") + [("age", "")], 60),
    Row(
      "5.1", "a list that begins with nothing is none", control("max-age=60") + [("age", ", 7")], 60
    ),
    Row("5.1", "an age with zeros before it", control("max-age=60") + [("age", "007")], 53),
    Row(
      "5.1", "a second age does not lower the first", control("max-age=60") + [("age", "7, 0")], 53),
    Row("5.1", "a list in two lines", control("max-age=60") + [("age", "x"), ("age", "7")], 60),
    Row("5.1", "a fraction is none", control("max-age=60") + [("age", "7.0")], 60),
    Row(
      "1.2.2", "an age beyond all numbers",
      control("max-age=60") + [("age", "99999999999999999999")], 60 - (1 << 31)),
    Row(
      "1.2.2", "an age of 2^31 - 1", control("max-age=3600") + [("age", "2147483647")],
      3600 + 1 - (1 << 31)),
    Row(
      "1.2.2", "an age of 2^31", control("max-age=3600") + [("age", "2147483648")], 3600 - (1 << 31)
    ),
    Row(
      "1.2.2", "an age of 2^31 + 1", control("max-age=3600") + [("age", "2147483649")],
      3600 - (1 << 31)),
    Row(
      "1.2.2", "an age beyond a lifetime beyond all numbers",
      control("max-age=9999999999") + [("age", "9999999999")], 0),
    Row("1.2.2", "a lifetime beyond all numbers", control("max-age=99999999999999999999"), 1 << 31),
    Row("1.2.2", "the largest number", control("max-age=2147483648"), 1 << 31),
  ]

  private static let directives = [
    Row("5.2", "names in any case", control("MAX-AGE=60"), 60),
    Row("5.2", "an argument in quotes", control("max-age=\"60\""), 60),
    Row("5.2", "blanks around a directive", control("  max-age=60 , public"), 60),
    Row("5.2", "empty members of the list", control(",, max-age=60,,"), 60),
    Row("5.2.3", "an unknown directive", control("frobnicate, max-age=60"), 60),
    Row(
      "5.2.3", "an unknown one that holds a known", control("x=\"no-store, private\", max-age=60"),
      60),
    Row("5.2.3", "only unknown ones", control("frobnicate=7"), 3600),
    Row("5.2.3", "names that only begin so", control("no-store-please, privately, max-age=60"), 60),
    Row("5.2.2.1", "max-age=0 is stored and stale", control("max-age=0"), 0),
    Row("5.2.2.1", "a negative max-age is stale", control("max-age=-60"), 0),
    Row(
      "5.2.2.3", "must-understand and no-store", control("must-understand, no-store, max-age=9"), 9),
    Row("5.2.2.3", "in any order", control("no-store, max-age=9, must-understand"), status: 404, 9),
    Row(
      "5.2.2.3", "not with an unknown status", control("must-understand, no-store, max-age=9"),
      status: 499, nil),
    Row("5.2.2.3", "not against private", control("must-understand, private, max-age=9"), nil),
    Row("5.2.2.4", "no-cache may be stored", control("no-cache, max-age=9"), 9),
    Row(
      "5.2.2.4", "no-cache with a field may be stored",
      control("no-cache=\"set-cookie\", max-age=9"), 9),
    Row(
      "5.2.2.7", "private with a field is private", control("private=\"set-cookie\", max-age=9"),
      nil),
    Row(
      "5.2.2.7", "but not to its owner", control("private=\"set-cookie\", max-age=9"),
      isScoped: true, 9),
    Row("5.3", "Expires", [("expires", inAnHour)], 3600),
    Row("5.3", "Expires: 0", [("expires", "0")], 0),
    Row("5.3", "Expires: -1", [("expires", "-1")], 0),
    Row("5.3", "an empty Expires", [("expires", "")], 0),
    Row("5.3", "Expires in another time zone", [("expires", "Sun, 06 Nov 1994 09:49:37 CET")], 0),
    Row("4.2", "Expires in UTC", [("expires", "Sun, 06 Nov 1994 09:49:37 UTC")], 0),
    Row("4.2", "Expires without a zone", [("expires", "Sun, 06 Nov 1994 09:49:37")], 0),
    Row(
      "4.2", "Expires in letters of another case", [("expires", "SUN, 06 nOV 1994 09:49:37 gmt")],
      3600),
    Row("5.3", "Expires with dashes", [("expires", "Sun, 06-Nov-1994 09:49:37 GMT")], 0),
    Row(
      "5.3", "Expires with a year of two digits", [("expires", "Sun, 06 Nov 94 09:49:37 GMT")], 0),
    Row(
      "5.3", "Expires with an hour of one digit", [("expires", "Sun, 06 Nov 1994 9:49:37 GMT")], 0),
    Row("5.3", "Expires with a day of one digit", [("expires", "Sun, 6 Nov 1994 09:49:37 GMT")], 0),
    Row("5.3", "Expires without its comma", [("expires", "Sun 06 Nov 1994 09:49:37 GMT")], 0),
    Row("5.3", "Expires with dots", [("expires", "Sun, 06 Nov 1994 09.49.37 GMT")], 0),
    Row("5.3", "Expires with two blanks", [("expires", "Sun, 06  Nov  1994 09:49:37 GMT")], 0),
    Row(
      "5.3", "Expires in the form of RFC 850", [("expires", "Sunday, 06-Nov-94 09:49:37 GMT")], 3600
    ),
    Row("5.3", "Expires in the form of asctime", [("expires", "Sun Nov  6 09:49:37 1994")], 3600),
    Row("5.3", "Expires before Date", [("expires", anHourAgo), ("date", rightNow)], 0),
    Row(
      "5.3", "Expires beyond all numbers", [("expires", "Fri, 31 Dec 9999 23:59:59 GMT")], 1 << 31),
    Row("5.4", "Pragma forbids no storing", [("pragma", "no-cache")], 3600),
  ]

  /// A request's own lifetime replaces the origin's, and nothing else.
  private static let ownLifetimes = [
    Row("ttl", "replaces max-age", control("max-age=60"), ttl: 7, 7),
    Row("ttl", "replaces a guess", [("last-modified", anHourAgo)], ttl: 7, 7),
    Row("ttl", "does not count from an age", control("max-age=60") + [("age", "50")], ttl: 7, 7),
    Row("ttl", "replaces no no-store", control("no-store"), ttl: 7, nil),
    Row("ttl", "replaces no private", control("private"), ttl: 7, nil),
    Row("ttl", "makes no status one to keep", status: 500, ttl: 7, nil),
    Row("ttl", "is for the way to the picture, too", status: 302, ttl: 7, 7),
    Row("ttl", "of nothing", control("max-age=60"), ttl: 0, 0),
  ]

  static let rows = storing + statuses + lifetimes + ages + directives + ownLifetimes

  @Test(arguments: rows.indices)
  func `a response is stored and fresh as the section of its row says`(index: Int) {
    let row = Self.rows[index]
    let answer = Freshness(
      status: row.status, headers: row.headers,
      terms: FreshnessTerms(ttl: row.ttl.map { .seconds($0) }, isScoped: row.isScoped),
      receivedAt: Self.now)
    #expect((answer.refusal == nil) == (row.left != nil), "\(row.section): \(row.name)")
    guard let left = row.left else { return }
    #expect(answer.remaining == .seconds(left), "\(row.section): \(row.name)")
    #expect(answer.initialAge >= .zero)
  }

  @Test func `no number of any field overflows`() {
    let numbers = [
      "9223372036854775807", "-9223372036854775808", "18446744073709551616", "2147483648",
    ]
    let dates = ["Thu, 01 Jan 1000 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", Self.rightNow]
    for (number, date) in numbers.flatMap({ number in dates.map { (number, $0) } }) {
      for receivedAt in [0, Self.now, 253_402_300_799] as [Int64] {
        let headers: HeaderList = [
          ("age", number), ("date", date), ("expires", date), ("last-modified", date),
          ("cache-control", "stale-while-revalidate=\(number), stale-if-error=\(number)"),
        ]
        let answer = Freshness(status: 200, headers: headers, receivedAt: receivedAt)
        #expect((.zero ... .seconds(1 << 31)).contains(answer.initialAge))
        #expect(answer.remaining <= .seconds(1 << 31))
        #expect(answer.staleWhileRevalidate <= .seconds(1 << 31))
      }
    }
  }
}
