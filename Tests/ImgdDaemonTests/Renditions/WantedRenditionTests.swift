import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Which encoding of a list a picture gets.
struct WantedRenditionTests {
  private static let all: Set<PictureFormat> = [.jpeg, .png, .webp, .avif, .gif, .tiff, .jxl]

  /// A picture as its file describes it.
  private func facts(_ format: PictureFormat, frames: Int = 1, opaque: Bool = true) -> ImageFacts {
    ImageFacts(
      format: format.rawValue, width: 40, height: 20, frames: frames,
      orientation: opaque && format.hasAlpha ? 0x81 : 1)
  }

  /// The encoding that is chosen; `as it is` where no decoder is needed, nil for a refusal.
  private func choice(
    _ formats: [OutputFormat], of facts: ImageFacts, resized: Bool = true,
    frames: FrameChoice = .auto, writable: Set<PictureFormat>? = all
  ) throws -> String? {
    let box = resized ? PictureForm.Box(width: 10, height: 10) : nil
    let form = PictureForm(box: box, formats: formats, frames: frames)
    let wanted = try #require(WantedRendition(form, for: .fd))
    switch wanted.choice(for: facts, writable: writable) {
    case .original: return "as it is"
    case .form(let form): return form.format.rawValue
    case .refused(let failure):
      #expect(failure.cause == .unsupported)
      return nil
    }
  }

  @Test(
    arguments: [
      // The first of the list, if nothing is lost.
      ([.avif, .webp], .png, 1, false, "avif"), ([.webp, .avif], .jpeg, 1, true, "webp"),
      ([.jpeg, .png], .png, 1, true, "jpeg"), ([.jpeg, .png], .png, 1, false, "png"),
      ([.jpeg, .png], .webp, 1, true, "jpeg"), ([.jpeg, .png], .heic, 1, false, "png"),
      // A format without alpha has none to lose, whatever its file says.
      ([.jpeg, .png], .jpeg, 1, false, "jpeg"), ([.jpeg, .png], .bmp, 1, false, "jpeg"),
      // A GIF has no partial alpha, which is less of a loss than all of it, or than frames.
      ([.gif, .png], .png, 1, false, "png"), ([.gif, .jpeg], .png, 1, false, "gif"),
      ([.jpeg, .gif], .webp, 1, false, "gif"), ([.gif, .png], .png, 1, true, "gif"),
      ([.gif, .png], .gif, 1, false, "gif"), ([.png, .gif], .webp, 9, false, "gif"),
      ([.gif, .webp], .webp, 9, false, "webp"),
      // Animations.
      ([.avif, .webp], .gif, 9, false, "webp"), ([.avif, .gif], .webp, 9, true, "gif"),
      ([.avif, .original], .gif, 9, true, "original"),
      ([.jpeg, .png, .webp], .gif, 9, true, "webp"),
      // Each loses something: the first of those that lose least, and a still AVIF last.
      ([.avif], .gif, 9, true, "avif"), ([.avif, .png], .gif, 9, false, "png"),
      ([.jpeg, .png], .gif, 9, true, "jpeg"), ([.jpeg, .png], .gif, 9, false, "png"),
      ([.avif, .jpeg], .gif, 9, true, "jpeg"), ([.avif, .jpeg], .gif, 9, false, "avif"),
      // Of these only the first frame is decoded.
      ([.webp, .gif], .png, 9, true, "webp"), ([.avif, .webp], .avif, 9, true, "webp"),
      ([.jpeg, .png], .tiff, 3, true, "jpeg"),
    ] as [([OutputFormat], PictureFormat, Int, Bool, String)])
  func `the first encoding counts that loses nothing`(
    formats: [OutputFormat], own: PictureFormat, frames: Int, opaque: Bool, chosen: String
  ) throws {
    let facts = facts(own, frames: frames, opaque: opaque)
    #expect(try choice(formats, of: facts) == chosen)
  }

  @Test(
    arguments: [
      ([.avif, .original], .png, "avif"), ([.original, .jpeg], .png, "as it is"),
      ([.png, .original], .png, "as it is"), ([.webp, .png], .png, "webp"),
      // Browsers do not show these.
      ([.original, .jpeg, .png], .tiff, "jpeg"), ([.original, .jpeg, .png], .heic, "jpeg"),
      ([.original, .jpeg, .png], .bmp, "jpeg"), ([.original, .jpeg, .png], .jp2, "jpeg"),
      ([.original, .jpeg, .png], .jxl, "jpeg"), ([.original, .jpeg, .png], .ico, "as it is"),
      // Unless the list names them, or has nothing else.
      ([.original, .jpeg, .tiff], .tiff, "as it is"), ([.original, .jpeg, .heic], .heic, "as it is"),
      ([.heic, .png], .heic, "as it is"), ([.heic, .png], .tiff, "png"),
      ([.original, .jpeg, .png], .svg, "jpeg"), ([.jpeg, .original], .svg, "jpeg"),
      ([.original, .svg], .svg, "as it is"), ([.svg, .png], .svg, "as it is"),
      ([.svg, .png], .png, "as it is"), ([.webp, .original], .svg, "webp"),
      ([.jpeg, .original], .tiff, "jpeg"), ([.heic, .original], .tiff, "as it is"),
    ] as [([OutputFormat], PictureFormat, String)])
  func `the picture's own format counts where it is shown`(
    formats: [OutputFormat], own: PictureFormat, chosen: String
  ) throws {
    #expect(try choice(formats, of: facts(own), resized: false) == chosen)
  }

  @Test func `a form of a drawing is pixels, and a size of it always a form`() throws {
    let drawing = facts(.svg, opaque: false)
    #expect(try choice([.original], of: drawing, resized: true) == "original")
    #expect(try choice([.original, .svg, .png], of: drawing, resized: true) == "png")
    #expect(try choice([.original, .jpeg, .png], of: drawing, resized: false) == "png")
    // It would be small enough.
    let large = PictureForm(box: PictureForm.Box(width: 40, height: 20))
    let wanted = try #require(WantedRendition(large, for: .fd))
    guard case .form = wanted.choice(for: drawing, writable: nil) else {
      Issue.record("it is left as it is")
      return
    }
  }

  @Test func `an own format that cannot be written gives way`() throws {
    #expect(try choice([.original, .png], of: facts(.ico)) == "png")
    #expect(try choice([.original, .jpeg, .heic], of: facts(.heic)) == "jpeg")
    #expect(try choice([.original], of: facts(.heic)) == "original")
    let few: Set<PictureFormat> = [.jpeg, .png]
    #expect(try choice([.avif, .webp, .jpeg], of: facts(.png), writable: few) == "jpeg")
    #expect(try choice([.webp, .png], of: facts(.gif, frames: 9), writable: few) == "png")
    // What is there already needs not be written.
    #expect(
      try choice([.avif, .png], of: facts(.avif), resized: false, writable: few) == "as it is")
    #expect(try choice([.avif, .webp], of: facts(.png), writable: few) == nil)
    // As long as it is unknown what can be written, everything can.
    #expect(try choice([.avif, .webp], of: facts(.png), writable: nil) == "avif")
    #expect(try choice([.heic, .webp], of: facts(.png), writable: nil) == "webp")
  }

  @Test(
    arguments: [
      ([.webp], .gif, 9, "webp"), ([.gif], .gif, 9, "gif"), ([.original], .webp, 9, "original"),
      ([.png], .gif, 1, "png"), ([.png, .webp], .gif, 9, "webp"),
      ([.png], .gif, 9, nil), ([.avif, .jxl], .webp, 2, nil), ([.webp], .png, 9, nil),
      ([.original], .avif, 9, nil),
    ] as [([OutputFormat], PictureFormat, Int, String?)])
  func `all frames are a demand`(
    formats: [OutputFormat], own: PictureFormat, frames: Int, chosen: String?
  ) throws {
    #expect(try choice(formats, of: facts(own, frames: frames), frames: .all) == chosen)
  }

  @Test func `a picture that stays as it is loses nothing`() throws {
    let moving = facts(.png, frames: 9)
    for frames in [FrameChoice.auto, .all] {
      #expect(try choice([.png], of: moving, resized: false, frames: frames) == "as it is")
    }
    #expect(try choice([.png], of: moving, resized: false, frames: .first) == "png")
    #expect(try choice([.avif, .webp], of: facts(.gif, frames: 9), frames: .first) == "avif")
  }

  @Test func `what the picture has is kept with what is known of it`() throws {
    for orientation in [1, 8] {
      let webp = TestPicture.webp(width: 4, height: 4, orientation: orientation)
      let facts = ImageFacts(try PictureProbe.recognise(webp.span))
      #expect(facts.isOpaque && facts.exifOrientation == orientation)
    }
    let jpeg = ImageFacts(try PictureProbe.recognise(TestPicture.jpeg(width: 8, height: 8).span))
    #expect(jpeg.isOpaque && jpeg.orientation == 1)
    // As an earlier release has stored it.
    let stored = ImageFacts(
      format: PictureFormat.png.rawValue, width: 1, height: 1, frames: 1, orientation: 6)
    #expect(!stored.isOpaque && stored.exifOrientation == 6)
  }

  /// Keys outlive the program: a form that was made before is found by the same request.
  @Test func `the text of a form does not change`() throws {
    let box = PictureForm.Box(width: 20, height: 10)
    let forms = [
      (PictureForm(formats: [.webp]), "file webp usual all own"),
      (PictureForm(box: box), "file original usual all 20x10 contain centre down plain"),
      (PictureForm(quality: 5, frames: .first), "file original 5 first own"),
    ]
    for (form, text) in forms {
      #expect(Rendition(form, as: form.formats[0], for: .fd).form == text)
    }
    let cut = PictureForm.Box(
      width: 9, height: 9, fit: .cover, crop: .point(x: Fraction(0.4), y: Fraction(0)),
      area: .pixels(x: 1, y: 2, width: 3, height: 4),
      background: PictureForm.Background(red: 1, green: 2, blue: 3))
    #expect(
      Rendition(PictureForm(box: cut, layout: .bgra8Premultiplied), as: .original, for: .pixels).form
        == "pixels bgra first 9x9 cover 400000,0 down plain of 1,2,3,4 pixels on 1,2,3,255")
    #expect(
      Rendition(PictureForm(box: box), as: .original, for: .pixels).form
        == "pixels first 20x10 contain centre down plain")
  }
}
