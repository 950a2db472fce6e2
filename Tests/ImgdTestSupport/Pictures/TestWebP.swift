extension TestPicture {
  /// A lossless WebP of one colour that any decoder shows; with frames, an orientation or padding
  /// it is of the extended kind. The padding, in an unknown chunk, is 0 or at least 8 and even.
  package static func webp(
    width: Int, height: Int, frames: Int = 1, orientation: Int? = nil, seed: UInt64 = 0,
    padding: Int = 0
  ) -> [UInt8] {
    let pixels = riffChunk("VP8L", losslessPixels(width: width, height: height, seed: seed))
    guard frames > 1 || orientation != nil || padding > 0 else { return riff("WEBP", pixels) }
    var noise = Noise(seed: seed)
    let flags: UInt8 = (frames > 1 ? 0x02 : 0) | (orientation == nil ? 0 : 0x08)
    var chunks = riffChunk("VP8X", [flags, 0, 0, 0] + sides24(width, height))
    if frames > 1 {
      chunks += riffChunk("ANIM", [0, 0, 0, 0, 0, 0])
      let frame = [0, 0, 0, 0, 0, 0] + sides24(width, height) + [100, 0, 0, 0] + pixels
      for _ in 0..<frames { chunks += riffChunk("ANMF", frame) }
    } else {
      chunks += pixels
    }
    if let orientation { chunks += riffChunk("EXIF", exif(orientation: orientation)) }
    if padding > 0 { chunks += riffChunk("PADD", noise.bytes(padding - 8)) }
    return riff("WEBP", chunks)
  }

  /// The header of a lossy picture, with the scaling that decoders ignore, and no pixels.
  package static func lossyWebP(width: Int, height: Int) -> [UInt8] {
    var frame: [UInt8] = [0x10, 0, 0, 0x9D, 0x01, 0x2A]
    frame.appendLittle16(width | 0x4000)
    frame.appendLittle16(height | 0x8000)
    return riff("WEBP", riffChunk("VP8 ", frame))
  }

  /// A RIFF of that kind around chunks.
  package static func riff(_ kind: String, _ chunks: [UInt8]) -> [UInt8] {
    riffChunk("RIFF", Array(kind.utf8) + chunks)
  }

  /// A chunk with its length, made even.
  package static func riffChunk(_ name: String, _ payload: [UInt8]) -> [UInt8] {
    var chunk = Array(name.utf8)
    chunk.appendLittle32(payload.count)
    return chunk + payload + [UInt8](repeating: 0, count: payload.count % 2)
  }

  private static func sides24(_ width: Int, _ height: Int) -> [UInt8] {
    var sides: [UInt8] = []
    sides.appendLittle24(width - 1)
    sides.appendLittle24(height - 1)
    return sides
  }

  /// Codes with a single symbol take no bits, so pixels of one colour take none.
  private static func losslessPixels(width: Int, height: Int, seed: UInt64) -> [UInt8] {
    var bits = LowBitWriter()
    bits.write(0x2F, bits: 8)
    bits.write(width - 1, bits: 14)
    bits.write(height - 1, bits: 14)
    bits.write(0, bits: 4)
    bits.write(0, bits: 3)
    for value in [Int(seed & 0xFF), 0x80, 0x40, 0xFF] {
      bits.write(0b101, bits: 3)
      bits.write(value, bits: 8)
    }
    bits.write(0b0001, bits: 4)
    return bits.bytes
  }
}
