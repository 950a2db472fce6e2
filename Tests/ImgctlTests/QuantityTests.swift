import Testing

@testable import ImgctlCommands

struct QuantityTests {
  @Test(arguments: [
    (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0K"), (10_239, "9.9K"), (10_240, "10K"),
    (1 << 20, "1.0M"), (100 << 20, "100M"), (1 << 30, "1.0G"), (Int.max, "7.9E"),
  ])
  func `sizes are rounded down`(bytes: Int, text: String) {
    #expect(Quantity.size(bytes) == text)
  }

  @Test(
    arguments: [
      (0, "0"), (-1, "0"), (.nan, "0"), (0.01, "<0.1"), (0.1, "0.1"), (2, "2"), (9.94, "9.9"),
      (9.96, "10"), (9999, "9999"), (12_345, "12k"), (3e6, "3.0m"), (1e300, "9223372t"),
    ] as [(Double, String)])
  func `rates are short`(rate: Double, text: String) {
    #expect(Quantity.rate(rate) == text)
  }

  @Test(arguments: [
    (0, "0ms"), (999, "999ms"), (1000, "1s"), (61_000, "1min 1s"), (3_600_000, "1h"),
    (90_061_000, "1d 1h"), (Int.max, "106751991167d"), (-5, "0ms"),
  ])
  func `times have two units at most`(milliseconds: Int, text: String) {
    #expect(Quantity.time(milliseconds: milliseconds) == text)
  }

  @Test func `times in seconds do not overflow`() {
    #expect(Quantity.time(seconds: .max) == "106751991167d")
    #expect(Quantity.time(seconds: 0) == "0s")
  }

  @Test(
    arguments: [
      (1, 3, "33.3%"), (57, 100, "57.0%"), (0, 5, "0.0%"), (5, 5, "100.0%"), (1, 0, nil),
      (Int.max, Int.max, "100.0%"),
      (Int.max, 1, "999999.9%"),
    ] as [(Int, Int, String?)])
  func `shares have a decimal`(part: Int, whole: Int, text: String?) {
    #expect(Quantity.share(part, of: whole) == text)
  }

  @Test(arguments: [
    (0.4, "0µs"), (999, "999µs"), (1500, "1.5ms"), (2_500_000, "2.5s"), (1e300, "1000000000.0s"),
  ])
  func `short times have one unit`(microseconds: Double, text: String) {
    #expect(Quantity.time(microseconds: microseconds) == text)
  }
}
