/// A gzip encoding without compression: stored blocks, which every decoder accepts.
package enum Gzip {
  package static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var packed: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(0xffff)
      rest = rest.dropFirst(block.count)
      packed.append(rest.isEmpty ? 1 : 0)
      packed += number(UInt32(block.count), bytes: 2)
      packed += number(~UInt32(block.count), bytes: 2)
      packed += block
    } while !rest.isEmpty
    return packed + number(Checksum.crc32(bytes), bytes: 4) + number(UInt32(bytes.count), bytes: 4)
  }

  private static func number(_ value: UInt32, bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
  }
}

/// The checksums of zlib, for PNG and gzip.
enum Checksum {
  static func adler32(_ bytes: [UInt8]) -> UInt32 {
    var sums: (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      sums.0 = (sums.0 + UInt32(byte)) % 65_521
      sums.1 = (sums.1 + sums.0) % 65_521
    }
    return sums.1 << 16 | sums.0
  }

  static func crc32(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { $0 >> 8 ^ crcTable[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] }
  }

  private static let crcTable: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value >> 1 ^ (value & 1 == 1 ? 0xEDB8_8320 : 0) }
  }
}
