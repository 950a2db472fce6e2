import ImgdWire
import Testing

@testable import ImgdGateway

struct AcceptedFormatsTests {
  @Test(
    arguments: [
      (["image/avif,image/webp,image/apng,image/*,*/*;q=0.8"], [.avif, .webp]),
      (["image/webp,*/*"], [.webp]), (["image/avif"], [.avif]), (["IMAGE/WebP"], [.webp]),
      (["image/*"], []), (["*/*"], []), ([], []),
      (["image/png,image/*;q=0.8"], []), (["image/avif;q=0.5,image/webp"], [.webp]),
      (["image/avif;q=0.5,image/webp;q=0.5"], [.avif, .webp]),
      (["image/avif;q=0,image/webp"], [.webp]), (["image/avif;q=0.000,image/webp;q=0"], []),
      (["image/avif;q=0.001"], [.avif]), (["image/avif ; q=1.000"], [.avif]),
      (["image/webp;level=1;q=0.3,image/avif;q=0.2"], [.webp]),
      (["image/webp;x=\"a,b;q=0\""], [.webp]), (["text/html", "image/webp"], [.webp]),
      (["image/avif;q=2"], []), (["image/avif;q=1.001"], []), (["image/avif;q=x"], []),
      (["image/avif;q=0.1234"], []), (["image/avif;q"], []), (["image/ avif"], []),
      (["image/avif x"], []), ([",, ,image/webp"], [.webp]), (["avif"], []),
      (["image/avif;q=0.1,image/avif;q=0.9,image/webp;q=0.5"], [.avif, .webp]),
    ] as [([String], [OutputFormat])])
  func `new formats that the client names come first, and what everybody shows last`(
    values: [String], first: [OutputFormat]
  ) {
    #expect(AcceptedFormats(values).formats == first + [.original, .jpeg, .png])
  }

  @Test func `a format that others do not show is named where the client does`() {
    let formats = AcceptedFormats(["image/jxl,image/heic;q=0.5,image/tiff;q=0,image/webp"]).formats
    #expect(formats == [.webp, .original, .jpeg, .png, .heic, .jxl])
  }

  @Test func `a list is not read for ever`() {
    let long = [String](repeating: "a/b", count: 200).joined(separator: ",") + ",image/webp"
    #expect(AcceptedFormats([long]).formats == [.original, .jpeg, .png])
  }
}
