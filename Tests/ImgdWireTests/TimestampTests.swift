import Glibc
import Testing

@testable import ImgdWire

struct TimestampTests {
  @Test(arguments: [
    (Int64(0), "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
    (951_782_400, "2000-02-29T00:00:00Z"), (951_868_799, "2000-02-29T23:59:59Z"),
    (951_868_800, "2000-03-01T00:00:00Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
    (1_709_164_800, "2024-02-29T00:00:00Z"), (1_735_689_599, "2024-12-31T23:59:59Z"),
    (-62_167_219_200, "0000-01-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
    (.max, "9999-12-31T23:59:59Z"), (.min, "0000-01-01T00:00:00Z"),
  ])
  func `a timestamp is written as RFC 3339 in UTC`(moment: Int64, text: String) {
    #expect(Timestamp.rfc3339(moment) == text)
  }

  @Test func `a timestamp agrees with the C library over six centuries`() {
    for month in 0..<7200 {
      var moment = -11_676_096_000 + month * 2_629_746
      var parts = tm()
      gmtime_r(&moment, &parts)
      let date = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
      let text = Timestamp.rfc3339(Int64(moment))
      #expect(text.prefix(10).split(separator: "-").compactMap { Int($0) } == date)
      #expect(text.dropFirst(11).prefix(2) == (parts.tm_hour < 10 ? "0" : "") + "\(parts.tm_hour)")
    }
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:00:01Z", 951_825_601),
      ("2026-11-23T00:16:19Z", 1_795_392_979), ("yesterday", nil), ("2026-13-01T00:00:00Z", nil),
      ("2026-02-29T00:00:00Z", nil), ("2026-01-01T24:00:00Z", nil), ("2026-01-01T00:00:60Z", nil),
      ("2026-01-01 00:00:00Z", nil), ("2026-01-01T00:00:+1Z", nil), ("2026-00-01T00:00:00Z", nil),
    ] as [(String, Int64?)])
  func `a timestamp is read`(text: String, seconds: Int64?) {
    #expect(Timestamp.seconds(of: text) == seconds)
  }
}
