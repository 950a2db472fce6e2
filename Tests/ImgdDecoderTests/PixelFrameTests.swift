import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

/// Pixels of all frames, and in the order of other toolkits.
struct PixelFrameTests {
  /// Three frames of 40 by 20: red, green, blue.
  private static let frames = Pixels(width: 40, height: 60) { _, y in
    (0..<3).map { $0 == y / 20 ? 255 : 0 } + [255]
  }
  private static let all = Rendition(.pixels, frames: .all)

  @Test(arguments: [(PictureFormat.gif, ".gif"), (.webp, ".webp[lossless]")])
  func `all frames come one below the other`(format: PictureFormat, suffix: String) throws {
    let file = try Self.frames.file(as: suffix, frames: 3)
    let boxes: [(box: Rendition.Box?, width: Int, height: Int)] = [
      (nil, 40, 20), (.init(width: 20, height: 20), 20, 10),
      (.init(width: 10, height: 10, fit: .cover, crop: .point(x: 0, y: 0)), 10, 10),
      (.init(width: 40, height: 40, fit: .pad, background: .white), 40, 40),
      (.init(width: nil, height: nil, area: .init(x: 5, y: 5, width: 9, height: 8, isRelative: false)), 9, 8),
    ]
    for (box, width, height) in boxes {
      let made = try answer(file, format, Rendition(.pixels, box: box, frames: .all)).made()
      #expect([made.width, made.height, made.frames, made.delays.count] == [width, height, 3, 3])
      #expect(made.content.count == width * height * 4 * 3)
      for frame in 0..<3 {
        let middle = made.color(width / 2, frame * height + height / 2)
        #expect(difference(middle, (0..<3).map { $0 == frame ? 255 : 0 } + [255]) <= 4)
      }
    }
    let first = try answer(file, format, Rendition(.pixels, frames: .first)).made()
    #expect(first.content.count == 40 * 20 * 4 && first.frames == 3 && first.delays.isEmpty)
  }

  @Test func `delays are those of the file`() throws {
    var gif = TestPicture.gif(width: 4, height: 3, frames: 4)
    let controls = gif.indices.filter { gif[$0...].starts(with: [0x21, 0xF9, 0x04]) }
    for (number, place) in controls.enumerated() {
      (gif[place + 4], gif[place + 5]) = ([7, 0, 44, 1][number], number == 3 ? 1 : 0)
    }
    #expect(try answer(gif, .gif, Self.all).made().delays == [70, 0, 440, 2_570])
    let webp = TestPicture.webp(width: 4, height: 3, frames: 2)
    #expect(try answer(webp, .webp, Self.all).made().delays == [100, 100])
  }

  @Test func `what has one frame has no delays`() throws {
    for (format, file) in [
      (PictureFormat.gif, TestPicture.gif(width: 4, height: 3)),
      (.png, TestPicture.apng(frames: 3)), (.jpeg, TestPicture.jpeg(width: 8, height: 8)),
    ] {
      let made = try answer(file, format, Self.all).made()
      #expect(made.delays.isEmpty && made.content.count == made.width * made.height * 4)
    }
  }

  @Test func `limits are those of all frames together`() throws {
    let file = try Self.frames.file(as: ".gif", frames: 3)
    let limits = DecodeLimits(pixels: 2_399)
    #expect(try answer(file, .gif, Self.all, limits: limits).cause == .tooLarge)
    let few = DecodeLimits(frames: 2)
    #expect(try answer(file, .gif, Self.all, limits: few).cause == .tooLarge)
    let first = Rendition(.pixels, frames: .first)
    #expect(try answer(file, .gif, first, limits: limits).cause == nil)
    let many = TestPicture.gif(width: 1, height: 1, frames: MadePicture.mostDelays + 1)
    let refused = try answer(many, .gif, Self.all, limits: DecodeLimits(frames: 10_000))
    #expect(refused.cause == .tooLarge && refused.reason == "4097 frames, at most 4096 as pixels")
  }

  @Test(arguments: [0, 1, 2, 127, 128, 254, 255] as [UInt8])
  func `alpha is multiplied in, rounded`(alpha: UInt8) throws {
    let pixels = Pixels(width: 64, height: 4) { x, y in [UInt8(x * 4), UInt8(255 - x), UInt8(y * 80), alpha] }
    let file = try pixels.file(as: ".png")
    let made = try answer(
      file, .png, Rendition(.pixels, frames: .first, layout: .premultipliedBGRA)
    ).made()
    for x in 0..<64 {
      for y in 0..<4 {
        let straight = [Int(y * 80), 255 - x, x * 4]
        let wanted = straight.map { UInt8((Double($0) * Double(alpha) / 255).rounded()) } + [alpha]
        #expect(made.color(x, y) == wanted)
      }
    }
  }

  @Test(arguments: 1...8) func `a JPEG has the same colours in either order`(orientation: Int) throws {
    let file = try Pixels.gradient().file(
      TEST_VIPS_RGB, as: ".jpg[Q=95]", orientation: orientation)
    let straight = try answer(file, .jpeg).made()
    let other = try answer(
      file, .jpeg, Rendition(.pixels, frames: .first, layout: .premultipliedBGRA)
    ).made()
    #expect([straight.width, straight.height] == [other.width, other.height])
    for (x, y) in [(0, 0), (10, 20), (straight.width - 1, straight.height - 1)] {
      let color = straight.color(x, y)
      #expect(other.color(x, y) == [color[2], color[1], color[0], 255])
    }
  }
}
