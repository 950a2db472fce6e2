import ImgdPicture
import ImgdTestSupport
import Testing

struct CodestreamTests {
  @Test(arguments: [
    (8, 256), (256, 8), (64, 64), (1, 2), (512, 513), (8192, 8193), (262_144, 262_145),
    (1_000_000, 3), (1_073_741_824, 1),
  ])
  func `sides of every width of number are read`(_ width: Int, _ height: Int) {
    for inBoxes in [false, true] {
      let jxl = TestPicture.jxl(width: width, height: height, inBoxes: inBoxes)
      #expect(verdict(jxl) == line(.jxl, width, height))
    }
  }

  @Test(
    arguments: [
      // The width as each of the seven ratios, then as a number.
      ([0x4F, 0x40], "64x64"),
      ([0xDF, 0x41, 0x42, 0x71, 0x21], "256x128"),
      ([0x18, 0x23], "120x100"),
      ([0x58, 0x39], "400x300"),
      ([0x78, 0x4C], "600x400"),
      ([0xC8, 0x52], "160x90"),
      ([0x78, 0x6C], "500x400"),
      ([0x18, 0x73], "200x100"),
      ([0x10, 0x00, 0x4F, 0x46, 0x00], "9000x3"),
      ([0x60, 0x02, 0xF4, 0x80, 0x84], "123x77"),
    ] as [([UInt8], String)])
  func `the first bytes that an encoder writes give its sizes`(_ bytes: [UInt8], _ size: String) {
    #expect(verdict([0xFF, 0x0A] + bytes + [0x90, 0x50, 0x5C, 0]).hasPrefix("jxl \(size) "))
  }

  @Test(arguments: 1...8)
  func `every orientation is read`(_ orientation: Int) {
    #expect(
      verdict(TestPicture.jxl(width: 123, height: 77, orientation: orientation))
        == line(.jxl, 123, 77, orientation: orientation))
  }

  @Test func `a JPEG XL without the start of its codestream is refused`() {
    let signature = TestPicture.box("JXL ", [0x0D, 0x0A, 0x87, 0x0A])
    #expect(verdict(signature) == "JPEG XL without a codestream")
    #expect(
      verdict(signature + TestPicture.box("jxlc", [1, 2, 3, 4]))
        == "JPEG XL without the start of its codestream")
    #expect(
      verdict(signature + TestPicture.box("jxlp", [0, 0, 0, 0, 0xFF, 0x0A]))
        == "JPEG XL that ends inside its header")
  }

  @Test func `a JPEG 2000 is the grid less its offset`() {
    let codestream: [UInt8] = [0xFF, 0x4F, 0xFF, 0x51, 0, 41, 0, 0]
    let numbers: [UInt8] = [0, 0, 1, 0, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 10]
    #expect(verdict(codestream + numbers) == "jp2 whose height is 0")
    #expect(verdict(codestream + numbers.dropLast(1) + [9]) == line(.jp2, 255, 1))
    #expect(verdict(codestream + numbers.dropLast(1) + [11]) == "jp2 whose height is -1")
    #expect(verdict(codestream + numbers.dropLast(1)) == "JPEG 2000 that ends inside its header")
  }

  @Test func `a JPEG 2000 without its header box is refused`() {
    let signature = TestPicture.box("jP  ", [0x0D, 0x0A, 0x87, 0x0A])
    let reason = "JPEG 2000 without an image header"
    #expect(verdict(signature) == reason)
    #expect(verdict(signature + TestPicture.box("jp2h", [])) == reason)
    #expect(
      verdict(signature + TestPicture.box("jp2h", TestPicture.box("ihdr", [0, 0, 0, 9]))) == reason)
  }
}
