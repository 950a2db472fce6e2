extension [UInt8] {
  package mutating func appendBig16(_ number: Int) {
    append(contentsOf: [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
  }

  package mutating func appendBig32(_ number: Int) {
    appendBig16(number >> 16)
    appendBig16(number)
  }

  package mutating func appendBig64(_ number: Int) {
    appendBig32(number >> 32)
    appendBig32(number)
  }

  package mutating func appendLittle16(_ number: Int) {
    append(contentsOf: [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)])
  }

  package mutating func appendLittle24(_ number: Int) {
    appendLittle16(number)
    append(UInt8(truncatingIfNeeded: number >> 16))
  }

  package mutating func appendLittle32(_ number: Int) {
    appendLittle16(number)
    appendLittle16(number >> 16)
  }

  package mutating func append(_ text: String) {
    append(contentsOf: text.utf8)
  }
}

/// Packs bits from the low end of each byte, as WebP and JPEG XL do.
struct LowBitWriter {
  private(set) var bytes: [UInt8] = []
  private var used = 0

  mutating func write(_ number: Int, bits: Int) {
    for bit in 0..<bits {
      if used % 8 == 0 { bytes.append(0) }
      bytes[used / 8] |= UInt8(number >> bit & 1) << UInt8(used % 8)
      used += 1
    }
  }
}

/// Packs bits from the high end of each byte, with the zero that JPEG inserts after each 0xFF.
struct HighBitWriter {
  private var bytes: [UInt8] = []
  private var pending = 0
  private var count = 0

  mutating func write(_ number: Int, bits: Int) {
    for bit in (0..<bits).reversed() {
      pending = pending << 1 | number >> bit & 1
      count += 1
      if count == 8 { flush() }
    }
  }

  /// All bytes, the last one padded with ones.
  consuming func finish() -> [UInt8] {
    while count > 0 { write(1, bits: 1) }
    return bytes
  }

  private mutating func flush() {
    bytes.append(UInt8(pending))
    if pending == 0xFF { bytes.append(0) }
    pending = 0
    count = 0
  }
}
