import ImgdTestSupport
import ImgdWire
import Testing

/// Small files that claim to be very large pictures, or to be pictures at all.
struct BombTests {
  private static func jpeg(width: Int, height: Int) -> [UInt8] {
    [0xFF, 0xD8] + TestPicture.jpegFrame(0xC0, width: width, height: height)
      + TestPicture.jpegSegment(0xDA, [1, 1, 0, 0, 63, 0]) + [0xFF, 0xD9]
  }

  private static func png(width: Int, height: Int, pixels: [UInt8] = [0x78, 1]) -> [UInt8] {
    TestPicture.pngSignature + TestPicture.pngHeader(width: width, height: height)
      + TestPicture.pngChunk("IDAT", pixels) + TestPicture.pngChunk("IEND", [])
  }

  /// Only the canvas is large: its frame is one pixel.
  private static func gif(canvas: Int, frames: Int) -> [UInt8] {
    var gif = TestPicture.gif(ofFrames: frames)
    for place in [6, 8] {
      gif[place] = UInt8(truncatingIfNeeded: canvas)
      gif[place + 1] = UInt8(truncatingIfNeeded: canvas >> 8)
    }
    return gif
  }

  private static let refused: [(name: String, picture: [UInt8])] = [
    ("a PNG of 2,500 million pixels", png(width: 50_000, height: 50_000)),
    ("a PNG with a side of 2^31 - 1", png(width: 0x7FFF_FFFF, height: 1)),
    ("a JPEG of 4,290 million pixels", jpeg(width: 65_500, height: 65_500)),
    ("a GIF of 3,000 frames", TestPicture.gif(ofFrames: 3_000)),
    ("a GIF of 20 frames of 400 million pixels", gif(canvas: 20_000, frames: 20)),
  ]

  @Test func `what claims to be too large never reaches a decoder`() throws {
    let stage = try Stage()
    for (number, bomb) in Self.refused.enumerated() {
      stage.offer(bomb.picture, at: "/\(number)")
      for form in [
        #""deliver":"pixels""#, #""resize":{"width":10,"enlarge":true}"#,
        #""frames":"first","format":"webp""#,
      ] {
        let line = try stage.ask("/\(number)", form)
        #expect(line.failureCode == "too_many_pixels", "\(bomb.name): \(line.text)")
      }
      // A picture that is only wanted as it is may be as large as it likes.
      #expect(try stage.ask("/\(number)", #""deliver":"none""#)["ok"] == true)
    }
    for name in ["completed", "failed", "killed"] {
      #expect(try stage.stats("decode", name) == 0)
    }
  }

  @Test func `a large canvas with next to nothing in it has one answer`() throws {
    let stage = try Stage("Decode.Memory=256M")
    let damage = try Damage(stage)
    try damage.serve([
      Self.png(width: 9_999, height: 9_999), Self.jpeg(width: 9_999, height: 9_999),
      Self.gif(canvas: 9_999, frames: 1 + 1), TestPicture.gif(ofFrames: 900),
      Self.png(width: 65_535, height: 1), Self.png(width: 1, height: 65_535),
      TestPicture.bmp(width: 3, height: 3).replacingSize(width: 9_999, height: 9_999),
    ])
  }
}

extension [UInt8] {
  /// A bitmap that claims another size.
  fileprivate func replacingSize(width: Int, height: Int) -> [UInt8] {
    var size: [UInt8] = []
    size.appendLittle32(width)
    size.appendLittle32(height)
    return self[..<18] + size + self[26...]
  }
}
