import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

struct FileTests {
  private static let written: [PictureFormat] = [.jpeg, .png, .gif, .webp, .avif, .tiff, .jxl]
  private static let own = Rendition(.file(nil, quality: nil))

  @Test(arguments: written) func `every format that is written can be read again`(
    format: PictureFormat
  ) throws {
    let pixels = Pixels.gradient()
    let rendition = Rendition(.file(format, quality: 90))
    let made = try answer(try pixels.file(as: ".png"), .png, rendition).made()
    #expect(made.format == format)
    #expect([made.width, made.height, made.frames] == [64, 48, 1])
    #expect(try made.pixels().difference(from: pixels) <= 30)
  }

  /// As browsers show it.
  @Test(arguments: [
    Rendition(.file(nil, quality: nil)), Rendition(.pixels), Rendition(.description),
  ])
  func `a PNG that announces an animation of no frames is a still picture`(
    rendition: Rendition
  ) throws {
    let png = TestPicture.png(width: 16, height: 16)
    let control = TestPicture.pngChunk("acTL", [UInt8](repeating: 0, count: 8))
    // Behind the signature and the header.
    let announced = Array(png[..<33]) + control + png[33...]
    #expect(try answer(announced, .png, rendition).cause == nil)
  }

  /// A picture in which every pixel differs from its neighbours.
  private static func noise() throws -> [UInt8] {
    var generator = SeededGenerator(seed: 7)
    let pixels = Pixels(width: 64, height: 64) { _, _ in
      (0..<3).map { _ in UInt8.random(in: 0...255, using: &generator) } + [255]
    }
    return try pixels.file(TEST_VIPS_RGB, as: ".png")
  }

  private func made(_ format: PictureFormat, quality: Int? = nil, within most: Int? = nil) throws -> MadePicture {
    try answer(
      try Self.noise(), .png, Rendition(.file(format, quality: quality), mostBytes: most)
    ).made()
  }

  @Test(arguments: [PictureFormat.jpeg, .webp, .avif, .jxl])
  func `a quality is lowered until the file fits, and no further than it must be`(format: PictureFormat) throws {
    let usual = try made(format).content.count
    #expect(try made(format, within: usual).content.count == usual)
    let most = try made(format, quality: 40).content.count
    let fitting = try made(format, within: most).content.count
    #expect(fitting <= most && fitting < usual)
    #expect(try fitting >= made(format, quality: 30).content.count)
  }

  @Test func `what cannot fit is as small as it was tried, and what has no quality stays`() throws {
    let smallest = try made(.jpeg, within: 1).content.count
    #expect(try smallest > 1 && smallest <= made(.jpeg, quality: 10).content.count)
    #expect(try made(.png, within: 1).content.count == made(.png).content.count)
  }

  @Test func `other formats are unsupported`() throws {
    let file = try Pixels.gradient().file(as: ".png")
    for format in PictureFormat.allCases where !Self.written.contains(format) {
      let answer = try answer(file, .png, Rendition(.file(format, quality: nil)))
      #expect(answer.cause == .unsupported)
    }
  }

  @Test func `without a format it is that of the picture, or the nearest`() throws {
    let jpeg = try Pixels.gradient().file(TEST_VIPS_RGB, as: ".jpg")
    #expect(try answer(jpeg, .jpeg, Self.own).made().format == .jpeg)
    #expect(try answer(TestPicture.bmp(width: 4, height: 4), .bmp, Self.own).made().format == .png)
    let heic = try Pixels.gradient().file(TEST_VIPS_RGB, as: ".heic")
    #expect(try answer(heic, .heic, Self.own).made().format == .jpeg)
    let clear = try Pixels.gradient(alpha: 9).file(as: ".heic")
    #expect(try answer(clear, .heic, Self.own).made().format == .png)
  }

  /// Of a picture of 64 by 48.
  private static let boxes: [(box: Rendition.Box, width: Int, height: Int)] = [
    (.init(width: 32, height: 32), 32, 24), (.init(width: 16, height: nil), 16, 12),
    (.init(width: nil, height: 12), 16, 12), (.init(width: 200, height: 200), 64, 48),
    (.init(width: 128, height: 128, enlarges: true), 128, 96),
    (.init(width: nil, height: 96, enlarges: true), 128, 96),
    (.init(width: 1, height: 1), 1, 1), (.init(width: 24, height: 24, fit: .cover), 24, 24),
    (.init(width: 24, height: 24, fit: .cover, crop: .attention), 24, 24),
    (.init(width: 100, height: 20, fit: .cover), 64, 20),
    (.init(width: 100, height: 20, fit: .cover, enlarges: true), 100, 20),
    (.init(width: 10, height: 40, fit: .fill), 10, 40),
    (.init(width: 10, height: 90, fit: .fill), 10, 48),
    (.init(width: 10, height: 90, fit: .fill, enlarges: true), 10, 90),
    (.init(width: 32, height: 32, isLinear: true), 32, 24),
  ]

  @Test(arguments: boxes, [PictureFormat.png, .jpeg])
  func `a box says the size`(
    wanted: (box: Rendition.Box, width: Int, height: Int), format: PictureFormat
  ) throws {
    let suffix = format == .png ? ".png" : ".jpg"
    let file = try Pixels.gradient().file(TEST_VIPS_RGB, as: suffix)
    for output in [Rendition.Output.pixels, .file(nil, quality: nil)] {
      let made = try answer(file, format, Rendition(output, box: wanted.box)).made()
      #expect([made.width, made.height] == [wanted.width, wanted.height])
    }
  }

  @Test func `the centre is kept, or what draws the eye`() throws {
    // Grey, with a spot near the right edge.
    let pixels = Pixels(width: 120, height: 40) { x, y in
      (x - 100) * (x - 100) + (y - 20) * (y - 20) < 90 ? [250, 60, 30, 255] : [100, 100, 100, 255]
    }
    let file = try pixels.file(as: ".png")
    var box = Rendition.Box(width: 40, height: 40, fit: .cover)
    let centre = try answer(file, .png, Rendition(.pixels, box: box)).made()
    #expect(centre.difference(from: .plain([100, 100, 100, 255], width: 40, height: 40)) == 0)
    box.crop = .attention
    let attention = try answer(file, .png, Rendition(.pixels, box: box)).made()
    let isSeen = (0..<40).contains { attention.color($0, 20)[0] > 200 }
    #expect(isSeen)
  }

  /// A loader that opens a picture smaller rounds both of its sides: 38 by 42 for the first.
  @Test(arguments: [(150, 167, 20, 22), (151, 222, 20, 29), (250, 93, 20, 7)])
  func `a picture keeps its own proportions, however it is opened`(
    width: Int, height: Int, wanted: Int, due: Int
  ) throws {
    for (format, suffix) in [(PictureFormat.jpeg, ".jpg"), (.webp, ".webp"), (.png, ".png")] {
      let file = try Pixels.gradient(width: width, height: height).file(TEST_VIPS_RGB, as: suffix)
      let box = Rendition.Box(width: wanted, height: nil, fit: .contain)
      let made = try answer(file, format, Rendition(.file(.png, quality: nil), box: box)).made()
      #expect([made.width, made.height] == [wanted, due], "\(format)")
    }
  }

  @Test func `a turned picture is fitted upright`() throws {
    let file = try Pixels.gradient(width: 64, height: 32).file(
      TEST_VIPS_RGB, as: ".jpg[Q=100]", orientation: 6)
    for (fit, width, height) in [
      (Rendition.Box.Fit.contain, 8, 16), (.cover, 16, 16), (.fill, 16, 16),
    ] {
      let box = Rendition.Box(width: 16, height: 16, fit: fit)
      let made = try answer(file, .jpeg, Rendition(.file(.png, quality: nil), box: box)).made()
      #expect([made.width, made.height] == [width, height])
    }
  }

  @Test func `where and when a picture was taken is not in its renditions`() throws {
    let pixels = Pixels.gradient()
    for (format, suffix) in [(PictureFormat.jpeg, ".jpg"), (.webp, ".webp"), (.tiff, ".tif")] {
      let file = try pixels.file(TEST_VIPS_P3, as: suffix, orientation: 3)
      for target in Self.written {
        let made = try answer(file, format, Rendition(.file(target, quality: nil))).made()
        let text = String(decoding: made.content.bytes, as: Unicode.ASCII.self)
        for note in ["Exif\0", "acsp", "http:"] {
          let isThere = text.contains(note)
          #expect(!isThere, "\(note.prefix(4)) in \(target) of \(format)")
        }
        let seen = try PictureProbe.recognise(made.content.bytes.span)
        #expect(seen.orientation == 1)
      }
    }
  }

  @Test func `what is clear is white in a JPEG`() throws {
    let clear = Pixels.plain([0, 0, 0, 0])
    let rendition = Rendition(.file(.jpeg, quality: 100))
    let made = try answer(try clear.file(as: ".png"), .png, rendition).made().pixels()
    #expect(difference(made.color(3, 3), [255, 255, 255, 255]) <= 1)
  }
}
