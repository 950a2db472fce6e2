extension TestPicture {
  /// A GIF of noise in 128 greys that any decoder shows; the padding, 0 or at least 5 bytes, is
  /// about that many bytes of comments.
  package static func gif(
    width: Int, height: Int, frames: Int = 1, is87a: Bool = false, seed: UInt64 = 0,
    padding: Int = 0
  ) -> [UInt8] {
    var noise = Noise(seed: seed)
    var gif = gifScreen(width: width, height: height, is87a: is87a)
    if frames > 1 { gif += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0] }
    if padding > 0 { gif += [0x21, 0xFE] + subBlocks(noise.bytes(padding - 4)) }
    for _ in 0..<frames {
      if !is87a { gif += [0x21, 0xF9, 4, 0, 10, 0, 0, 0] }
      gif += gifFrame(width: width, height: height, &noise)
    }
    return gif + [0x3B]
  }

  /// Header, logical screen and 128 greys.
  private static func gifScreen(width: Int, height: Int, is87a: Bool) -> [UInt8] {
    var screen = Array((is87a ? "GIF87a" : "GIF89a").utf8)
    screen.appendLittle16(width)
    screen.appendLittle16(height)
    screen += [0xF6, 0, 0]
    for grey in 0..<UInt8(128) { screen += [grey * 2, grey * 2, grey * 2] }
    return screen
  }

  /// Each code is one byte, because the table is cleared before codes grow to nine bits.
  private static func gifFrame(width: Int, height: Int, _ noise: inout Noise) -> [UInt8] {
    var frame: [UInt8] = [0x2C, 0, 0, 0, 0]
    frame.appendLittle16(width)
    frame.appendLittle16(height)
    var codes: [UInt8] = []
    for (index, pixel) in noise.bytes(width * height).enumerated() {
      if index % 100 == 0 { codes.append(0x80) }
      codes.append(pixel & 0x7F)
    }
    return frame + [0, 7] + subBlocks(codes + [0x81])
  }

  static func subBlocks(_ bytes: [UInt8]) -> [UInt8] {
    var blocks: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 255) {
      let block = bytes[start..<min(start + 255, bytes.count)]
      blocks += [UInt8(block.count)] + block
    }
    return blocks + [0]
  }
}
