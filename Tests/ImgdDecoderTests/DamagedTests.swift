import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

struct DamagedTests {
  private static let renditions = [
    Rendition(.pixels), Rendition(.pixels, box: .init(width: 10, height: 10)),
    Rendition(.file(.png, quality: nil)),
    Rendition(.file(nil, quality: nil), box: .init(width: 10, height: 10, fit: .cover)),
    Rendition(.description),
  ]

  @Test(arguments: renditions) func `what ends too early is damaged`(rendition: Rendition) throws {
    var noise = Noise(seed: 7)
    let pixels = Pixels(width: 60, height: 60) { _, _ in noise.bytes(3) + [255] }
    for (format, suffix) in [
      (PictureFormat.jpeg, ".jpg"), (.png, ".png"), (.gif, ".gif"), (.webp, ".webp"),
      (.tiff, ".tif[compression=deflate]"), (.jxl, ".jxl"), (.avif, ".avif"),
    ] {
      let file = try pixels.file(TEST_VIPS_RGB, as: suffix)
      let cut = try answer(Array(file.prefix(file.count * 2 / 3)), format, rendition)
      #expect(cut.cause == .damaged, "\(suffix): \(cut.reason ?? "a picture")")
    }
  }

  @Test func `another format than the order says is not tried`() throws {
    let png = try Pixels.gradient().file(as: ".png")
    let documents = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"/>",
      "%PDF-1.4\n1 0 obj\n<<>>\nendobj\n", "%!PS-Adobe-3.0\nshowpage\n", "push graphic-context\n",
      "P6 1 1 255\nabc", "",
    ].map { Array($0.utf8) }
    for format in PictureFormat.allCases {
      for file in documents.dropFirst(format == .svg ? 1 : 0) + (format == .png ? [] : [png]) {
        for rendition in Self.renditions {
          #expect(try answer(file, format, rendition).cause == .damaged)
        }
      }
    }
  }

  /// Or one request could take a decoder all of its time and memory, and the picture its good name.
  @Test(arguments: [Rendition.Box.Fit.contain, .cover, .fill], [true, false])
  func `a size that is too much to make is refused, and is no damage`(
    fit: Rendition.Box.Fit, isWide: Bool
  ) throws {
    let file = try Pixels.gradient().file(as: ".png")
    let (width, height) = isWide ? (3_000, 10) : (1_200, 1_200)
    let box = Rendition.Box(
      width: width, height: fit == .contain ? nil : height, fit: fit, enlarges: true)
    let limits = DecodeLimits(pixels: 1_000_000, frames: 2, dimension: 2_000)
    #expect(try answer(file, .png, Rendition(.pixels, box: box), limits: limits).cause == .tooLarge)
    let smaller = Rendition.Box(width: 800, height: 800, fit: fit, enlarges: true)
    #expect(try answer(file, .png, Rendition(.pixels, box: smaller), limits: limits).cause == nil)
  }

  @Test func `a header that claims too much costs nothing`() throws {
    let huge =
      TestPicture.pngSignature + TestPicture.pngHeader(width: 60_000, height: 60_000)
      + TestPicture.pngChunk("IDAT", [0x78, 0x01]) + TestPicture.pngChunk("IEND", [])
    let limits = DecodeLimits(pixels: 1_000_000, frames: 2, dimension: 2_000)
    for rendition in Self.renditions {
      #expect(try answer(huge, .png, rendition).cause == .tooLarge)
      let wide = try Pixels.plain([1, 2, 3, 255], width: 2_001, height: 1).file(as: ".png")
      #expect(try answer(wide, .png, rendition, limits: limits).cause == .tooLarge)
    }
    let moving = try Pixels.gradient(width: 20, height: 30).file(as: ".gif", frames: 3)
    let whole = Rendition(.file(nil, quality: nil))
    #expect(try answer(moving, .gif, whole, limits: limits).cause == .tooLarge)
    #expect(try answer(moving, .gif, limits: limits).cause == nil)
    let few = DecodeLimits(pixels: 500, frames: 9, dimension: 100)
    #expect(try answer(moving, .gif, whole, limits: few).cause == .tooLarge)
    #expect(try answer(moving, .gif, limits: few).cause == nil)
  }

  /// A file that is changed at many places is a picture or a failure.
  @Test(arguments: [".jpg", ".png", ".gif", ".webp", ".tif"])
  func `any change of a file is survived`(suffix: String) throws {
    let file = try Pixels.gradient(width: 24, height: 16).file(TEST_VIPS_RGB, as: suffix)
    var noise = Noise(seed: 1)
    for _ in 0..<60 {
      let changed = file.changed(by: &noise)
      for format in PictureFormat.allCases {
        for rendition in Self.renditions {
          _ = try answer(changed, format, rendition, limits: DecodeLimits(pixels: 1_000_000))
        }
      }
    }
  }

  /// The frames that the library finds are not always those that the file announces.
  @Test(arguments: [PictureFormat.gif, .webp]) func `what a damaged animation gives is an answer`(
    format: PictureFormat
  ) throws {
    let file = try Pixels.gradient(width: 12, height: 32).file(as: "." + format.name, frames: 4)
    var noise = Noise(seed: 3)
    for _ in 0..<600 {
      let changed = file.changed(by: &noise)
      for rendition in [Rendition(.pixels), Rendition(.file(nil, quality: nil))] {
        let answer = try answer(changed, format, rendition, limits: DecodeLimits(pixels: 100_000))
        #expect(answer.isAnswer(to: rendition))
      }
    }
  }
}

extension [UInt8] {
  /// With one to four bytes replaced.
  func changed(by noise: inout Noise) -> [UInt8] {
    var changed = self
    for _ in 0..<Int.random(in: 1...4, using: &noise) {
      changed[Int.random(in: 0..<count, using: &noise)] = UInt8.random(in: 0...255, using: &noise)
    }
    return changed
  }
}
