import ImgdWire
import Testing

@testable import ImgdGateway

struct AcceptedFormatsTests {
  private static let both: Set = ["jpeg", "png", "webp", "avif"]

  @Test(
    arguments: [
      (["image/avif,image/webp,image/apng,image/*,*/*;q=0.8"], .avif), (["image/webp,*/*"], .webp),
      (["image/avif"], .avif), (["IMAGE/WebP"], .webp), (["image/*"], nil), (["*/*"], nil),
      ([], nil),
      (["image/png,image/*;q=0.8"], nil), (["image/avif;q=0.5,image/webp"], .webp),
      (["image/avif;q=0.5,image/webp;q=0.5"], .avif), (["image/avif;q=0,image/webp"], .webp),
      (["image/avif;q=0.000,image/webp;q=0"], nil), (["image/avif;q=0.001"], .avif),
      (["image/avif ; q=1.000"], .avif), (["image/webp;level=1;q=0.3,image/avif;q=0.2"], .webp),
      (["image/webp;x=\"a,b;q=0\""], .webp), (["text/html", "image/webp"], .webp),
      (["image/avif;q=2"], nil), (["image/avif;q=1.001"], nil), (["image/avif;q=x"], nil),
      (["image/avif;q=0.1234"], nil), (["image/avif;q"], nil), (["image/ avif"], nil),
      (["image/avif x"], nil), ([",, ,image/webp"], .webp), (["avif"], nil),
      (["image/avif;q=0.1,image/avif;q=0.9,image/webp;q=0.5"], .avif),
    ] as [([String], OutputFormat?)])
  func `the best format is chosen that the client names`(
    values: [String], format: OutputFormat?
  ) {
    #expect(AcceptedFormats(values).choice(of: Self.both) == format)
  }

  @Test func `a format that cannot be written is not chosen`() {
    let formats = AcceptedFormats(["image/avif,image/webp;q=0.1"])
    #expect(formats.choice(of: ["webp"]) == .webp)
    #expect(formats.choice(of: ["png"]) == nil)
  }

  @Test func `a list is not read for ever`() {
    let long = [String](repeating: "a/b", count: 200).joined(separator: ",") + ",image/webp"
    #expect(AcceptedFormats([long]).choice(of: Self.both) == nil)
  }
}
