import ImgdPicture
import ImgdTestSupport
import Testing

struct PNGTests {
  private static let header =
    TestPicture.pngSignature + TestPicture.pngHeader(width: 3, height: 4)
  private static let pixels = TestPicture.pngChunk("IDAT", [1, 2, 3])

  private func control(_ frames: [UInt8]) -> [UInt8] {
    TestPicture.pngChunk("acTL", frames + [0, 0, 0, 0])
  }

  @Test func `an animation is announced before the pixels`() {
    #expect(
      verdict(Self.header + control([0, 1, 0, 0]) + Self.pixels) == line(.png, 3, 4, frames: 65_536)
    )
    #expect(verdict(Self.header + Self.pixels + control([0, 0, 0, 9])) == line(.png, 3, 4))
  }

  @Test(arguments: [[0, 0, 0, 0], [0x80, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]])
  func `an animation of no frames, or of more than the format has, is a still picture`(
    frames: [UInt8]
  ) {
    #expect(verdict(Self.header + control(frames) + Self.pixels) == line(.png, 3, 4))
  }

  @Test(arguments: [0, 4, 7, 9, 12])
  func `an announcement of another length is none`(length: Int) {
    let chunk = TestPicture.pngChunk("acTL", [UInt8](repeating: 1, count: length))
    #expect(verdict(Self.header + chunk + Self.pixels) == line(.png, 3, 4))
  }

  @Test func `the first announcement that can be one counts`() {
    let chunks = control([0, 0, 0, 0]) + control([0, 0, 0, 2]) + control([0, 0, 0, 9])
    #expect(verdict(Self.header + chunks + Self.pixels) == line(.png, 3, 4, frames: 2))
  }

  @Test(arguments: 1...8)
  func `every orientation is read`(_ orientation: Int) {
    #expect(
      verdict(TestPicture.png(width: 2, height: 2, orientation: orientation))
        == line(.png, 2, 2, orientation: orientation))
  }

  @Test func `pixels may break off, chunks before them may not`() {
    let padding = TestPicture.pngChunk("paDd", [1, 2, 3, 4])
    let png = Self.header + padding + Self.pixels
    let pixelsName = Self.header.count + padding.count + 8
    #expect(verdict(Array(png.prefix(pixelsName))) == line(.png, 3, 4))
    #expect(verdict(Array(png.prefix(pixelsName - 1))) == "PNG that ends before its pixels")
    #expect(
      verdict(Self.header + TestPicture.pngChunk("IEND", []) + Self.pixels)
        == "PNG that ends before its pixels")
  }

  @Test func `the header comes first and has its length`() {
    #expect(verdict(TestPicture.pngSignature + Self.pixels) == "PNG without IHDR")
    #expect(verdict(TestPicture.pngSignature) == "PNG without IHDR")
    let long = TestPicture.pngChunk("IHDR", [UInt8](repeating: 1, count: 14))
    #expect(verdict(TestPicture.pngSignature + long + Self.pixels) == "PNG without IHDR")
  }

  @Test func `sides are between 1 and 2^31 - 1`() {
    func png(_ width: Int, _ height: Int) -> [UInt8] {
      TestPicture.pngSignature + TestPicture.pngHeader(width: width, height: height) + Self.pixels
    }
    #expect(verdict(png(2_147_483_647, 1)) == line(.png, 2_147_483_647, 1))
    #expect(verdict(png(2_147_483_648, 1)) == "png whose width is 2147483648")
    #expect(verdict(png(1, 4_294_967_295)) == "png whose height is 4294967295")
    #expect(verdict(png(0, 1)) == "png whose width is 0")
  }

  @Test func `a chunk of 2 GB is beyond the end`() {
    for length: UInt8 in [0x7F, 0x80, 0xFF] {
      let huge = [length, 0xFF, 0xFF, 0xFF] + Array("eXIf".utf8)
      #expect(verdict(Self.header + huge + Self.pixels) == "PNG that ends before its pixels")
    }
  }
}
