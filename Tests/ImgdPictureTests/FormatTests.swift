import ImgdPicture
import ImgdTestSupport
import Testing

@Suite("Picture formats") struct FormatTests {
  @Test("every format has its own name, type and ending")
  func distinct() {
    let formats = PictureFormat.allCases
    #expect(Set(formats.map(\.name)).count == formats.count)
    #expect(Set(formats.map(\.mediaType)).count == formats.count)
    #expect(Set(formats.map(\.fileExtension)).count == formats.count)
    #expect(formats.allSatisfy { $0.mediaType.hasPrefix("image/") })
  }

  @Test("a format is found by its name", arguments: PictureFormat.allCases)
  func named(_ format: PictureFormat) {
    #expect(PictureFormat(name: format.name) == format)
  }

  @Test("no format is found by another word", arguments: ["", "jpg", "JPEG", "image/png"])
  func unnamed(_ word: String) {
    #expect(PictureFormat(name: word) == nil)
  }

  @Test("the words users see do not change")
  func words() {
    #expect(
      PictureFormat.allCases.map { "\($0.name) \($0.mediaType) .\($0.fileExtension)" } == [
        "jpeg image/jpeg .jpg", "png image/png .png", "gif image/gif .gif",
        "webp image/webp .webp", "avif image/avif .avif", "heic image/heic .heic",
        "tiff image/tiff .tiff", "bmp image/bmp .bmp", "ico image/vnd.microsoft.icon .ico",
        "jxl image/jxl .jxl", "jp2 image/jp2 .jp2",
      ])
  }

  @Test("every generated picture is recognised", arguments: Gallery.all)
  func gallery(_ exhibit: Gallery.Exhibit) {
    #expect(verdict(exhibit.bytes) == exhibit.line)
  }

  @Test(
    "a picture of a wanted number of bytes has just that many", arguments: [700, 28_000, 200_001])
  func exactSize(_ size: Int) {
    for seed: UInt64 in 0..<2 {
      let (jpeg, png) = (
        TestPicture.jpeg(bytes: size, seed: seed), TestPicture.png(bytes: size, seed: seed)
      )
      #expect(jpeg.count == size && png.count == size)
      #expect(verdict(jpeg) == line(.jpeg, 16, 16) && verdict(png) == line(.png, 16, 16))
    }
  }

  @Test("another seed gives another picture, the same seed the same")
  func seeds() {
    #expect(TestPicture.jpeg(bytes: 900, seed: 1) == TestPicture.jpeg(bytes: 900, seed: 1))
    #expect(TestPicture.jpeg(bytes: 900, seed: 1) != TestPicture.jpeg(bytes: 900, seed: 2))
    #expect(TestPicture.png(bytes: 900, seed: 1) != TestPicture.png(bytes: 900, seed: 2))
  }
}
