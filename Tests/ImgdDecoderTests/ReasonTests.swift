import CTestVips
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

/// What is said of a failure is about the failure.
struct ReasonTests {
  /// libheif looks for more than is there before it says what it does not like.
  @Test func `a line that says nothing of the failure is left out`() throws {
    let large = try Pixels.gradient(width: 16_385, height: 8).file(TEST_VIPS_RGB, as: ".avif")
    let answer = try answer(large, .avif)
    #expect(answer.cause == .tooLarge)
    #expect(answer.reason?.contains("16385x8 exceeds") == true, "\(answer.reason ?? "made")")
    let whole = try Pixels.gradient().file(TEST_VIPS_RGB, as: ".avif")
    let cut = try ImgdDecoderTests.answer(Array(whole.dropLast(40)), .avif)
    #expect(cut.cause == .damaged)
    #expect(cut.reason?.contains("bad seek") == false, "\(cut.reason ?? "made")")
  }

  @Test func `frames are counted where there are some`() throws {
    let limits = DecodeLimits(pixels: 100, frames: 9, dimension: 1_000)
    let still = try Pixels.gradient(width: 20, height: 10).file(as: ".png")
    #expect(try answer(still, .png, limits: limits).reason == "20x10, at most 100 pixels")
    let moving = try Pixels.gradient(width: 10, height: 20).file(as: ".gif", frames: 2)
    let whole = Rendition(.file(nil, quality: nil), box: .init(width: 9, height: 9))
    #expect(
      try answer(moving, .gif, whole, limits: limits).reason
        == "10x10 in 2 frames, at most 100 pixels")
  }
}
