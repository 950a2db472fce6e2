import ImgdPicture
import ImgdTestSupport
import Testing

struct FormatTests {
  @Test func `every format has its own name, type and ending`() {
    let formats = PictureFormat.allCases
    #expect(Set(formats.map(\.name)).count == formats.count)
    #expect(Set(formats.map(\.mediaType)).count == formats.count)
    #expect(Set(formats.map(\.fileExtension)).count == formats.count)
    #expect(formats.allSatisfy { $0.mediaType.hasPrefix("image/") })
  }

  @Test func `the names of formats do not change`() {
    #expect(
      PictureFormat.allCases.map { "\($0.name) \($0.mediaType) .\($0.fileExtension)" } == [
        "jpeg image/jpeg .jpg", "png image/png .png", "gif image/gif .gif",
        "webp image/webp .webp", "avif image/avif .avif", "heic image/heic .heic",
        "tiff image/tiff .tiff", "bmp image/bmp .bmp", "ico image/vnd.microsoft.icon .ico",
        "jxl image/jxl .jxl", "jp2 image/jp2 .jp2", "svg image/svg+xml .svg",
      ])
  }

  @Test(arguments: SamplePictures.all)
  func `every generated picture is recognised`(_ sample: SamplePictures.Sample) {
    #expect(verdict(sample.bytes) == sample.line)
  }

  @Test(arguments: [700, 28_000, 200_001])
  func `a picture of a given number of bytes has exactly that many`(_ size: Int) {
    for seed: UInt64 in 0..<2 {
      let (jpeg, png) = (
        TestPicture.jpeg(bytes: size, seed: seed), TestPicture.png(bytes: size, seed: seed)
      )
      #expect(jpeg.count == size && png.count == size)
      #expect(verdict(jpeg) == line(.jpeg, 16, 16) && verdict(png) == line(.png, 16, 16))
    }
  }

  @Test func `the same seed gives the same picture, another seed another`() {
    #expect(TestPicture.jpeg(bytes: 900, seed: 1) == TestPicture.jpeg(bytes: 900, seed: 1))
    #expect(TestPicture.jpeg(bytes: 900, seed: 1) != TestPicture.jpeg(bytes: 900, seed: 2))
    #expect(TestPicture.png(bytes: 900, seed: 1) != TestPicture.png(bytes: 900, seed: 2))
  }
}
