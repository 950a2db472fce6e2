/// A codestream whose first bits are the size, bare or in a box.
enum JPEGXL {
  static func measureCodestream(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    try measure(codestreamAt: 0, in: bytes)
  }

  /// The codestream is one box, or parts; the size is in the first part, after its number.
  static func measureContainer(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    var walk = BoxWalk(0..<bytes.count)
    while let box = walk.next(in: bytes) {
      switch box.name {
      case "jxlc": return try measure(codestreamAt: box.body.lowerBound, in: bytes)
      case "jxlp": return try measure(codestreamAt: box.body.lowerBound + 4, in: bytes)
      default: break
      }
    }
    throw NotAPicture(reason: "JPEG XL without a codestream")
  }

  private static func measure(codestreamAt start: Int, in bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard bytes.big16(at: start) == 0xFF0A else {
      throw NotAPicture(reason: "JPEG XL without the start of its codestream")
    }
    var bits = BitReader(offset: start + 2)
    guard let size = size(&bits, bytes), let orientation = orientation(&bits, bytes) else {
      throw NotAPicture(reason: "JPEG XL that ends inside its header")
    }
    return PictureMeasures(format: .jxl, width: size.width, height: size.height, orientation: orientation)
  }

  private static func size(_ bits: inout BitReader, _ bytes: Span<UInt8>) -> (width: Int, height: Int)? {
    guard let isSmall = bits.read(1, in: bytes), let height = side(isSmall: isSmall == 1, &bits, bytes),
      let ratio = bits.read(3, in: bytes)
    else { return nil }
    guard ratio == 0 else {
      let (across, down) = ratios[ratio - 1]
      return (height * across / down, height)
    }
    return side(isSmall: isSmall == 1, &bits, bytes).map { ($0, height) }
  }

  /// Width to height for the numbers 1 to 7.
  private static let ratios = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)]

  /// Small sides are multiples of eight up to 256, others have one of four bit widths.
  private static func side(isSmall: Bool, _ bits: inout BitReader, _ bytes: Span<UInt8>) -> Int? {
    if isSmall { return bits.read(5, in: bytes).map { ($0 + 1) * 8 } }
    guard let selector = bits.read(2, in: bytes) else { return nil }
    return bits.read([9, 13, 18, 30][selector], in: bytes).map { $0 + 1 }
  }

  /// After the size: one bit for all defaults, and one for extra fields, the first of which is the
  /// orientation.
  private static func orientation(_ bits: inout BitReader, _ bytes: Span<UInt8>) -> Int? {
    guard let isDefault = bits.read(1, in: bytes) else { return nil }
    if isDefault == 1 { return 1 }
    guard let hasExtra = bits.read(1, in: bytes) else { return nil }
    return hasExtra == 0 ? 1 : bits.read(3, in: bytes).map { $0 + 1 }
  }
}

/// Reads bits from the low end of each byte, as JPEG XL packs them.
private struct BitReader {
  private var position: Int

  init(offset: Int) { position = offset * 8 }

  mutating func read(_ count: Int, in bytes: Span<UInt8>) -> Int? {
    var value = 0
    for bit in 0..<count {
      guard let byte = bytes.byte(at: position >> 3) else { return nil }
      value |= (byte >> (position & 7) & 1) << bit
      position += 1
    }
    return value
  }
}
