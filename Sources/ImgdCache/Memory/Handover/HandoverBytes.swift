// Numbers and texts in a row of bytes, for one process to write and the next to read.
//
// What is read may be anything: a reader that meets what it does not understand, or the end, reads
// nothing more and says so.

struct HandoverWriter {
  private(set) var bytes: [UInt8] = []

  init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  mutating func put<Number: FixedWidthInteger>(_ number: Number) {
    // The bytes of a number that is no reference.
    unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  mutating func put(_ more: [UInt8]) {
    put(UInt32(clamping: more.count))
    bytes += more
  }

  mutating func put(_ text: String) {
    put(UInt32(clamping: text.utf8.count))
    bytes += text.utf8
  }

  /// What is missing differs from what is empty.
  mutating func put(_ text: String?) {
    put(UInt8(text == nil ? 0 : 1))
    if let text { put(text) }
  }

  /// Writes over the first bytes.
  mutating func replaceFront(by front: HandoverWriter) {
    bytes.replaceSubrange(..<front.bytes.count, with: front.bytes)
  }
}

struct HandoverReader {
  /// Something was not as a writer leaves it; nothing that was read counts.
  private(set) var hasFailed = false
  private let all: ArraySlice<UInt8>
  /// Where the rest begins.
  private var place: Int

  init(_ bytes: ArraySlice<UInt8>) {
    all = bytes
    place = bytes.startIndex
  }

  var isAtEnd: Bool { place == all.endIndex }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
    var number: Number = 0
    for index in take(Number.bitWidth / 8).reversed() {
      number = number << 8 | Number(truncatingIfNeeded: all[index])
    }
    return number
  }

  mutating func bytes() -> [UInt8] {
    Array(all[take(Int(number(UInt32.self)))])
  }

  mutating func text() -> String {
    guard let text = String(validating: all[take(Int(number(UInt32.self)))], as: UTF8.self) else {
      fail()
      return ""
    }
    return text
  }

  mutating func optionalText() -> String? {
    number(UInt8.self) == 0 ? nil : text()
  }

  /// Where the next bytes are; nowhere when there are not that many.
  private mutating func take(_ count: Int) -> Range<Int> {
    guard count <= all.endIndex - place else {
      fail()
      return place..<place
    }
    defer { place += count }
    return place..<place + count
  }

  private mutating func fail() {
    hasFailed = true
    place = all.endIndex
  }
}
