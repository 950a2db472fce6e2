/// Reads what a `ByteWriter` wrote.
///
/// The bytes may be anything: a reader that runs past the end, or meets something that no writer produces,
/// reads nothing more and sets `hasFailed`.
struct ByteReader {
  /// Set when something is not as a writer leaves it: then nothing counts that has been read.
  private(set) var hasFailed = false
  private let all: ArraySlice<UInt8>
  /// Where the bytes begin that have not been read.
  private var place: Int

  init(_ bytes: ArraySlice<UInt8>) {
    all = bytes
    place = bytes.startIndex
  }

  var isAtEnd: Bool { place == all.endIndex }

  /// Reads the checksum that `ByteWriter.seal` put in front, and returns whether the bytes match it.
  mutating func isSealed() -> Bool {
    guard !hasFailed, place == all.startIndex else { return false }
    return number() == RowSeal.ofSealed(all.span) && !hasFailed
  }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
    var number: Number = 0
    for index in takeBytes(Number.bitWidth / 8).reversed() {
      number = number << 8 | Number(truncatingIfNeeded: all[index])
    }
    return number
  }

  mutating func bytes() -> [UInt8] { Array(all[takeBytes(Int(number(UInt32.self)))]) }

  mutating func text() -> String {
    guard let text = String(validating: all[takeBytes(Int(number(UInt32.self)))], as: UTF8.self) else {
      fail()
      return ""
    }
    return text
  }

  mutating func optionalText() -> String? { number(UInt8.self) == 0 ? nil : text() }

  /// The range of the next `count` bytes; an empty one when fewer are left.
  private mutating func takeBytes(_ count: Int) -> Range<Int> {
    guard count <= all.endIndex - place else {
      fail()
      return place..<place
    }
    defer { place += count }
    return place..<place + count
  }

  /// Ends the reading because a value makes no sense.
  mutating func fail() {
    hasFailed = true
    place = all.endIndex
  }
}
