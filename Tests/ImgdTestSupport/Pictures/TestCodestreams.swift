extension TestPicture {
  /// The first bits of a JPEG XL, bare or in boxes.
  package static func jxl(
    width: Int, height: Int, orientation: Int = 1, inBoxes: Bool = false, inParts: Bool = false
  ) -> [UInt8] {
    var bits = LowBitWriter()
    bits.write(0x0AFF, bits: 16)
    writeSize(width: width, height: height, to: &bits)
    bits.write(orientation == 1 ? 1 : 0, bits: 1)
    if orientation != 1 {
      bits.write(1, bits: 1)
      bits.write(orientation - 1, bits: 3)
    }
    bits.write(0, bits: 32)
    guard inBoxes || inParts else { return bits.bytes }
    let signature = box("JXL ", [0x0D, 0x0A, 0x87, 0x0A]) + fileType(["jxl ", "jxl "])
    return signature + (inParts ? box("jxlp", big32(0) + bits.bytes) : box("jxlc", bits.bytes))
  }

  /// Sides that are multiples of eight up to 256 are written short, a square by its ratio.
  private static func writeSize(width: Int, height: Int, to bits: inout LowBitWriter) {
    let isSmall = [width, height].allSatisfy { $0 % 8 == 0 && $0 <= 256 }
    bits.write(isSmall ? 1 : 0, bits: 1)
    writeSide(height, isSmall: isSmall, to: &bits)
    bits.write(width == height ? 1 : 0, bits: 3)
    if width != height { writeSide(width, isSmall: isSmall, to: &bits) }
  }

  private static func writeSide(_ side: Int, isSmall: Bool, to bits: inout LowBitWriter) {
    guard !isSmall else { return bits.write(side / 8 - 1, bits: 5) }
    let selector = [9, 13, 18, 30].firstIndex { side <= 1 << $0 } ?? 3
    bits.write(selector, bits: 2)
    bits.write(side - 1, bits: [9, 13, 18, 30][selector])
  }

  /// The headers of a JPEG 2000, bare or in boxes.
  package static func jp2(width: Int, height: Int, inBoxes: Bool = true) -> [UInt8] {
    // The picture need not begin at the origin of the reference grid.
    let (left, top) = (5, 9)
    let size = [width + left, height + top, left, top].flatMap(big32)
    let codestream: [UInt8] = [0xFF, 0x4F, 0xFF, 0x51, 0, 41, 0, 0] + size
    guard inBoxes else { return codestream + [UInt8](repeating: 0, count: 20) }
    let header = box("ihdr", big32(height) + big32(width) + [0, 1, 7, 7, 0, 0])
    return box("jP  ", [0x0D, 0x0A, 0x87, 0x0A]) + fileType(["jp2 ", "jp2 "])
      + box("jp2h", header) + box("jp2c", codestream)
  }
}
