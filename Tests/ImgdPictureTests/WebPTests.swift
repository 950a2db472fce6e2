import ImgdPicture
import ImgdTestSupport
import Testing

struct WebPTests {
  private func webp(_ chunks: [UInt8]) -> String { verdict(TestPicture.riff("WEBP", chunks)) }

  private func canvas(_ flags: UInt8) -> [UInt8] {
    TestPicture.riffChunk("VP8X", [flags, 0, 0, 0, 2, 0, 0, 0xFF, 0xFF, 0xFF])
  }

  @Test(arguments: [1, 255, 256, 16_383])
  func `lossy and lossless sides have 14 bits`(_ side: Int) {
    #expect(verdict(TestPicture.webp(width: side, height: 7)) == line(.webp, side, 7))
    #expect(verdict(TestPicture.webp(width: 7, height: side)) == line(.webp, 7, side))
    #expect(verdict(TestPicture.lossyWebP(width: side, height: 7)) == line(.webp, side, 7))
    #expect(verdict(TestPicture.lossyWebP(width: 7, height: side)) == line(.webp, 7, side))
  }

  @Test func `the canvas has 24 bits`() {
    #expect(webp(canvas(0)) == line(.webp, 3, 16_777_216))
  }

  @Test func `frames and orientation count only when the flags announce them`() {
    let frame = TestPicture.riffChunk("ANMF", [1, 2, 3])
    let exif = TestPicture.riffChunk("EXIF", TestPicture.exif(orientation: 7))
    let all = frame + frame + exif
    #expect(webp(canvas(0x00) + all) == line(.webp, 3, 16_777_216))
    #expect(webp(canvas(0x02) + all) == line(.webp, 3, 16_777_216, frames: 2))
    #expect(webp(canvas(0x08) + all) == line(.webp, 3, 16_777_216, orientation: 7))
    #expect(webp(canvas(0x0A) + all) == line(.webp, 3, 16_777_216, frames: 2, orientation: 7))
    #expect(webp(canvas(0x02)) == line(.webp, 3, 16_777_216))
  }

  @Test func `EXIF may carry the name that it has in a JPEG`() {
    let exif = Array("Exif\0\0".utf8) + TestPicture.exif(orientation: 4, bigEndian: false)
    #expect(
      webp(canvas(0x08) + TestPicture.riffChunk("EXIF", exif))
        == line(.webp, 3, 16_777_216, orientation: 4))
  }

  @Test func `a file shorter than stated is refused, a longer one is not`() {
    let whole = TestPicture.webp(width: 3, height: 4)
    #expect(verdict(whole + [1, 2, 3]) == line(.webp, 3, 4))
    #expect(
      verdict(Array(whole.dropLast()))
        == "WebP cut off: \(whole.count - 1) of \(whole.count) bytes")
  }

  @Test func `chunks beyond the stated length are not counted`() {
    let frame = TestPicture.riffChunk("ANMF", [1, 2])
    let bytes = TestPicture.riff("WEBP", canvas(0x02) + frame) + frame + frame
    #expect(verdict(bytes) == line(.webp, 3, 16_777_216))
  }

  @Test func `other RIFF files and other first chunks are refused`() {
    #expect(verdict(TestPicture.riff("WAVE", [])) == "RIFF of kind 'WAVE', not WebP")
    #expect(verdict(Array("RIFF".utf8) + [1, 0, 0, 0]) == "RIFF that ends inside its header")
    for chunk in ["ALPH", "VP8Z"] {
      #expect(webp(TestPicture.riffChunk(chunk, [0])) == "WebP whose first chunk states no size")
    }
    #expect(
      webp(TestPicture.riffChunk("VP8L", [0x2F, 0, 0, 0, 0x20]))
        == "WebP whose first chunk states no size")
    #expect(webp([]) == "WebP whose first chunk states no size")
  }
}
