extension TestPicture {
  /// A grey JPEG of one colour that any decoder shows.
  ///
  /// The seed selects the grey and the content of the padding, which is in comments between the
  /// headers, 0 or at least 4 bytes.
  package static func jpeg(
    width: Int, height: Int, progressive: Bool = false, orientation: Int? = nil,
    bigEndianExif: Bool = true, seed: UInt64 = 0, padding: Int = 0
  ) -> [UInt8] {
    var jpeg: [UInt8] = [0xFF, 0xD8]
    jpeg += jpegSegment(0xE0, Array("JFIF\0".utf8) + [1, 1, 0, 0, 1, 0, 1, 0, 0])
    if let orientation {
      let tiff = exif(orientation: orientation, bigEndian: bigEndianExif)
      jpeg += jpegSegment(0xE1, Array("Exif\0\0".utf8) + tiff)
    }
    jpeg += comments(padding, seed: seed)
    jpeg += jpegSegment(0xDB, [0, 8] + [UInt8](repeating: 1, count: 63))
    jpeg += jpegFrame(progressive ? 0xC2 : 0xC0, width: width, height: height)
    jpeg += jpegSegment(
      0xC4, [0x00, 0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0] + Array(0...11))
    jpeg += jpegSegment(0xC4, [0x10, 1] + [UInt8](repeating: 0, count: 15) + [0])
    jpeg += jpegSegment(0xDA, [1, 1, 0, 0, progressive ? 0 : 63, 0])
    jpeg += scan(width: width, height: height, progressive: progressive, grey: Int(seed % 256))
    return jpeg + [0xFF, 0xD9]
  }

  /// A marker with its length and content.
  package static func jpegSegment(_ marker: UInt8, _ payload: [UInt8]) -> [UInt8] {
    var segment: [UInt8] = [0xFF, marker]
    segment.appendBig16(payload.count + 2)
    return segment + payload
  }

  /// A frame header of one grey component.
  package static func jpegFrame(_ marker: UInt8, width: Int, height: Int) -> [UInt8] {
    var frame: [UInt8] = [8]
    frame.appendBig16(height)
    frame.appendBig16(width)
    return jpegSegment(marker, frame + [1, 1, 0x11, 0])
  }

  /// As many comments as necessary, none of which leaves a rest too small for another.
  private static func comments(_ padding: Int, seed: UInt64) -> [UInt8] {
    var noise = Noise(seed: seed)
    var comments: [UInt8] = []
    while comments.count < padding {
      let rest = padding - comments.count
      let size = rest <= 65_537 ? rest : min(65_537, rest - 4)
      comments += jpegSegment(0xFE, noise.bytes(size - 4))
    }
    return comments
  }

  /// The first block sets the grey, every other one changes nothing.
  private static func scan(width: Int, height: Int, progressive: Bool, grey: Int) -> [UInt8] {
    var bits = HighBitWriter()
    let level = grey - 128
    let size = Int.bitWidth - abs(level).leadingZeroBitCount
    let (code, length) = directCodes[size]
    bits.write(code, bits: length)
    bits.write(level < 0 ? level - 1 : level, bits: size)
    let blocks = ((width + 7) / 8) * ((height + 7) / 8)
    for block in 0..<blocks {
      if block > 0 { bits.write(0, bits: 2) }
      if !progressive { bits.write(0, bits: 1) }
    }
    return bits.finish()
  }

  /// Code and length for differences of 0 to 8 bits.
  private static let directCodes = [
    (0b00, 2), (0b010, 3), (0b011, 3), (0b100, 3), (0b101, 3), (0b110, 3), (0b1110, 4),
    (0b11110, 5), (0b111110, 6),
  ]
}
