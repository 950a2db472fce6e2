@testable import ImgdSystem

extension FuzzTarget {
  /// Sizes and durations in text.
  static let quantities = FuzzTarget("quantities", of: ["ImgdSystem/Program/QuantityText.swift"], longest: 48) {
    bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    if let size = SizeText.bytes(text) {
      expect(size >= 0 && SizeText.bytes(SizeText.text(size)) == size, "a size survives being written and read")
      expect(SizeText.text(size).utf8.count <= String(size).utf8.count, "in its shortest form")
    }
    if let duration = DurationText.duration(text) {
      expect(duration >= .zero, "a duration is not negative")
      expect(DurationText.duration(DurationText.text(duration)) == duration, "nor lost when it is written")
    }
    if let number = decimalNumber(bytes) {
      expect(text.drop { $0 == "0" } == (number == 0 ? "" : "\(number)"), "a number is its digits")
    }
    var choices = Choices(bytes)
    let number = Int(choices.number(UInt64.self) >> 1)
    expect(SizeText.bytes(SizeText.text(number)) == number, "every size can be written")
    let duration = Duration.microseconds(Int64(number))
    expect(DurationText.duration(DurationText.text(duration)) == duration, "and so can every duration")
  }
}
