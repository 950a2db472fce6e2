import ImgdCache
import ImgdDecode
import ImgdPicture
import Testing

@testable import ImgdDaemon

/// Of which stored form of a picture another can be made.
struct FormSourceTests {
  private static func facts(
    _ format: PictureFormat, _ width: Int, _ height: Int, frames: Int = 1, orientation: Int = 1,
    opaque: Bool = true
  ) -> ImageFacts {
    ImageFacts(
      format: format.rawValue, width: width, height: height, frames: frames,
      orientation: orientation | (opaque && format.hasAlpha ? 0x80 : 0))
  }

  private static let photo = facts(.jpeg, 4_000, 3_000)
  private static let writable: Set<PictureFormat> = [.jpeg, .png, .webp, .gif]
  private static let whole = "800x600 contain centre down plain"

  private func wanted(
    _ format: PictureFormat?, quality: Int? = nil, _ box: Rendition.Box = .init(width: 200, height: nil),
    frames: Rendition.Frames = .all
  ) -> Rendition { Rendition(.file(format, quality: quality), box: box, frames: frames) }

  private func isMade(
    _ wanted: Rendition, of original: ImageFacts = photo, from text: String,
    _ form: ImageFacts = facts(.webp, 800, 600), writable: Set<PictureFormat>? = writable
  ) -> Bool {
    let source = FormSource(for: wanted, of: original, writable: writable)
    return source?.rendition(from: text, form) != nil
  }

  @Test(
    arguments: [
      // As large as twice what is wanted, and a pixel less.
      (400, 300, true), (399, 300, false), (400, 299, false), (4_000, 3_000, true),
    ])
  func `a form has to be twice as large`(width: Int, height: Int, isEnough: Bool) {
    let form = Self.facts(.webp, width, height)
    let text = "file webp 80 all \(width)x\(height) contain centre down plain"
    #expect(isMade(wanted(.webp, quality: 80), from: text, form) == isEnough)
  }

  @Test(
    arguments: [
      (Self.whole, true), ("own", true), ("800xany contain centre down plain", true),
      ("800x600 cover centre down plain", false), ("800x600 cover attention down plain", false),
      ("800x600 fill centre down plain", false), ("800x600 pad centre down plain", false),
      ("800x600 contain centre up plain", false), ("800x600 contain centre down linear", false),
      ("800x600 contain centre down plain of 0,0,9,9 pixels", false),
      ("800x600 contain centre down plain on 1,2,3,255", false), ("", false), ("800x600", false),
    ])
  func `a form has to be the whole picture`(size: String, isWhole: Bool) {
    #expect(isMade(wanted(.webp, quality: 80), from: "file webp 80 all " + size) == isWhole)
  }

  @Test(
    arguments: [
      (.webp, 80, "webp 80", .webp, true), (.webp, 80, "webp 90", .webp, true),
      (.webp, 80, "webp 79", .webp, false), (.webp, nil, "webp usual", .webp, true),
      // The usual quality is the decoder's own.
      (.webp, nil, "webp 90", .webp, false), (.webp, 80, "webp usual", .webp, false),
      // The numbers of two encodings do not mean the same.
      (.jpeg, 80, "webp 90", .webp, false), (.webp, 80, "png usual", .png, true),
      (.jpeg, nil, "png 3", .png, true), (.png, nil, "webp 100", .webp, false),
      (.png, nil, "png usual", .png, true), (.gif, nil, "gif usual", .gif, false),
      // Of the picture's own format.
      (nil, 80, "jpeg 80", .jpeg, true), (nil, 80, "original 80", .jpeg, true),
      (nil, 80, "webp 80", .webp, false),
    ] as [(PictureFormat?, Int?, String, PictureFormat, Bool)])
  func `a form has to be as good`(
    format: PictureFormat?, quality: Int?, text: String, own: PictureFormat, isGood: Bool
  ) {
    let form = Self.facts(own, 800, 600)
    let text = "file \(text) all \(Self.whole)"
    #expect(isMade(wanted(format, quality: quality), from: text, form) == isGood)
  }

  @Test func `what the picture cannot be written as is left to the decoder`() {
    let text = "file png usual all " + Self.whole
    let png = Self.facts(.png, 800, 600)
    #expect(!isMade(wanted(nil), of: Self.facts(.heic, 4_000, 3_000), from: text, png))
    #expect(isMade(wanted(nil), from: text, png, writable: nil))
    #expect(isMade(wanted(nil), from: text, png))
  }

  @Test func `alpha has to be there`() {
    let original = Self.facts(.png, 4_000, 3_000, opaque: false)
    for (own, isKept) in [(PictureFormat.png, true), (.tiff, true), (.jpeg, false), (.gif, false)] {
      let form = Self.facts(own, 800, 600, opaque: false)
      let text = "file \(own.name) usual all " + Self.whole
      for format in [PictureFormat.webp, .png] {
        #expect(isMade(wanted(format), of: original, from: text, form) == isKept)
      }
      #expect(isMade(wanted(.jpeg), of: original, from: text, form) == isKept)
    }
  }

  @Test(
    arguments: [
      // Wanted, which frames, frames of the form, whether it is one.
      (.webp, .all, 9, true), (.webp, .all, 1, false), (.webp, .first, 1, true),
      (.webp, .first, 9, true), (.webp, .all, 3, false),
    ] as [(PictureFormat, Rendition.Frames, Int, Bool)])
  func `frames have to be there`(
    format: PictureFormat, frames: Rendition.Frames, stored: Int, isEnough: Bool
  ) {
    let original = Self.facts(.gif, 4_000, 3_000, frames: 9)
    let form = Self.facts(.webp, 800, 600, frames: stored)
    let text = "file webp usual all " + Self.whole
    #expect(isMade(wanted(format, frames: frames), of: original, from: text, form) == isEnough)
  }

  @Test func `only a smaller size of the whole picture is made`() {
    let png = Self.facts(.png, 4_000, 3_000)
    let boxes: [Rendition.Box] = [
      .init(width: 200, height: 200, fit: .cover), .init(width: 200, height: 200, fit: .fill),
      .init(width: 200, height: 200, fit: .pad), .init(width: nil, height: nil),
      .init(width: 5_000, height: nil, enlarges: true), .init(width: 4_000, height: nil),
      .init(
        width: 200, height: 200,
        area: .init(x: 0, y: 0, width: 800, height: 600, isRelative: false)),
    ]
    for box in boxes { #expect(!isMade(wanted(.png, box), from: "file png usual all own", png)) }
    let own = Rendition(.file(.png, quality: nil))
    #expect(!isMade(own, from: "file png usual all own", png))
    #expect(!isMade(Rendition(.description), from: "file png usual all own", png))
  }

  @Test func `pixels are made of what has lost nothing`() {
    let pixels = Rendition(.pixels, box: .init(width: 200, height: nil), frames: .first)
    for (own, isGood) in [(PictureFormat.png, true), (.webp, false)] {
      let text = "file \(own.name) usual all " + Self.whole
      #expect(isMade(pixels, from: text, Self.facts(own, 800, 600)) == isGood)
    }
    // Their answer says how many frames the picture has.
    let original = Self.facts(.webp, 4_000, 3_000, frames: 9)
    let text = "file png usual all " + Self.whole
    #expect(!isMade(pixels, of: original, from: text, Self.facts(.png, 800, 600)))
    let other = Rendition(.pixels, box: .init(width: 200, height: nil, isLinear: true))
    #expect(!isMade(other, from: text, Self.facts(.png, 800, 600)))
    #expect(isMade(other, from: "file png usual all own", Self.facts(.png, 4_000, 3_000)))
  }

  @Test func `the size is the one that the picture would have given`() throws {
    for (original, width, height) in [
      (Self.facts(.jpeg, 4_003, 2_999), 200, 150),
      (Self.facts(.jpeg, 2_999, 4_003, orientation: 6), 200, 150),
      (Self.facts(.jpeg, 30_000, 10), 200, 1),
    ] {
      let wanted = Rendition(
        .file(nil, quality: 7),
        box: .init(
          width: 200, height: 300, background: Rendition.Colour(red: 1, green: 2, blue: 3, alpha: 4)))
      let source = try #require(FormSource(for: wanted, of: original, writable: Self.writable))
      let made = try #require(
        source.rendition(from: "file png usual all own", Self.facts(.png, 4_003, 2_999)))
      #expect(made.output == .file(.jpeg, quality: 7))
      #expect(made.box?.width == width && made.box?.height == height && made.box?.fit == .fill)
      #expect(made.box?.background == wanted.box?.background && made.frames == .all)
    }
  }
}
