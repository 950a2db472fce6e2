import ImgdTestSupport
import ImgdWire
import Testing

/// What comes with a picture beside its pixels: applied where it says how they look, and never passed on.
struct PrivacyTests {
  private static let daemon = SharedDaemon()
  private let stage: Stage
  private let red = TestPixels.plain([220, 20, 20, 255], width: 32, height: 32)
  private let place = "48.2082 N 16.3738 E"

  init() throws { stage = try Self.daemon.stage() }

  /// The beginnings of what files of these formats may say beside their pixels.
  private static let marks = [
    "Exif", "EXIF", "eXIf", "ICC_PROFILE", "ICCP", "iCCP", "http://ns.adobe.com", "XMP", "tEXt",
    "iTXt",
    "zTXt", "Photoshop", "swapped",
  ]

  private static let forms = [
    #""resize":{"width":16}"#, #""format":"jpeg","quality":80"#,
    #""format":"png","resize":{"width":20}"#,
    #""format":"webp""#, #""format":"avif""#, #""resize":{"width":16,"height":16,"fit":"cover"}"#,
  ]

  private func expectNothingPassedOn(of path: String) throws {
    for form in Self.forms {
      let (bytes, line) = try stage.variant(of: path, form)
      #expect(line["ok"] == true)
      for mark in Self.marks + [place] { #expect(!bytes.holds(mark), "\(mark) in \(form)") }
    }
  }

  @Test func `where and by whom a photograph was taken is not in what is made of it`() throws {
    let plain = try stage.converted(red, to: "jpeg", at: "/plain.png")
    let exif = Array("Exif\0\0".utf8) + TestPicture.exif(orientation: 1) + Array(place.utf8)
    let notes = "http://ns.adobe.com/xap/1.0/\0<x:xmpmeta><exif:GPS>\(place)</exif:GPS></x:xmpmeta>"
    let profile = Array("ICC_PROFILE\0".utf8) + [1, 1] + TestProfile.swapped
    let segments =
      TestPicture.jpegSegment(0xE1, exif) + TestPicture.jpegSegment(0xE1, Array(notes.utf8))
      + TestPicture.jpegSegment(0xE2, profile)
      + TestPicture.jpegSegment(0xED, Array("Photoshop 3.0\0\(place)".utf8))
      + TestPicture.jpegSegment(0xFE, Array(place.utf8))
    let photograph = plain[..<2] + segments + plain[2...]
    stage.offer(Array(photograph), at: "/photograph.jpg")
    try expectNothingPassedOn(of: "/photograph.jpg")
    // The original stays what it is.
    let line = try stage.ask("/photograph.jpg", #""deliver":"inline""#)
    #expect(line["data"]?.string.flatMap(Base64.decode) == Array(photograph))
  }

  @Test func `texts in a PNG are not in what is made of it`() throws {
    let chunks =
      TestPicture.pngChunk("tEXt", Array("Comment\0\(place)".utf8))
      + TestPicture.pngChunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0\(place)".utf8))
      + TestPicture.pngChunk("eXIf", TestPicture.exif(orientation: 1) + Array(place.utf8))
    stage.offer(TestPicture.png(red, as: .colour, chunks: chunks), at: "/notes.png")
    try expectNothingPassedOn(of: "/notes.png")
  }

  @Test func `the colours of a profile are applied`() throws {
    let profile = TestPicture.pngProfile(TestProfile.swapped)
    let png = TestPicture.png(red, as: .colour, chunks: profile)
    #expect(try stage.pixels(of: TestPicture.png(red, as: .colour), at: "/without.png") == red)
    let blue = try stage.pixels(of: png, at: "/with.png")[9, 9]
    #expect(blue[0] < 60 && blue[2] > 190, "\(blue)")
    try expectNothingPassedOn(of: "/with.png")
    let (made, _) = try stage.variant(of: "/with.png", #""format":"webp","quality":95"#)
    let again = try stage.pixels(of: made, at: "/again.webp")[9, 9]
    #expect(zip(again, blue).allSatisfy { abs(Int($0) - Int($1)) < 12 }, "\(again) and \(blue)")
  }

  @Test func `the profile of a photograph is applied, too`() throws {
    let plain = try stage.converted(red, to: "jpeg", quality: 95, at: "/plain.png")
    let profile = Array("ICC_PROFILE\0".utf8) + [1, 1] + TestProfile.swapped
    let photograph = plain[..<2] + TestPicture.jpegSegment(0xE2, profile) + plain[2...]
    let blue = try stage.pixels(of: Array(photograph), at: "/with.jpg")[9, 9]
    #expect(blue[0] < 60 && blue[2] > 190, "\(blue)")
  }
}
