import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

struct BitmapTests {
  private static let red: [UInt8] = [0, 0, 255]
  private static let green: [UInt8] = [0, 255, 0]

  /// A BMP of two by two pixels, from the lower left on.
  private func bitmap(
    depth: Int, compression: Int = 0, palette: [[UInt8]] = [], masks: [Int] = [], height: Int = 2,
    _ rows: [UInt8]
  ) -> [UInt8] {
    var header: [UInt8] = []
    for number in [40, 2, height] { header.appendLittle32(number) }
    header.appendLittle16(1)
    header.appendLittle16(depth)
    for number in [compression, rows.count, 0, 0, palette.count, 0] {
      header.appendLittle32(number)
    }
    for mask in masks { header.appendLittle32(mask) }
    header += palette.flatMap { $0 + [0] }
    var file: [UInt8] = Array("BM".utf8)
    file.appendLittle32(14 + header.count + rows.count)
    file.appendLittle32(0)
    file.appendLittle32(14 + header.count)
    return file + header + rows
  }

  /// Red and green above, green and red below.
  private var files: [(name: String, file: [UInt8])] {
    let palette = [Self.red, Self.green]
    return [
      ("1 bit", bitmap(depth: 1, palette: palette, [0b1000_0000, 0, 0, 0, 0b0100_0000, 0, 0, 0])),
      ("4 bits", bitmap(depth: 4, palette: palette, [0x10, 0, 0, 0, 0x01, 0, 0, 0])),
      ("8 bits", bitmap(depth: 8, palette: palette, [1, 0, 0, 0, 0, 1, 0, 0])),
      ("16 bits", bitmap(depth: 16, [0xE0, 0x03, 0x00, 0x7C, 0x00, 0x7C, 0xE0, 0x03])),
      (
        "16 bits with masks",
        bitmap(
          depth: 16, compression: 3, masks: [0xF800, 0x07E0, 0x001F],
          [0xE0, 0x07, 0x00, 0xF8, 0x00, 0xF8, 0xE0, 0x07])
      ),
      (
        "24 bits",
        bitmap(depth: 24, Self.green + Self.red + [0, 0] + Self.red + Self.green + [0, 0])
      ),
      (
        "32 bits",
        bitmap(depth: 32, Self.green + [0] + Self.red + [0] + Self.red + [0] + Self.green + [0])
      ),
      (
        "top down",
        bitmap(
          depth: 24, height: -2, Self.red + Self.green + [0, 0] + Self.green + Self.red + [0, 0])
      ),
      (
        "runs of 8 bits",
        bitmap(
          depth: 8, compression: 1, palette: palette, [1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1])
      ),
      (
        "runs of 4 bits",
        bitmap(depth: 4, compression: 2, palette: palette, [2, 0x10, 0, 0, 2, 0x01, 0, 1])
      ),
    ]
  }

  @Test func `every kind of bitmap is decoded`() throws {
    for (name, file) in files {
      let made = try answer(file, .bmp).made()
      #expect(made.color(0, 0) == [255, 0, 0, 255], "\(name)")
      #expect(made.color(1, 0) == [0, 255, 0, 255], "\(name)")
      #expect(made.color(0, 1) == [0, 255, 0, 255], "\(name)")
      #expect(made.color(1, 1) == [255, 0, 0, 255], "\(name)")
    }
  }

  @Test func `every cut of a bitmap is damaged`() throws {
    for (name, file) in files {
      for cut in 0..<file.count - (name.hasPrefix("runs") ? 2 : 0) {
        #expect(try answer(Array(file[..<cut]), .bmp).cause != nil, "\(name) cut at \(cut)")
      }
    }
  }

  @Test func `the largest entry of an icon is shown`() throws {
    for isPNG in [false, true] {
      let made = try answer(TestPicture.ico(sizes: [16, 48, 32], asPNG: isPNG), .ico).made()
      #expect([made.width, made.height] == [48, 48])
    }
    let cursor = try answer(TestPicture.ico(sizes: [16], isCursor: true), .ico).made()
    #expect([cursor.width, cursor.height] == [16, 16])
  }

  @Test func `every cut and many changes of an icon are survived`() throws {
    let file = TestPicture.ico(sizes: [8, 16])
    for cut in stride(from: 0, to: file.count, by: 7) {
      #expect(try answer(Array(file[..<cut]), .ico).cause != nil)
    }
    var noise = Noise(seed: 3)
    for _ in 0..<500 { _ = try answer(file.changed(by: &noise), .ico) }
    for (_, file) in files {
      for _ in 0..<200 {
        _ = try answer(file.changed(by: &noise), .bmp, limits: DecodeLimits(pixels: 1_000_000))
      }
    }
  }
}
