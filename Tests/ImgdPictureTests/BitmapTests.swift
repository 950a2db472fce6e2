import ImgdPicture
import ImgdTestSupport
import Testing

struct BitmapTests {
  /// A bitmap header with these bytes as width and height.
  private func bmp(_ width: [UInt8], _ height: [UInt8]) -> [UInt8] {
    Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40, 0, 0, 0] + width + height
  }

  @Test func `a negative height is valid, a negative width is not`() {
    let minusFour: [UInt8] = [0xFC, 0xFF, 0xFF, 0xFF]
    let least: [UInt8] = [0, 0, 0, 0x80]
    #expect(verdict(bmp([3, 0, 0, 0], minusFour)) == line(.bmp, 3, 4))
    #expect(verdict(bmp(minusFour, [3, 0, 0, 0])) == "bmp whose width is -4")
    #expect(verdict(bmp([3, 0, 0, 0], least)) == "bmp whose height is 2147483648")
    #expect(verdict(bmp([3, 0, 0, 0], [0, 0, 0, 0])) == "bmp whose height is 0")
  }

  @Test(arguments: [0, 11, 13, 41, 255] as [UInt8])
  func `headers of other lengths are unknown`(_ size: UInt8) {
    var bytes = bmp([3, 0, 0, 0], [4, 0, 0, 0])
    bytes[14] = size
    #expect(verdict(bytes) == "BMP with an unknown header of \(size) bytes")
  }

  @Test(arguments: [14, 17, 18, 25])
  func `a header that breaks off is refused`(_ length: Int) {
    let bytes = bmp([3, 0, 0, 0], [4, 0, 0, 0]).prefix(length)
    #expect(verdict(Array(bytes)) == "BMP that ends inside its header")
  }

  @Test func `the widest entry of an icon counts, and 0 means 256`() {
    #expect(verdict(TestPicture.ico(sizes: [16, 64, 32])) == line(.ico, 64, 64))
    #expect(verdict(TestPicture.ico(sizes: [16, 256, 32])) == line(.ico, 256, 256))
    #expect(verdict(TestPicture.ico(sizes: [512, 256], asPNG: true)) == line(.ico, 512, 512))
  }

  @Test func `an icon entry whose picture would lie in the table is ignored`() {
    var ico = TestPicture.ico(sizes: [16, 64])
    ico.replaceSubrange(34..<38, with: [6, 0, 0, 0])
    #expect(verdict(ico) == line(.ico, 16, 16))
    ico.replaceSubrange(18..<22, with: [37, 0, 0, 0])
    #expect(verdict(ico) == "ICO without an entry")
  }

  @Test func `a table without entries, or with too many, is refused`() {
    #expect(verdict([0, 0, 1, 0, 0, 0]) == "ICO without an entry")
    #expect(verdict([0, 0, 1, 0]) == "ICO that ends inside its table")
    #expect(
      verdict([0, 0, 1, 0, 0xFF, 0xFF] + [UInt8](repeating: 9, count: 100))
        == "ICO that ends inside its table")
  }

  @Test func `a PNG of absurd size in an icon is refused, not multiplied`() {
    let png =
      TestPicture.pngSignature
      + TestPicture.pngHeader(width: 4_294_967_295, height: 4_294_967_295)
    let ico = [0, 0, 1, 0, 1, 0] + [1, 1, 0, 0, 0, 0, 0, 0, 9, 9, 0, 0, 22, 0, 0, 0] + png
    #expect(verdict(ico) == "ico whose width is 4294967295")
  }
}
