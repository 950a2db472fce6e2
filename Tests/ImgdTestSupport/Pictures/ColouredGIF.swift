extension TestPicture {
  /// A GIF whose frames have one colour each, at most 128 of them.
  package static func gif(width: Int, height: Int, colours: [[UInt8]]) -> [UInt8] {
    var gif = Array("GIF89a".utf8)
    gif.appendLittle16(width)
    gif.appendLittle16(height)
    gif += [0xF6, 0, 0]
    for place in 0..<128 { gif += place < colours.count ? colours[place][..<3] : [0, 0, 0] }
    gif += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
    for place in colours.indices {
      gif += [0x21, 0xF9, 4, 0, 10, 0, 0, 0]
      gif += gifFrame(width: width, height: height, index: UInt8(place))
    }
    return gif + [0x3B]
  }

  /// Many frames of one pixel, each a few bytes: far more frames than the file seems to have room for.
  package static func gif(ofFrames count: Int) -> [UInt8] {
    let colours: [[UInt8]] = [[9, 9, 9], [200, 9, 9]]
    let two = gif(width: 1, height: 1, colours: colours)
    let frame = [0x21, 0xF9, 4, 0, 10, 0, 0, 0] + gifFrame(width: 1, height: 1, index: 1)
    return two.dropLast() + [[UInt8]](repeating: frame, count: count - 2).joined() + [0x3B]
  }

  /// Each code is one byte, because the table is cleared before codes grow to nine bits.
  private static func gifFrame(width: Int, height: Int, index: UInt8) -> [UInt8] {
    var frame: [UInt8] = [0x2C, 0, 0, 0, 0]
    frame.appendLittle16(width)
    frame.appendLittle16(height)
    var codes: [UInt8] = []
    for pixel in 0..<width * height {
      if pixel % 100 == 0 { codes.append(0x80) }
      codes.append(index)
    }
    return frame + [0, 7] + subBlocks(codes + [0x81])
  }
}
