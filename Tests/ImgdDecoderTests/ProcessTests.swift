import CTestVips
import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

struct ProcessTests {
  @Test func `a decoder says what it can do, and does it`() throws {
    let decoder = try DecoderProcess()
    let abilities = try decoder.abilities()
    #expect(abilities.reads == Set(PictureFormat.allCases))
    #expect(abilities.writes == [.jpeg, .png, .gif, .webp, .avif, .tiff, .jxl])
    #expect(abilities.library.hasPrefix("libvips "))
    let pixels = Pixels.gradient()
    for format in abilities.writes {
      let file = Rendition(.file(format, quality: 95))
      let made = try #require(try decoder.answer(try pixels.file(as: ".png"), .png, file)?.made())
      let again = try #require(try decoder.answer(made.content.bytes, format)?.made())
      #expect(again.difference(from: pixels) <= 30)
    }
    let heic = try pixels.file(as: ".heic[Q=95]")
    #expect(try decoder.answer(heic, .heic)?.made().difference(from: pixels) ?? .max <= 12)
    let box = Rendition.Box(width: 20, height: 20, fit: .cover, crop: .attention, isLinear: true)
    #expect(try decoder.answer(heic, .heic, Rendition(.pixels, box: box))?.made().width == 20)
    guard case .description? = try decoder.answer(heic, .heic, Rendition(.description)) else {
      Issue.record("no description")
      return
    }
  }

  /// The library writes what is larger than 100 MB into a file, unless it is told not to.
  @Test func `a large picture that is not decoded row by row needs no file`() throws {
    let decoder = try DecoderProcess()
    _ = try decoder.abilities()
    let file = TestPicture.webp(width: 6_100, height: 6_100)
    let half = Rendition(.pixels, box: Rendition.Box(width: 3_050, height: nil))
    let answer = try decoder.answer(
      file, .webp, half, limits: DecodeLimits(pixels: 100_000_000))
    #expect(try answer?.made().height == 3_050)
  }

  @Test func `a failure is an answer, and the next order is carried out`() throws {
    let decoder = try DecoderProcess()
    _ = try decoder.abilities()
    let file = try Pixels.gradient().file(as: ".png")
    for serial in 1...20 {
      let isCut = serial % 2 == 0
      let answer = try #require(
        try decoder.answer(
          isCut ? Array(file.prefix(100)) : file, .png, serial: UInt64(serial)))
      #expect(answer.cause == (isCut ? .damaged : nil))
    }
  }

  @Test func `the end of the channel ends it`() throws {
    let decoder = try DecoderProcess()
    _ = try decoder.abilities()
    decoder.close()
    #expect(decoder.end() == 0)
    let early = try DecoderProcess()
    early.close()
    #expect([0, 70].contains(early.end()))
  }

  @Test(arguments: [[UInt8]([1, 2, 3]), [UInt8](repeating: 0, count: 5_000)])
  func `what is no order ends it`(bytes: [UInt8]) throws {
    let decoder = try DecoderProcess()
    _ = try decoder.abilities()
    decoder.send(bytes)
    #expect(decoder.end() == 0)
  }

  @Test func `it is not started by hand`() throws {
    let path = BuiltProduct.path(of: "imgd-decoder")
    for words in [
      [], ["--help"], ["--channel"], ["--channel", "1"], ["--channel", "x"],
      ["--channel", "3", "--memory", "-1"], ["--channel", "3", "--channel", "3"],
    ] {
      #expect(try ChildProcess.run(path, words).code == 64)
    }
    #expect(try ChildProcess.run(path, ["--channel", "77"]).code == 70)
  }

  /// libjxl, which writes to the standard error output, and whatever else may crash on such files.
  @Test func `a decoder that has crashed is no more than that`() throws {
    var noise = Noise(seed: 5)
    var decoder = try DecoderProcess()
    _ = try decoder.abilities()
    let pixels = Pixels.gradient(width: 24, height: 16)
    for suffix in [".jxl", ".avif", ".heic", ".jpg", ".png", ".gif", ".webp", ".tif"] {
      let file = try pixels.file(TEST_VIPS_RGB, as: suffix)
      let format = try PictureProbe.recognise(file.span).format
      for _ in 0..<40 {
        if try decoder.answer(file.changed(by: &noise), format) == nil {
          decoder = try DecoderProcess()
          _ = try decoder.abilities()
        }
      }
    }
    #expect(try decoder.answer(try pixels.file(as: ".png"), .png)?.made().width == 24)
  }
}
