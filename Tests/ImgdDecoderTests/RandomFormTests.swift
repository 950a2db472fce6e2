import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

/// Whatever is wanted of a good picture, the picture stays a good one.
struct RandomFormTests {
  private static let pictures: [(format: PictureFormat, suffix: String, frames: Int)] = [
    (.jpeg, ".jpg", 1), (.png, ".png", 1), (.gif, ".gif", 3), (.webp, ".webp", 3),
    (.webp, ".webp[lossless]", 1), (.avif, ".avif", 1), (.tiff, ".tif", 1), (.jxl, ".jxl", 1),
  ]
  /// Those about which formats and limits have an opinion, and some between.
  private static let sides = [
    1, 2, 3, 7, 50, 333, 16_383, 16_384, 16_385, 65_500, 65_501, 65_535,
  ]

  @Test(arguments: pictures) func `no form makes a good picture a damaged one`(
    picture: (format: PictureFormat, suffix: String, frames: Int)
  ) throws {
    var noise = Noise(seed: 26)
    for _ in 0..<4 {
      let (width, height) = (
        Int.random(in: 1...90, using: &noise), Int.random(in: 1...30, using: &noise)
      )
      let orientation = picture.frames > 1 ? 1 : Int.random(in: 1...8, using: &noise)
      let file = try Pixels.gradient(width: width, height: height * picture.frames).file(
        TEST_VIPS_RGB, as: picture.suffix, orientation: orientation, frames: picture.frames)
      for _ in 0..<10 {
        let form = Self.form(&noise)
        let answer = try answer(
          file, picture.format, form, limits: DecodeLimits(pixels: 70_000))
        #expect(
          answer.cause == nil || answer.cause == .tooLarge,
          "\(width)x\(height) \(orientation) as \(form): \(answer.reason ?? "")")
      }
    }
  }

  private static func form(_ noise: inout Noise) -> Rendition {
    func side() -> Int { sides.randomElement(using: &noise) ?? 1 }
    let fit =
      [Rendition.Box.Fit.contain, .cover, .fill, .pad, .coverAlike, .coverDown].randomElement(using: &noise) ?? .fill
    var box = Rendition.Box(
      width: side(), height: fit == .contain && Bool.random(using: &noise) ? nil : side(), fit: fit,
      crop: Bool.random(using: &noise) ? .centre : .attention,
      enlarges: Int.random(in: 0..<4, using: &noise) > 0, isLinear: Bool.random(using: &noise))
    if Bool.random(using: &noise) {
      box.rotation = [0, 90, 180, 270].randomElement(using: &noise) ?? 0
      box.minWidth = [nil, 1, 50, 300].randomElement(using: &noise) ?? nil
      box.padding = Bool.random(using: &noise) ? .init(top: 1, right: 0, bottom: 3, left: 4) : nil
      if Bool.random(using: &noise) { box.area = .init(around: box.crop, width: side(), height: side()) }
    }
    let outputs: [Rendition.Output] = [
      .pixels, .description, .file(nil, quality: nil), .file(.jpeg, quality: 1),
      .file(.jpeg, quality: nil), .file(.png, quality: nil), .file(.webp, quality: 100),
      .file(.avif, quality: 30),
    ]
    return Rendition(
      outputs.randomElement(using: &noise) ?? .pixels, box: box,
      frames: Bool.random(using: &noise) ? .all : .first)
  }
}
