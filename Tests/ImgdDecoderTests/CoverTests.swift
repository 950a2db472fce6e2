import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

/// Pictures that are enlarged to cover a size: what overflows is cut off before.
struct CoverTests {
  private static let sources: [(format: PictureFormat, suffix: String, frames: Int)] = [
    (.png, ".png", 1), (.jpeg, ".jpg[Q=100,subsample_mode=off]", 1),
    (.webp, ".webp[lossless]", 2), (.gif, ".gif", 2),
  ]

  private static func cover(
    _ width: Int, _ height: Int, crop: Rendition.Box.Crop = .centre
  ) -> Rendition.Box {
    .init(width: width, height: height, fit: .cover, crop: crop, enlarges: true)
  }

  /// Nothing else could be made of so few pixels.
  @Test(arguments: [
    (2, 2, 50, 16_384), (2, 2, 1, 14_000), (3_000, 2, 50, 16_383), (2, 2, 9_000, 5),
  ])
  func `what would be too large in between is refused before the work`(
    width: Int, height: Int, wantedWidth: Int, wantedHeight: Int
  ) throws {
    let box = Self.cover(wantedWidth, wantedHeight)
    for frames in [1, 2] {
      let (format, suffix) = frames == 1 ? (PictureFormat.png, ".png") : (.gif, ".gif")
      let file = try Pixels.gradient(width: width, height: height * frames).file(
        as: suffix, frames: frames)
      for output in [Rendition.Output.pixels, .file(.png, quality: nil), .file(nil, quality: nil)] {
        let answer = try answer(
          file, format, Rendition(output, box: box), limits: DecodeLimits(pixels: 50_000_000))
        #expect(answer.cause == .tooLarge)
        #expect(answer.reason?.contains(" in between, ") == true, "\(answer.reason ?? "made")")
      }
    }
  }

  /// The whole, enlarged, would be 4,000 by 3,000.
  @Test(arguments: sources, [Rendition.Box.Crop.centre, .attention])
  func `only what is seen is enlarged`(
    source: (format: PictureFormat, suffix: String, frames: Int), crop: Rendition.Box.Crop
  ) throws {
    let file = try Pixels.gradient(width: 400, height: 300 * source.frames).file(
      TEST_VIPS_RGB, as: source.suffix, frames: source.frames)
    let limits = DecodeLimits(pixels: 1_000_000)
    for box in [Self.cover(4_000, 40, crop: crop), Self.cover(30, 3_000, crop: crop)] {
      let made = try answer(
        file, source.format, Rendition(.file(.webp, quality: 90), box: box), limits: limits
      ).made()
      #expect([made.width, made.height] == [box.width, box.height])
      #expect(made.frames == source.frames)
    }
  }

  @Test(arguments: 1...8) func `the middle stays where it is, however the picture is turned`(
    orientation: Int
  ) throws {
    let stored = Pixels.gradient(width: 60, height: 40)
    let file = try stored.file(
      TEST_VIPS_RGB, as: ".jpg[Q=100,subsample_mode=off]", orientation: orientation)
    let isTurned = orientation >= 5
    let whole = Rendition.Box(
      width: isTurned ? 320 : 480, height: isTurned ? 480 : 320, fit: .fill, enlarges: true)
    let large = try answer(file, .jpeg, Rendition(.pixels, box: whole)).made()
    for (width, height) in [(480, 30), (30, 480), (320, 200)] {
      let factor = max(
        Double(width) / Double(large.width), Double(height) / Double(large.height))
      let made = try answer(
        file, .jpeg, Rendition(.pixels, box: Self.cover(width, height))
      ).made()
      #expect([made.width, made.height] == [width, height])
      for (x, y) in [(0, 0), (width / 2, height / 2), (width - 1, height - 1), (width - 1, 0)] {
        let across = (Double(x) + 0.5 - Double(width) / 2) / factor + Double(large.width) / 2
        let down = (Double(y) + 0.5 - Double(height) / 2) / factor + Double(large.height) / 2
        let place = (min(Int(across), large.width - 1), min(Int(down), large.height - 1))
        #expect(
          difference(made.color(x, y), large.color(place.0, place.1)) <= 8,
          "\(width)x\(height) at \(x), \(y)")
      }
    }
  }

  @Test func `what draws the eye is kept in what is enlarged`() throws {
    // Grey, with a spot near the right edge.
    let pixels = Pixels(width: 120, height: 40) { x, y in
      (x - 100) * (x - 100) + (y - 20) * (y - 20) < 90 ? [250, 60, 30, 255] : [100, 100, 100, 255]
    }
    for (format, suffix) in [(PictureFormat.png, ".png"), (.gif, ".gif")] {
      let file = try pixels.file(as: suffix)
      let box = Self.cover(160, 160, crop: .attention)
      let made = try answer(file, format, Rendition(.pixels, box: box)).made()
      #expect((0..<160).contains { made.color($0, 80)[0] > 200 })
      let centre = try answer(file, format, Rendition(.pixels, box: Self.cover(160, 160))).made()
      #expect(!(0..<160).contains { centre.color($0, 80)[0] > 200 })
    }
  }

  @Test func `each frame of what moves is cut at the same place`() throws {
    let frames = Pixels(width: 40, height: 60) { _, y in
      (0..<3).map { $0 == y / 20 ? 255 : 0 } + [255]
    }
    let file = try frames.file(as: ".webp[lossless]", frames: 3)
    let wanted = Rendition(.file(.webp, quality: 100), box: Self.cover(200, 20), frames: .all)
    let made = try answer(file, .webp, wanted).made()
    #expect([made.width, made.height, made.frames] == [200, 20, 3])
    let still = try made.pixels()
    for (x, y) in [(0, 0), (199, 19), (100, 10)] {
      #expect(difference(still.color(x, y), [255, 0, 0, 255]) <= 4)
    }
  }
}
