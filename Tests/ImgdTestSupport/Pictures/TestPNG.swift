extension TestPicture {
  /// A PNG of grey noise that any decoder shows; with frames it is an animated one.
  ///
  /// The seed selects the noise and the content of the padding, a private chunk before the pixels of 0
  /// or at least 12 bytes.
  package static func png(
    width: Int, height: Int, orientation: Int? = nil, frames: Int = 1, seed: UInt64 = 0,
    padding: Int = 0
  ) -> [UInt8] {
    var noise = Noise(seed: seed)
    var png = pngSignature + pngHeader(width: width, height: height)
    if frames > 1 { png += animationControl(frames) }
    if let orientation { png += pngChunk("eXIf", exif(orientation: orientation)) }
    if padding > 0 { png += pngChunk("paDd", noise.bytes(padding - 12)) }
    for frame in 0..<frames {
      let pixels = zlib(scanlines(width: width, height: height, &noise))
      // Control and data chunks of an animation share one sequence number.
      if frames > 1 { png += frameControl(max(frame * 2 - 1, 0), width: width, height: height) }
      png += frame == 0 ? pngChunk("IDAT", pixels) : pngChunk("fdAT", big32(frame * 2) + pixels)
    }
    return png + pngChunk("IEND", [])
  }

  /// An animated PNG.
  package static func apng(frames: Int, width: Int = 4, height: Int = 3) -> [UInt8] {
    png(width: width, height: height, frames: frames)
  }

  package static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// The first chunk: size, eight bits of grey.
  package static func pngHeader(width: Int, height: Int) -> [UInt8] {
    pngChunk("IHDR", big32(width) + big32(height) + [8, 0, 0, 0, 0])
  }

  /// A chunk with length and checksum.
  package static func pngChunk(_ name: String, _ payload: [UInt8]) -> [UInt8] {
    let named = Array(name.utf8) + payload
    return big32(payload.count) + named + big32(Int(Checksum.crc32(named)))
  }

  private static func animationControl(_ frames: Int) -> [UInt8] {
    pngChunk("acTL", big32(frames) + big32(0))
  }

  /// A frame of the whole canvas for a tenth of a second.
  private static func frameControl(_ sequence: Int, width: Int, height: Int) -> [UInt8] {
    let size = big32(sequence) + big32(width) + big32(height) + big32(0) + big32(0)
    return pngChunk("fcTL", size + [0, 1, 0, 10, 0, 0])
  }

  /// Rows, each with a leading zero for no filter.
  private static func scanlines(width: Int, height: Int, _ noise: inout Noise) -> [UInt8] {
    var rows: [UInt8] = []
    for _ in 0..<height { rows += [0] + noise.bytes(width) }
    return rows
  }

  /// Stored blocks between a header and a checksum: compressed in form only.
  package static func zlib(_ bytes: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: bytes.count, by: 65_535) {
      let block = bytes[start..<min(start + 65_535, bytes.count)]
      stream.append(block.endIndex == bytes.count ? 1 : 0)
      stream.appendLittle16(block.count)
      stream.appendLittle16(~block.count)
      stream += block
    }
    return stream + big32(Int(Checksum.adler32(bytes)))
  }

  static func big32(_ number: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendBig32(number)
    return bytes
  }
}
