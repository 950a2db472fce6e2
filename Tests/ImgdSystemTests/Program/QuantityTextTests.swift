import Testing

@testable import ImgdSystem

struct QuantityTextTests {
  @Test(
    arguments: [
      ("0", 0), ("1", 1), ("100", 100), ("1K", 1024), ("64K", 65_536), ("100M", 104_857_600),
      ("1G", 1 << 30), ("2T", 2 << 40), ("007", 7), ("1k", 1024),
      ("3m", 3 << 20), ("2g", 2 << 30), ("1t", 1 << 40), ("1KiB", 1024), ("4MiB", 4 << 20),
      ("1giB", 1 << 30), ("9223372036854775807", Int.max), ("1 K", 1024), ("100MB", 100 << 20),
      ("100mb", 100 << 20), ("100 M", 100 << 20), ("100kb", 100 << 10), ("1KIB", 1024),
      ("2 \tGiB", 2 << 30), ("7B", 7), ("7 b", 7),
    ] as [(String, Int)])
  func `sizes are binary multiples`(text: String, bytes: Int) {
    #expect(SizeText.bytes(text) == bytes)
  }

  @Test(arguments: [
    "", "K", "M", "lots", " 1", "1 ", "-1", "+1", "1.5G", "1iB", "iB", "KiB", "MB", " M",
    "1Ki", "1Mi ", "1M ", "1BB", "1MBB", "1KiBB", "1M B", "1 0K", "0x10", "1e3",
    "9223372036854775808", "99999999999999999999", "9223372036854775807K", "8388608T", "1KK", "٣",
  ])
  func `a text that is no size is refused`(text: String) {
    #expect(SizeText.bytes(text) == nil)
  }

  @Test(arguments: [
    (0, "0"), (1, "1"), (1023, "1023"), (1024, "1K"), (1025, "1025"), (1536, "1536"),
    (3 << 20, "3M"), (1 << 30, "1G"), (5 << 40, "5T"), (Int.max, "9223372036854775807"),
  ])
  func `sizes are printed exactly`(bytes: Int, text: String) {
    #expect(SizeText.text(bytes) == text)
    #expect(SizeText.bytes(text) == bytes)
  }

  @Test(arguments: [
    ("0", Duration.zero), ("30", .seconds(30)), ("30s", .seconds(30)),
    ("500ms", .milliseconds(500)),
    ("1h30min", .seconds(5400)), ("7d 30s", .seconds(604_830)), ("2 weeks", .seconds(1_209_600)),
    ("1 h\t30 m", .seconds(5400)), ("5us", .microseconds(5)), (" 1min ", .seconds(60)),
    ("1day 2hours 3minutes 4seconds", .seconds(93_784)), ("1d 30", .seconds(86_430)),
    ("9223372036854775807us", .microseconds(Int.max)),
  ])
  func `durations add up their parts`(text: String, duration: Duration) {
    #expect(DurationText.duration(text) == duration)
  }

  @Test(arguments: [
    "", " ", "s", "soon", "-1s", "1.5h", "1x", "1 fortnight", "1H", "1s,", "s1", "1\n",
    "9223372036854775808us", "9223372036854775807s", "9223372036854775807us 1us",
    "99999999999999999999999h",
  ])
  func `a text that is no duration is refused`(text: String) {
    #expect(DurationText.duration(text) == nil)
  }

  @Test(arguments: [
    (Duration.zero, "0s"), (.seconds(10), "10s"), (.seconds(3600), "1h"),
    (.seconds(90), "1min 30s"),
    (.milliseconds(1500), "1s 500ms"), (.seconds(604_830), "7d 30s"), (.microseconds(7), "7us"),
  ])
  func `durations are printed exactly`(duration: Duration, text: String) {
    #expect(DurationText.text(duration) == text)
    #expect(DurationText.duration(text) == duration)
  }

  @Test(arguments: ["1h30min 500ms", "123456789012345T", "7d 30s"])
  func `every beginning of a duration is read or refused`(text: String) {
    for length in 0...text.utf8.count {
      let beginning = String(decoding: text.utf8.prefix(length), as: UTF8.self)
      if let bytes = SizeText.bytes(beginning) { #expect(bytes >= 0) }
      if let duration = DurationText.duration(beginning) { #expect(duration >= .zero) }
    }
  }
}
