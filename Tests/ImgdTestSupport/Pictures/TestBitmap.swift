extension TestPicture {
  /// A bitmap of coloured noise with any of the headers, chosen by its length; a top-down one has a
  /// negative height. The padding follows the pixels.
  package static func bmp(
    width: Int, height: Int, headerSize: Int = 40, topDown: Bool = false, seed: UInt64 = 0,
    padding: Int = 0
  ) -> [UInt8] {
    var noise = Noise(seed: seed)
    let pixels = noise.bytes((width * 3 + 3) / 4 * 4 * height)
    var bmp = Array("BM".utf8)
    bmp.appendLittle32(14 + headerSize + pixels.count + padding)
    bmp.appendLittle32(0)
    bmp.appendLittle32(14 + headerSize)
    bmp += bitmapHeader(headerSize, width: width, height: topDown ? -height : height, depth: 24)
    return bmp + pixels + noise.bytes(padding)
  }

  private static func bitmapHeader(_ size: Int, width: Int, height: Int, depth: Int) -> [UInt8] {
    var header: [UInt8] = []
    header.appendLittle32(size)
    if size == 12 {
      header.appendLittle16(width)
      header.appendLittle16(height)
    } else {
      header.appendLittle32(width)
      header.appendLittle32(height)
    }
    header.appendLittle16(1)
    header.appendLittle16(depth)
    return header + [UInt8](repeating: 0, count: size - header.count)
  }

  /// An icon, or a cursor, with square entries of these sizes, each a bitmap or a PNG.
  package static func ico(sizes: [Int], asPNG: Bool = false, isCursor: Bool = false) -> [UInt8] {
    let pictures = sizes.map { asPNG ? png(width: $0, height: $0) : iconBitmap($0) }
    var ico: [UInt8] = [0, 0, isCursor ? 2 : 1, 0]
    ico.appendLittle16(sizes.count)
    var offset = 6 + 16 * sizes.count
    for (size, picture) in zip(sizes, pictures) {
      ico += [UInt8(truncatingIfNeeded: size), UInt8(truncatingIfNeeded: size), 0, 0, 1, 0, 32, 0]
      ico.appendLittle32(picture.count)
      ico.appendLittle32(offset)
      offset += picture.count
    }
    return ico + pictures.joined()
  }

  /// Pixels and a mask below them: the header counts both.
  private static func iconBitmap(_ size: Int) -> [UInt8] {
    let mask = (size + 31) / 32 * 4 * size
    return bitmapHeader(40, width: size, height: size * 2, depth: 32)
      + [UInt8](repeating: 0x7F, count: size * size * 4) + [UInt8](repeating: 0, count: mask)
  }
}
