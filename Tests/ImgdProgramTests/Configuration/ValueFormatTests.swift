import Testing

@testable import ImgdProgram

/// Reads with a format, and gives the complaint where it refuses.
private func read<Value>(_ format: ValueFormat<Value>, _ text: String) -> Result<Value, WrongValue> {
  Result { () throws(WrongValue) in try format.parse(text) }
}

private func complaint<Value>(_ format: ValueFormat<Value>, _ text: String) -> String? {
  guard case .failure(let wrong) = read(format, text) else { return nil }
  return wrong.complaint
}

struct ValueFormatTests {
  @Test(arguments: [
    ("yes", true), ("true", true), ("on", true), ("1", true), ("YES", true), ("On", true),
    ("no", false), ("false", false), ("off", false), ("0", false), ("No", false),
  ])
  func `booleans have several spellings`(text: String, value: Bool) throws {
    #expect(try read(ValueFormat<Bool>.boolean, text).get() == value)
    let printed = ValueFormat<Bool>.boolean.text(value)
    #expect(try read(ValueFormat<Bool>.boolean, printed).get() == value)
  }

  @Test(arguments: ["", "y", "2", "maybe", "yes ", "ye", "10"])
  func `a text that is not a boolean is refused`(text: String) {
    #expect(complaint(.boolean, text) == "is neither yes nor no: write yes or no")
  }

  @Test(arguments: ["%", "25", "-1%", "2 5%", "25%%", "1.5%", "many%"])
  func `a text that is not a percentage is refused`(text: String) {
    #expect(
      complaint(.percentage(1...100), text)
        == "is not a percentage: write a number with %, such as 10%")
  }

  @Test func `the limits of a value are named`() {
    #expect(
      complaint(.percentage(1...100), "101%")
        == "is out of range: write a percentage from 1% to 100%")
    #expect(
      complaint(.size(1024...16 << 20), "12") == "is out of range: write a size from 1K to 16M")
    #expect(complaint(.count(1...9), "0") == "is out of range: write a number from 1 to 9")
    #expect(complaint(.count(1...9), "-1") == "is not a number: write 1 to 9")
    #expect(
      complaint(.duration(.milliseconds(1)...(.seconds(60))), "2min")
        == "is out of range: write a duration from 1ms to 1min")
  }

  @Test(arguments: [
    ("off", Duration.zero, "off"), ("OFF", .zero, "off"), ("0", .zero, "off"), ("0s", .zero, "off"),
    ("90", .seconds(90), "1min 30s"), ("1d", .seconds(86_400), "1d"),
  ])
  func `a duration may be off`(text: String, duration: Duration, printed: String) throws {
    let format = ValueFormat<Duration>.durationOrOff(.zero...(.seconds(86_400)))
    #expect(try read(format, text).get() == duration)
    #expect(format.text(duration) == printed)
  }

  @Test(arguments: [
    ("", "is neither off nor a duration: write off, or one such as 1h or 7d"),
    ("on", "is neither off nor a duration: write off, or one such as 1h or 7d"),
    ("no", "is neither off nor a duration: write off, or one such as 1h or 7d"),
    ("2d", "is out of range: write a duration from 0s to 1d"),
  ])
  func `a text that is neither off nor a duration is refused`(text: String, sentence: String) {
    #expect(complaint(.durationOrOff(.zero...(.seconds(86_400))), text) == sentence)
  }

  @Test(arguments: [
    ("run/x", "is not an absolute path: begin with /"),
    ("", "is not an absolute path: begin with /"),
    ("/a\u{7}b", "contains a control character: leave it out"),
    ("/a\\", "ends in a backslash: leave it out"),
    ("/aaaaaaaaaa", "is too long: write at most 10 bytes"),
  ])
  func `invalid paths are refused`(text: String, sentence: String) {
    #expect(complaint(.path(longest: 10), text) == sentence)
  }
}
