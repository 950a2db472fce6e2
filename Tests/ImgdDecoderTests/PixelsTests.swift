import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

struct PixelsTests {
  /// A file of each format that libvips writes, and how far its colours may be off.
  private static let formats: [(format: PictureFormat, suffix: String, tolerance: Int)] = [
    (.jpeg, ".jpg[Q=95]", 8), (.jpeg, ".jpg[Q=95,interlace]", 8), (.png, ".png", 0),
    (.png, ".png[interlace]", 0), (.gif, ".gif", 30), (.webp, ".webp[lossless]", 0),
    (.webp, ".webp[Q=95]", 10), (.avif, ".avif[Q=90]", 10), (.heic, ".heic[Q=90]", 10),
    (.tiff, ".tif", 0), (.tiff, ".tif[compression=lzw,tile]", 0), (.jxl, ".jxl[Q=95]", 16),
  ]

  @Test(arguments: formats)
  func `every format is decoded`(format: PictureFormat, suffix: String, tolerance: Int) throws {
    let pixels = Pixels.gradient()
    let made = try answer(try pixels.file(TEST_VIPS_RGB, as: suffix), format).made()
    #expect(made.format == nil)
    #expect(made.frames == 1)
    #expect(made.content.count == 64 * 48 * 4)
    #expect(made.difference(from: pixels) <= tolerance)
  }

  @Test func `pictures that libvips cannot write are decoded`() throws {
    for (format, digits) in FirstPictureBytes.all {
      let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { place in
        UInt8(digits.dropFirst(place).prefix(2), radix: 16)
      }
      let made = try answer(bytes, format).made()
      #expect([made.width, made.height] == [8, 8])
      #expect(difference(made.color(4, 4), [100, 100, 100, 255]) <= 2, "\(format)")
    }
  }

  @Test(arguments: ["png", "webp[lossless]", "tif", "avif[Q=95]", "jxl[Q=100]"])
  func `alpha is kept and not multiplied in`(suffix: String) throws {
    let pixels = Pixels.gradient(alpha: 64)
    let format = try #require(
      PictureFormat.allCases.first { suffix.hasPrefix($0.fileExtension.prefix(3)) })
    let made = try answer(try pixels.file(as: "." + suffix), format).made()
    #expect(made.difference(from: pixels) <= 12)
  }

  @Test func `grey, palettes and sixteen bits become RGBA of eight`() throws {
    let grey = Pixels.plain([90, 90, 90, 255])
    for (kind, suffix) in [
      (TEST_VIPS_GREY, ".png"), (TEST_VIPS_GREY_16, ".png"), (TEST_VIPS_GREY_16, ".tif"),
      (TEST_VIPS_GREY, ".jpg"), (TEST_VIPS_RGBA, ".png[palette]"),
    ] {
      let format: PictureFormat = suffix == ".tif" ? .tiff : suffix == ".jpg" ? .jpeg : .png
      let made = try answer(try grey.file(kind, as: suffix), format).made()
      #expect(made.difference(from: grey) <= 1, "\(kind) \(suffix)")
    }
    let clear = Pixels.plain([200, 100, 50, 128])
    let deep = try answer(try clear.file(TEST_VIPS_RGBA_16, as: ".png"), .png).made()
    #expect(deep.difference(from: clear) <= 1)
  }

  @Test func `CMYK becomes what it looks like`() throws {
    let red = Pixels.plain([200, 60, 50, 255])
    let made = try answer(try red.file(TEST_VIPS_CMYK, as: ".jpg[Q=100]"), .jpeg).made()
    #expect(made.difference(from: red) <= 24)
  }

  @Test(arguments: [
    (PictureFormat.jpeg, ".jpg[Q=100]"), (.png, ".png"), (.webp, ".webp[lossless]"),
  ])
  func `colours of a profile are converted`(format: PictureFormat, suffix: String) throws {
    let green = Pixels.plain([40, 200, 60, 255])
    let file = try green.file(TEST_VIPS_P3, as: suffix)
    let made = try answer(file, format).made()
    #expect(made.difference(from: green) <= 4)
    let boxed = Rendition(.pixels, box: .init(width: 8, height: 8))
    #expect(
      difference(try answer(file, format, boxed).made().color(4, 4), [40, 200, 60, 255]) <= 4)
  }

  /// Where the corner that is at the upper left of the upright picture is stored, and whether sides are swapped.
  private static let orientations: [(orientation: Int, isTurned: Bool)] = (1...8).map {
    ($0, $0 >= 5)
  }

  @Test(
    arguments: orientations,
    [(PictureFormat.jpeg, ".jpg[Q=100]"), (.webp, ".webp[lossless]"), (.tiff, ".tif")])
  func `a picture comes out upright`(
    turn: (orientation: Int, isTurned: Bool), file: (format: PictureFormat, suffix: String)
  ) throws {
    let stored = Pixels.gradient()
    let bytes = try stored.file(TEST_VIPS_RGB, as: file.suffix, orientation: turn.orientation)
    let made = try answer(bytes, file.format).made()
    #expect([made.width, made.height] == (turn.isTurned ? [48, 64] : [64, 48]))
    // Where the upper left of the upright picture is stored, as EXIF has it: rows, columns.
    let (right, bottom) = (63, 47)
    let corner = [
      (0, 0), (right, 0), (right, bottom), (0, bottom), (0, 0), (0, bottom), (right, bottom),
      (right, 0),
    ][turn.orientation - 1]
    let start = (corner.1 * 64 + corner.0) * 4
    #expect(difference(made.color(0, 0), Array(stored.bytes[start..<start + 4])) <= 8)
    let next = turn.isTurned ? (corner.0, 24) : (32, corner.1)
    let middle = (next.1 * 64 + next.0) * 4
    let place = turn.isTurned ? (24, 0) : (32, 0)
    #expect(
      difference(made.color(place.0, place.1), Array(stored.bytes[middle..<middle + 4])) <= 12)
  }

  @Test func `a PNG is turned as it says`() throws {
    let made = try answer(TestPicture.png(width: 9, height: 5, orientation: 6), .png).made()
    #expect([made.width, made.height] == [5, 9])
  }

  @Test func `the fast way for JPEG gives the pixels of the other`() throws {
    let pixels = Pixels.gradient(width: 101, height: 77)
    for suffix in [".jpg[Q=80]", ".jpg[Q=80,interlace]", ".jpg[subsample_mode=off]"] {
      let file = try pixels.file(TEST_VIPS_RGB, as: suffix)
      let fast = try answer(file, .jpeg).made()
      let whole = Rendition(.pixels, box: .init(width: 101, height: 77))
      #expect(try answer(file, .jpeg, whole).made().content.bytes == fast.content.bytes)
    }
  }

  @Test func `the first frame is decoded, and the number of all is told`() throws {
    let pixels = Pixels(width: 20, height: 30) { _, y in
      (0..<3).map { $0 == y / 10 ? 255 : 0 } + [255]
    }
    for (format, suffix) in [(PictureFormat.gif, ".gif"), (.webp, ".webp[lossless]")] {
      let made = try answer(try pixels.file(as: suffix, frames: 3), format).made()
      #expect([made.width, made.height, made.frames] == [20, 10, 3], "\(format)")
      #expect(made.difference(from: .plain([255, 0, 0, 255], width: 20, height: 10)) <= 1)
    }
  }
}
