/// Writes numbers and texts as a sequence of bytes, which another process may read.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  mutating func put<Number: FixedWidthInteger>(_ number: Number) {
    // A number holds no reference, so its bytes can be copied.
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

  /// A missing text differs from an empty one.
  mutating func put(_ text: String?) {
    put(UInt8(text == nil ? 0 : 1))
    if let text { put(text) }
  }

  /// Puts a checksum of all that follows into the first eight bytes, which were reserved for it.
  mutating func seal() {
    var front = ByteWriter()
    front.put(RowSeal.ofSealed(bytes.span))
    bytes.replaceSubrange(..<front.bytes.count, with: front.bytes)
  }
}
