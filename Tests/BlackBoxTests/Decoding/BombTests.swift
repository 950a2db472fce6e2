import ImgdTestSupport
import ImgdWire
import Testing

/// Small files that claim to be very large pictures, or to be pictures at all.
@Suite struct BombTests {
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

/// What is no picture, under the name and the type of one.
@Suite struct DisguiseTests {
  private static let documents: [(name: String, text: String)] = [
    (
      "svg",
      #"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="/etc/passwd"/></svg>"#
    ),
    (
      "xml",
      #"<?xml version="1.0"?><!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>"#
    ),
    ("pdf", "%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"),
    ("ps", "%!PS-Adobe-3.0\n(/etc/passwd) (r) file\nshowpage\n"),
    ("html", "<!DOCTYPE html><title>Not found</title><img src=a.png>"),
    ("mvg", "push graphic-context\nimage over 0,0 0,0 'https://127.0.0.1/'\npop graphic-context\n"),
    ("ppm", "P6 1 1 255\nabc"), ("text", "no picture at all"),
    ("fits", "SIMPLE  =                    T"),
  ]

  @Test func `a document is no picture, whatever its name and type`() throws {
    let stage = try Stage()
    for (name, text) in Self.documents {
      for (suffix, type) in [("png", "image/png"), ("jpg", "image/jpeg"), ("svg", "image/svg+xml")]
      {
        let path = "/\(name).\(suffix)"
        stage.origin.plan(path, .picture(Array(text.utf8), type: type))
        for form in [#""deliver":"pixels""#, #""resize":{"width":10}"#, #""describe":true"#] {
          #expect(
            try stage.outcome(path, form + #","cache":"reload""#) == "not_an_image", "\(path)")
        }
      }
    }
    #expect(try stage.stats("decode", "failed") == 0)
  }

  @Test func `a picture is decoded by its bytes, not by its name or type`() throws {
    let stage = try Stage()
    let pixels = TestPixels.plain([10, 20, 30, 255])
    for type in ["image/jpeg", "image/svg+xml", "application/pdf", "text/html", "nonsense"] {
      let path = "/a.\(type.split(separator: "/").last ?? "")"
      stage.origin.plan(path, .picture(TestPicture.png(pixels), type: type))
      #expect(try stage.pixels(of: path) == pixels)
    }
  }

  @Test func `a picture with a document behind it is a picture`() throws {
    let stage = try Stage()
    let pixels = TestPixels.plain([10, 20, 30, 255])
    let behind = Array("<svg/>%PDF-1.4 <?php ?>".utf8)
    #expect(try stage.pixels(of: TestPicture.png(pixels) + behind, at: "/a") == pixels)
    let (bytes, _) = try stage.variant(of: "/a", #""resize":{"width":8}"#)
    #expect(!bytes.holds("svg") && !bytes.holds("php"))
  }
}
