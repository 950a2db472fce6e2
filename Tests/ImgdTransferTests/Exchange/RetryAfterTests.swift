import Testing

@testable import ImgdTransfer

struct RetryAfterTests {
  // 2026-01-02 03:04:05 UTC.
  private static let now: Int64 = 1_767_323_045

  @Test(arguments: [
    ("0", 0), ("1", 1), ("120", 120), ("Fri, 02 Jan 2026 03:04:15 GMT", 10),
    ("Fri, 02 Jan 2026 03:04:05 GMT", 0), ("Fri, 02 Jan 2025 03:04:05 GMT", 0),
    ("99999999999999999999999", 366 * 86_400), ("Fri, 31 Dec 2999 00:00:00 GMT", 366 * 86_400),
  ])
  func `Retry-After is read as seconds or a date`(value: String, seconds: Int) {
    #expect(RetryAfter.delay(value, now: Self.now) == .seconds(seconds))
  }

  @Test(arguments: ["", "soon", "-5", "1.5", "+1"])
  func `Retry-After is ignored when it is neither`(value: String) {
    #expect(RetryAfter.delay(value, now: Self.now) == nil)
  }

  @Test func `Retry-After may be absent`() {
    #expect(RetryAfter.delay(nil, now: Self.now) == nil)
  }
}
