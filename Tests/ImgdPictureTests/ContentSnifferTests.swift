import ImgdPicture
import ImgdTestSupport
import Testing

struct ContentSnifferTests {
  @Test(arguments: [
    ("", "empty"), ("\n\t <!DOCTYPE HTML><title>", "an HTML page"),
    ("<Html lang=en>", "an HTML page"),
    ("\u{FEFF}<html>", "an HTML page"), ("<?xml version=\"1.0\"?><html>", "an HTML page"),
    ("<?xml?><rss>", "XML"), ("<!-- a <svg -->", "XML"), ("<svgs>", "text"),
    ("{\"error\":1}", "JSON"), (" [1]", "JSON"), ("Not Found", "text"), ("é", "text"),
    ("%PDF-1.7", "a PDF document"),
  ])
  func `text is named by its beginning`(_ text: String, _ reason: String) {
    #expect(verdict(Array(text.utf8)) == reason)
  }

  @Test func `a letter that the limit cuts in two is still text`() {
    #expect(verdict(Array(String(repeating: "a", count: 255).utf8) + Array("éé".utf8)) == "text")
  }

  @Test(
    arguments: [
      ([0x1F, 0x8B, 8, 0, 0], "gzip data"), ([0x50, 0x4B, 3, 4], "a ZIP archive"),
      ([0x1A, 0x45, 0xDF, 0xA3], "a Matroska or WebM video"),
      ([0x38, 0x42, 0x50, 0x53], "a Photoshop document"),
      ([0x4F, 0x67, 0x67, 0x53], "an Ogg file"),
      ([0x7F, 0x45, 0x4C, 0x46], "an ELF program"),
      ([0, 1, 2], "3 bytes of no known picture format"),
      ([0x41, 0xFF, 0xFE, 0x42, 0x43], "5 bytes of no known picture format"),
    ] as [([UInt8], String)])
  func `other files are named by their signature`(_ bytes: [UInt8], _ reason: String) {
    #expect(verdict(bytes) == reason)
  }

  @Test(arguments: [
    (["isom", "mp42"], "an MP4 video (brand 'isom')"), (["qt  "], "a QuickTime video"),
    (["M4A ", "isom"], "an MPEG-4 audio file"), (["\u{1}b\u{2}c"], "an MP4 video (brand '.b.c')"),
  ])
  func `films in a picture's container are refused`(_ brands: [String], _ reason: String) {
    #expect(verdict(TestPicture.fileType(brands) + TestPicture.box("moov", [])) == reason)
  }

  @Test(arguments: SamplePictures.all)
  func `a signature alone is no picture`(_ sample: SamplePictures.Sample) {
    #expect(verdict(Array(sample.bytes.prefix(4))) != sample.line)
  }
}
