/// The ids that are echoed exactly as they are written: whole numbers of up to 18 digits, and strings without any
/// character that would be escaped.
enum WrittenID {
  private static let mostDigits = 18

  /// The end of the id that begins at an offset within a line.
  @inline(__always) static func end(in line: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    // Only offsets below the line's length are read.
    var index = start
    guard index < line.count else { return nil }
    if unsafe line[index] == UInt8(ascii: "\"") {
      let limit = min(line.count, start + WireLimits.id + 2)
      index += 1
      while index < limit, unsafe isShown(line[index]) { index += 1 }
      return unsafe index < limit && line[index] == UInt8(ascii: "\"") ? index + 1 : nil
    }
    if unsafe line[index] == UInt8(ascii: "-") { index += 1 }
    let first = index
    while index < line.count, unsafe isDigit(line[index]) { index += 1 }
    return unsafe isNumber(line, first..<index, isNegative: first > start) ? index : nil
  }

  /// The beginning of the id that ends before an offset within a line.
  @inline(__always) static func start(in line: UnsafeBufferPointer<UInt8>, before end: Int) -> Int? {
    // Only offsets from zero to below `end` are read.
    var index = end
    guard index > 0, index <= line.count else { return nil }
    if unsafe line[index - 1] == UInt8(ascii: "\"") {
      let limit = max(1, end - WireLimits.id - 1)
      index -= 1
      while index > limit, unsafe isShown(line[index - 1]) { index -= 1 }
      return unsafe index >= limit && line[index - 1] == UInt8(ascii: "\"") ? index - 1 : nil
    }
    while index > 0, unsafe isDigit(line[index - 1]) { index -= 1 }
    let isNegative = unsafe index > 0 && line[index - 1] == UInt8(ascii: "-")
    guard unsafe isNumber(line, index..<end, isNegative: isNegative) else { return nil }
    return isNegative ? index - 1 : index
  }

  /// Whether some digits are a number as it is printed: `07` and `-0` are not.
  @inline(__always) private static func isNumber(
    _ line: UnsafeBufferPointer<UInt8>, _ digits: Range<Int>, isNegative: Bool
  ) -> Bool {
    guard !digits.isEmpty, digits.count <= mostDigits else { return false }
    return unsafe line[digits.lowerBound] != UInt8(ascii: "0") || (digits.count == 1 && !isNegative)
  }

  @inline(__always) private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  /// Whether a byte stands for itself in a string of an answer; quotes end it.
  @inline(__always) private static func isShown(_ byte: UInt8) -> Bool {
    byte &- 0x20 < 0x5F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }
}
