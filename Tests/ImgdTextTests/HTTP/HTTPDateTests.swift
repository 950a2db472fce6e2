import ImgdText
import Testing

struct HTTPDateTests {
  /// 2026-01-01.
  private let now: Int64 = 1_767_225_600

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
    ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
    ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_799),
    ("Tue Jan 19 03:14:08 2038", 2_147_483_648),
    ("Thu Nov 17 08:49:37 1994", 785_062_177),
    ("Tue Jan 09 03:14:08 2038", 2_146_619_648),
    ("sun, 06 nov 1994 08:49:37 gmt", 784_111_777),
    ("SUNDAY, 06-NOV-94 08:49:37 GMT", 784_111_777), ("SUN NOV  6 08:49:37 1994", 784_111_777),
    // The name of the day says nothing that the date does not.
    ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("  Sun, 06 Nov 1994 08:49:37 GMT  ", 784_111_777),
  ])
  func `all three forms of a date are read`(text: String, seconds: Int64) {
    #expect(HTTPDate.parse(text, now: now) == seconds)
  }

  @Test func `a year of two digits is in the nearest century that is not far ahead`() {
    #expect(HTTPDate.parse("Friday, 01-Jan-70 00:00:00 GMT", now: now) == 3_155_760_000)
    #expect(HTTPDate.parse("Saturday, 01-Jan-77 00:00:00 GMT", now: now) == 220_924_800)
    #expect(HTTPDate.parse("Friday, 01-Jan-99 00:00:00 GMT", now: now) == 915_148_800)
    #expect(HTTPDate.parse("Thursday, 01-Jan-26 00:00:00 GMT", now: now) == now)
  }

  @Test(arguments: [
    "", "0", "-1", "now", "Sun", "Sun,", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49:37 +0000",
    "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 2023 08:49:37 GMT",
    "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 06 Non 1994 08:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT GMT", "Sunday, 06-Nov-994 08:49:37 GMT",
    "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov 6", "1994-11-06T08:49:37Z",
    "Sun, 999999999999999999999 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov 94 08:49:37 GMT",
    // Other zones, and none.
    "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 UT", "Sun, 06 Nov 1994 08:49:37 Z",
    "Sun, 06 Nov 1994 08:49:37 AEST", "Sun, 06 Nov 1994 08:49:37 GMT+1",
    "Sun, 06 Nov 1994 08:49:37GMT", "Sunday, 06-Nov-94 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37",
    // One form's parts in another.
    "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
    "Sunday Nov  6 08:49:37 1994", "Sun, Nov  6 08:49:37 1994", "Sun 06 Nov 1994 08:49:37 GMT",
    // Numbers of another length.
    "Sun, 6 Nov 1994 08:49:37 GMT", "Sun,  6 Nov 1994 08:49:37 GMT",
    "Sun, 006 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 994 08:49:37 GMT",
    "Sun, 06 Nov 0994 08:49:37 GMT", "Sun, 06 Nov 0094 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:9:37 GMT", "Sun, 06 Nov 1994 08:49:7 GMT",
    "Sun, 06 Nov 1994 008:49:37 GMT", "Sun, 06 Nov 1994 08:49:037 GMT",
    "Sunday, 6-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-4 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
    "Sun Nov   6 08:49:37 1994", "Sun Nov  06 08:49:37 1994", "Sun Nov  6 8:49:37 1994",
    // Other marks between them.
    "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
    "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06 Nov  1994 08:49:37 GMT",
    "Sun, 06 Nov 1994  08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37  GMT",
    "Sun,\t06 Nov 1994 08:49:37 GMT", "Sun, 06\tNov\t1994\t08:49:37\tGMT",
    "Sun, 06 Nov 1994 08:49:37.000 GMT", "Sun, 06/Nov/1994 08:49:37 GMT",
    "\"Sun, 06 Nov 1994 08:49:37 GMT\"", "Sun, 06 Nov 1994 08:49:37 GMT;",
    "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    // Other words.
    "Son, 06 Nov 1994 08:49:37 GMT", "S, 06 Nov 1994 08:49:37 GMT", ", 06 Nov 1994 08:49:37 GMT",
    "06 Nov 1994 08:49:37 GMT", "Sun, 06 11 1994 08:49:37 GMT",
    "Sun, 06 November 1994 08:49:37 GMT", "784111777", "Sun, -6 Nov 1994 08:49:37 GMT",
  ])
  func `a text of another form is not a date`(text: String) {
    #expect(HTTPDate.parse(text, now: now) == nil)
  }

  @Test func `months follow one another through four centuries`() {
    let names = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    var expected: Int64 = 0
    for year in 1970..<2370 {
      for month in names {
        // The beginning and the length of a month determine the days between.
        let first = expected
        for day: Int64 in [1, 28, 29, 30, 31] {
          let digits = day < 10 ? "0\(day)" : "\(day)"
          let text = "mon, \(digits) \(month) \(year) 00:00:00 GMT"
          guard let seconds = HTTPDate.parse(text, now: now) else { continue }
          let right = first + (day - 1) * 86_400
          if seconds != right { Issue.record("\(text) is \(seconds), not \(right)") }
          expected = right + 86_400
        }
      }
    }
    #expect(expected == 146_097 * 86_400)
  }

  @Test func `every cut and every changed byte gives a result`() {
    for sample in [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ] {
      let bytes = Array(sample.utf8)
      for place in bytes.indices {
        #expect(HTTPDate.parse(String(decoding: bytes[..<place], as: UTF8.self), now: now) == nil)
        for byte in UInt8.min...UInt8.max {
          var changed = bytes
          changed[place] = byte
          _ = HTTPDate.parse(String(decoding: changed, as: UTF8.self), now: now)
        }
      }
    }
  }
}
