import ImgdSystem

/// Reads a message that may be anything; every read returns nil where the bytes do not allow it.
struct MessageReader {
  private(set) var kind = MessageKind.abilities
  private var rest: ArraySlice<UInt8>

  /// Nil for bytes that are no message of this version.
  init?(_ bytes: [UInt8]) {
    rest = bytes[...]
    guard number(UInt32.self) == MessageLayout.mark, number(UInt16.self) == MessageLayout.version,
      let kind = number(UInt16.self).flatMap(MessageKind.init)
    else { return nil }
    self.kind = kind
  }

  /// Whether everything has been read.
  var isAtEnd: Bool { rest.isEmpty }

  mutating func number<N: FixedWidthInteger & UnsignedInteger>(_: N.Type) -> N? {
    let size = N.bitWidth / 8
    guard rest.count >= size else { return nil }
    let number = rest.prefix(size).reversed().reduce(N.zero) { $0 << 8 | N($1) }
    rest = rest.dropFirst(size)
    return number
  }

  mutating func byte() -> UInt8? { number(UInt8.self) }

  mutating func flag() -> Bool? {
    switch byte() {
    case 0: false
    case 1: true
    default: nil
    }
  }

  /// A number within a range.
  mutating func number32(_ range: ClosedRange<Int>) -> Int? {
    guard let number = number(UInt32.self), range.contains(Int(number)) else { return nil }
    return Int(number)
  }

  mutating func list(_ lengths: ClosedRange<Int>) -> [UInt8]? {
    guard let length = byte().map(Int.init), lengths.contains(length), rest.count >= length else { return nil }
    defer { rest = rest.dropFirst(length) }
    return Array(rest.prefix(length))
  }

  /// A text with its unprintable characters escaped.
  mutating func text() -> String? {
    list(0...MessageLayout.longestText).map { printable(String(decoding: $0, as: UTF8.self)) }
  }
}
