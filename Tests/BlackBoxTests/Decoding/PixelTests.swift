import ImgdTestSupport
import ImgdWire
import Testing

/// What the pixels of pictures are that come through the daemon and its decoder.
struct PixelTests {
  private static let daemon = SharedDaemon()
  private let stage: Stage

  init() throws { stage = try Self.daemon.stage() }

  /// Colours and alpha; a palette has room for all of them.
  private static let colourful = TestPixels(width: 15, height: 11) { x, y in
    [UInt8(x * 17), UInt8(y * 25), UInt8((x + y) * 10), UInt8(5 + x * y)]
  }

  @Test(arguments: TestPicture.PNGKind.allCases)
  func `a lossless picture has exactly its pixels, with alpha beside them`(
    kind: TestPicture.PNGKind
  ) throws {
    let whole = Self.colourful
    let stored = TestPixels(width: whole.width, height: whole.height) { x, y in
      let pixel = whole[x, y]
      let colour = kind.isGrey ? [pixel[0], pixel[0], pixel[0]] : Array(pixel[..<3])
      return colour + [kind.hasAlpha ? pixel[3] : 255]
    }
    #expect(try stage.pixels(of: TestPicture.png(whole, as: kind), at: "/a") == stored)
  }

  @Test func `what is clear keeps its colour`() throws {
    let clear = TestPixels.plain([200, 100, 50, 0], width: 5, height: 3)
    #expect(try stage.pixels(of: TestPicture.png(clear), at: "/a") == clear)
  }

  @Test(arguments: [false, true]) func `a bitmap has exactly its pixels`(topDown: Bool) throws {
    let bmp = TestPicture.bmp(width: 7, height: 5, topDown: topDown, seed: 3)
    // Rows of a multiple of four bytes, blue first, after a header of 54 bytes.
    let expected = TestPixels(width: 7, height: 5) { x, y in
      let start = 54 + (topDown ? y : 4 - y) * 24 + x * 3
      return [bmp[start + 2], bmp[start + 1], bmp[start], 255]
    }
    #expect(try stage.pixels(of: bmp, at: "/a") == expected)
  }

  @Test(arguments: [("jpeg", 6), ("webp", 12), ("avif", 12), ("png", 0)])
  func `a picture made in another format looks as before`(format: String, most: Int) throws {
    let pixels = TestPixels.gradient(width: 64, height: 48)
    let made = try stage.converted(pixels, to: format, quality: 95, at: "/a")
    let distance = try stage.pixels(of: made, at: "/b").distance(to: pixels)
    #expect(try #require(distance) <= most)
  }

  @Test(arguments: ["jpeg", "png"])
  func `a picture that lies on its side is shown upright`(format: String) throws {
    let pixels = TestPixels.gradient(width: 40, height: 24)
    let exif = TestPicture.exif(orientation: 6)
    var picture: [UInt8]
    if format == "png" {
      picture = TestPicture.png(pixels, as: .colour, chunks: TestPicture.pngChunk("eXIf", exif))
    } else {
      picture = try stage.converted(pixels, to: "jpeg", quality: 95, at: "/upright")
      picture.insert(
        contentsOf: TestPicture.jpegSegment(0xE1, Array("Exif\0\0".utf8) + exif), at: 2)
    }
    let shown = try stage.pixels(of: picture, at: "/a")
    #expect(try #require(shown.distance(to: pixels.turnedRight)) <= 6)
    let (thumbnail, line) = try stage.variant(of: "/a", #""resize":{"width":12},"format":"png""#)
    #expect(line["width"]?.integer == 12 && line["height"]?.integer == 20)
    let small = try stage.pixels(of: thumbnail, at: "/b")
    #expect(small[0, 0][2] < 60 || small[11, 0][0] < 60)
    #expect(small.width == 12 && small.height == 20)
  }

  @Test func `pixels may be asked for in a size`() throws {
    stage.offer(TestPicture.png(.plain([10, 200, 30, 255], width: 50, height: 40)), at: "/a")
    let pixels = try stage.pixels(of: "/a", #""resize":{"width":25}"#)
    #expect(pixels == .plain([10, 200, 30, 255], width: 25, height: 20))
  }

  @Test func `an animation shows its first frame`() throws {
    let colours: [[UInt8]] = [[200, 10, 20], [10, 200, 20], [10, 20, 200]]
    stage.offer(TestPicture.gif(width: 9, height: 7, colours: colours), at: "/a")
    #expect(try stage.pixels(of: "/a") == .plain([200, 10, 20, 255], width: 9, height: 7))
    #expect(try stage.ask("/a")["frames"]?.integer == 3)
  }

  @Test func `a description is a few bytes and the mean colour`() throws {
    stage.offer(TestPicture.png(.plain([10, 200, 30, 255])), at: "/plain")
    stage.offer(TestPicture.png(Self.colourful), at: "/clear")
    let plain = try stage.ask("/plain", #""describe":true"#)
    #expect(plain["average"]?.string == "#0ac81e")
    for line in [plain, try stage.ask("/clear", #""describe":true"#)] {
      let hash = try #require(line["thumbhash"]?.string.flatMap(Base64.decode))
      #expect((20...30).contains(hash.count), "\(hash.count) bytes")
    }
  }
}
