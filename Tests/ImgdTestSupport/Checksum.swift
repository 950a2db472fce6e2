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
