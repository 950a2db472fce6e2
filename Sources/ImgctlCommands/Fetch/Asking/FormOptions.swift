import ImgdSystem
import ImgdWire

/// The options for the size and the encoding in which a picture is wanted, if not the origin's.
struct FormOptions {
  static let all = [
    VerbOption("resize", nil, .text("WxH"), help: "another size, such as 256x256, 256x or x256"),
    VerbOption(
      "fit", nil, .choice("FIT", PictureForm.Fit.allCases.map { $0.rawValue }),
      help: "how the picture fits into that size: contain, cover or fill"),
    VerbOption(
      "crop", nil, .choice("PART", PictureForm.Crop.allCases.map { $0.rawValue }),
      help: "the part that --fit cover keeps: centre or attention"),
    VerbOption("enlarge", help: "enlarge a picture that is smaller than that size"),
    VerbOption("linear", help: "scale in linear light: slower, and truer in fine patterns"), OutputFormat.option,
    VerbOption("quality", nil, .number("1-100", WireLimits.quality), help: "the quality of that encoding"),
    VerbOption(
      "frames", nil, .choice("FRAMES", FrameChoice.allCases.map { $0.rawValue }),
      help: "the frames of an animation that are kept: all or first"),
  ]

  let form: PictureForm

  /// `named` is the format that the name of the file asks for, where the name counts.
  init(_ arguments: Arguments, named: OutputFormat? = nil) throws(UsageProblem) {
    let box = try Self.box(arguments)
    if arguments.has("quality"), box == nil, !arguments.has("format"), named == nil {
      throw UsageProblem("--quality needs --format or --resize")
    }
    form = PictureForm(
      box: box, format: arguments.format ?? .original, quality: arguments.number("quality"),
      frames: arguments.word("frames") ?? .all)
  }

  private static func box(_ arguments: Arguments) throws(UsageProblem) -> PictureForm.Box? {
    guard let text = arguments.text("resize") else {
      for option in ["fit", "crop", "enlarge", "linear"] where arguments.has(option) {
        throw UsageProblem("--\(option) needs --resize")
      }
      return nil
    }
    guard let (width, height) = SidesText.sides(of: text) else {
      throw UsageProblem("--resize \(printable(text)) is not a size: write WIDTHxHEIGHT, such as 256x256, 256x or x256")
    }
    let fit = arguments.word("fit") ?? PictureForm.Fit.contain
    let crop: PictureForm.Crop? = arguments.word("crop")
    switch PictureForm.Box.problem(width: width, height: height, fit: fit, crop: crop) {
    case .needlessCrop: throw UsageProblem("--crop needs --fit cover")
    case .noSide, .openSide: throw UsageProblem("--fit \(fit.rawValue) needs both sides in --resize, such as 256x256")
    case nil: break
    }
    return PictureForm.Box(
      width: width, height: height, fit: fit, crop: crop ?? .centre, enlarge: arguments.has("enlarge"),
      linear: arguments.has("linear"))
  }
}
