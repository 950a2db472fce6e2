/// A sum over the values of a row or a record, which reveals bytes that have changed on the disk.
///
/// It guards against accidents, not against somebody who can write the file. Every step is
/// reversible, so a single value that differs always shows. The sum is part of the file's layout.
struct RowSeal {
  private var state: UInt64 = 0x6A09_E667_F3BC_C909

  mutating func add<Number: FixedWidthInteger>(_ number: Number) {
    state = (state << 23 | state >> 41) ^ UInt64(truncatingIfNeeded: number)
    state &*= 0x9E37_79B9_7F4A_7C15
  }

  mutating func add(_ bytes: Span<UInt8>) {
    add(bytes.count)
    var offset = 0
    while bytes.count - offset >= 8 {
      add(word(bytes, offset))
      offset += 8
    }
    while offset < bytes.count {
      add(bytes[offset])
      offset += 1
    }
  }

  mutating func add(_ text: String) { add(text.utf8.span) }

  /// A missing text differs from an empty one.
  mutating func add(_ text: String?) {
    add(text == nil ? 0 : 1)
    if let text { add(text) }
  }

  func finish() -> UInt64 { state ^ state >> 32 }

  /// The sum over all bytes but the first eight, which are reserved for it.
  static func ofSealed(_ bytes: Span<UInt8>) -> UInt64 {
    var seal = RowSeal()
    seal.add(bytes.extracting(droppingFirst: min(8, bytes.count)))
    return seal.finish()
  }
}
