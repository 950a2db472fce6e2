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
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
    take(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  mutating func bytes() -> [UInt8] {
    Array(take(Int(number(UInt32.self))))
  }

  mutating func text() -> String {
    guard let text = String(validating: bytes(), as: UTF8.self) else {
      fail()
      return ""
    }
    return text
  }

  mutating func optionalText() -> String? {
    number(UInt8.self) == 0 ? nil : text()
  }

  private mutating func take(_ count: Int) -> ArraySlice<UInt8> {
    guard count <= rest.count else {
      fail()
      return []
    }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  private mutating func fail() {
    hasFailed = true
    rest = []
  }
}
