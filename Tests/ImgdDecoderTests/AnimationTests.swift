import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

struct AnimationTests {
  /// Three frames of 40 by 20: red, green, blue.
  private static let frames = Pixels(width: 40, height: 60) { _, y in
    (0..<3).map { $0 == y / 20 ? 255 : 0 } + [255]
  }
  private static let formats: [(format: PictureFormat, suffix: String)] = [
    (.gif, ".gif"), (.webp, ".webp[lossless]"),
  ]
  private static let boxes: [(box: Rendition.Box?, width: Int, height: Int)] = [
    (nil, 40, 20), (.init(width: 10, height: 10), 10, 5),
    (.init(width: 10, height: 10, fit: .cover), 10, 10),
    (.init(width: 10, height: 10, fit: .cover, crop: .attention), 10, 10),
    (.init(width: 10, height: 15, fit: .fill), 10, 15),
    (.init(width: 80, height: 80, enlarges: true), 80, 40),
    (.init(width: 60, height: 60, fit: .cover, enlarges: true), 60, 60),
  ]

  @Test(arguments: formats, boxes) func `what moves goes on moving`(
    from source: (format: PictureFormat, suffix: String),
    into wanted: (box: Rendition.Box?, width: Int, height: Int)
  ) throws {
    let file = try Self.frames.file(as: source.suffix, frames: 3)
    for target in [nil, PictureFormat.gif, .webp] {
      let rendition = Rendition(.file(target, quality: 100), box: wanted.box)
      let made = try answer(file, source.format, rendition).made()
      #expect([made.width, made.height, made.frames] == [wanted.width, wanted.height, 3])
      let seen = try PictureProbe.recognise(made.content.bytes.span)
      #expect([seen.width, seen.height, seen.frames] == [wanted.width, wanted.height, 3])
      let first = try made.pixels()
      let middle = first.color(wanted.width / 2, wanted.height / 2)
      #expect(difference(middle, [255, 0, 0, 255]) <= 4)
    }
  }

  @Test(arguments: formats) func `a still is made of the first frame`(
    source: (format: PictureFormat, suffix: String)
  ) throws {
    let file = try Self.frames.file(as: source.suffix, frames: 3)
    for rendition in [
      Rendition(.file(.png, quality: nil)), Rendition(.file(.gif, quality: nil), frames: .first),
      Rendition(.file(.webp, quality: nil), box: .init(width: 20, height: 20), frames: .first),
      Rendition(.file(.jpeg, quality: 100), box: .init(width: 5, height: 5, fit: .cover)),
    ] {
      let made = try answer(file, source.format, rendition).made()
      #expect(made.frames == 1)
      #expect(difference(try made.pixels().color(2, 2), [255, 0, 0, 255]) <= 4)
    }
  }

  @Test func `how an animation runs is kept`() throws {
    var file = try Self.frames.file(as: ".gif", frames: 3)
    // The delay in the first graphic control extension, in hundredths of a second.
    let control = try #require(
      file.indices.first { file[$0...].starts(with: [0x21, 0xF9, 0x04]) })
    file[control + 4] = 77
    let rendition = Rendition(.file(nil, quality: nil), box: .init(width: 10, height: 10))
    let made = try answer(file, .gif, rendition).made().content.bytes
    let kept = try #require(made.indices.first { made[$0...].starts(with: [0x21, 0xF9, 0x04]) })
    #expect(made[kept + 4] == 77)
  }
}
