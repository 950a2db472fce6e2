import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

/// What cannot be written says nothing about the picture.
struct WriterTests {
  private static let longest: [(format: PictureFormat, side: Int)] = [
    (.jpeg, 65_500), (.webp, 16_383), (.avif, 16_384), (.gif, 65_535),
  ]

  private static func strip(_ side: Int, isWide: Bool) -> Rendition.Box {
    .init(width: isWide ? side : 2, height: isWide ? 2 : side, fit: .fill, enlarges: true)
  }

  @Test(arguments: longest, [true, false])
  func `a side that a format does not have is refused with both numbers`(
    longest: (format: PictureFormat, side: Int), isWide: Bool
  ) throws {
    let limits = DecodeLimits(dimension: 1_000_000)
    let file = try Pixels.gradient(width: 8, height: 8).file(as: ".png")
    let (format, side) = longest
    let fits = Rendition(.file(format, quality: nil), box: Self.strip(side, isWide: isWide))
    let made = try answer(file, .png, fits, limits: limits).made()
    #expect(max(made.width, made.height) == side)
    // It can be read again here, and so elsewhere.
    #expect(try made.pixels().width == made.width)

    let beyond = Rendition(.file(format, quality: nil), box: Self.strip(side + 1, isWide: isWide))
    let refused = try answer(file, .png, beyond, limits: limits)
    #expect(refused.cause == .tooLarge)
    let size = isWide ? "\(side + 1)x2" : "2x\(side + 1)"
    #expect(refused.reason == "\(size), and \(format.name) has at most \(side) a side")
  }

  /// Or the refusal would cost as much as the work.
  @Test(arguments: [nil, Rendition.Box(width: 66_000, height: 2, fit: .cover, enlarges: true)])
  func `what cannot be written is refused before a pixel is read`(box: Rendition.Box?) throws {
    let file = try Pixels.gradient(width: 66_000, height: 2).file(as: ".png")
    let limits = DecodeLimits(dimension: 1_000_000)
    let wanted = Rendition(.file(.jpeg, quality: nil), box: box)
    let cut = Array(file.prefix(file.count / 2))
    #expect(try answer(cut, .png, wanted, limits: limits).cause == .tooLarge)
    #expect(try answer(cut, .png, limits: limits).cause == .damaged)
  }

  @Test func `formats without a limit are written as large as imgd allows`() throws {
    let file = try Pixels.gradient(width: 8, height: 8).file(as: ".png")
    for format in [PictureFormat.png, .tiff, .jxl] {
      let wanted = Rendition(
        .file(format, quality: nil), box: Self.strip(100_000, isWide: true))
      let made = try answer(file, .png, wanted, limits: DecodeLimits(dimension: 100_000)).made()
      #expect(made.width == 100_000)
    }
  }

  @Test func `a writer without memory for its work leaves the picture a good one`() throws {
    let decoder = try DecoderProcess(["--memory", "67108864"])
    _ = try decoder.abilities()
    let file = try Pixels.gradient(width: 2, height: 2).file(as: ".png")
    for (side, format) in [(1_500, PictureFormat.webp), (4_500, .webp), (3_000, .avif)] {
      let box = Rendition.Box(width: side, height: side, fit: .fill, enlarges: true)
      let answer = try decoder.answer(
        file, .png, Rendition(.file(format, quality: nil), box: box),
        limits: DecodeLimits())
      #expect([nil, .tooLarge, .unmade].contains(answer?.cause), "\(answer?.reason ?? "")")
    }
  }

  @Test(arguments: [(PictureFormat.gif, ".gif"), (.webp, ".webp")])
  func `a frame that is damaged fails the forms that need it`(
    format: PictureFormat, suffix: String
  ) throws {
    var noise = Noise(seed: 9)
    let pixels = Pixels(width: 60, height: 120) { _, _ in noise.bytes(3) + [255] }
    let file = try pixels.file(TEST_VIPS_RGB, as: suffix, frames: 2)
    var broken = file
    // In the middle of the second of two equally large frames.
    for place in file.count * 3 / 4..<file.count * 7 / 8 { broken[place] = 0xFF }
    let moving = Rendition(
      .file(nil, quality: nil), box: .init(width: 10, height: 10), frames: .all)
    let failed = try answer(broken, format, moving)
    #expect(failed.cause == .unmade, "\(failed.reason ?? "made")")
    #expect(try answer(broken, format).cause == nil)
    for place in file.count / 4..<file.count / 3 { broken[place] = 0xFF }
    #expect(try answer(broken, format, moving).cause == .damaged)
    #expect(try answer(broken, format).cause == .damaged)
  }
}
