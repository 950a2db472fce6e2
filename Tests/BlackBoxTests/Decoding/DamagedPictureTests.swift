import ImgdTestSupport
import ImgdWire
import Testing

/// Pictures that were cut off or changed: each has one answer, and the daemon goes on.
struct DamagedPictureTests {
  @Test(arguments: SoundPictures.formats)
  func `a picture that ends too early has one answer`(format: String) throws {
    let stage = try Stage()
    let damage = try Damage(stage)
    let picture = try SoundPictures.make(format, on: stage)
    let step = max(1, picture.count / 40)
    let places = Array(0..<min(20, picture.count)) + stride(from: 20, to: picture.count, by: step)
    try damage.serve(places.map { Array(picture.prefix($0)) })
    #expect(damage.outcomes["ok", default: 0] < places.count)
  }

  @Test(arguments: SoundPictures.formats)
  func `a picture with wrong bits has one answer`(format: String) throws {
    try DamagedRun.run(format, count: 200, seed: 1)
  }
}

/// The same, for longer.
@Suite("Thousands of damaged pictures", .slow, .serialized) struct DamagedPictureSoakTests {
  @Test(arguments: SoundPictures.formats)
  func `a picture with wrong bits has one answer`(format: String) throws {
    try DamagedRun.run(format, count: 2_000, seed: 2)
  }
}

private enum DamagedRun {
  static func run(_ format: String, count: Int, seed: UInt64) throws {
    // A wrong bit can make a width of 12 one of 32,780, whose pixels would keep a decoder for seconds.
    let stage = try Stage("Decode.MaxPixels=4000000")
    let damage = try Damage(stage)
    let picture = try SoundPictures.make(format, on: stage)
    var generator = SeededGenerator(seed: seed)
    let pictures = (0..<count).map { _ in SoundPictures.damaged(picture, &generator) }
    try damage.serve(pictures)
    #expect(damage.outcomes["ok", default: 0] < count, "nothing was found to be damaged")
    // No picture is worth a decoder: what is damaged is told by an answer.
    #expect(damage.outcomes["decode_crashed", default: 0] == 0, "\(damage.outcomes)")
    #expect(try stage.stats("decode", "killed") == 0)
  }
}
