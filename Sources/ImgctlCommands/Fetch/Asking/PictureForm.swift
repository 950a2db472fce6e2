import ImgdSystem
import ImgdWire

/// The form in which a picture is wanted, where that is not the origin's: its size and its encoding.
struct PictureForm {
  static let options = [
    VerbOption("resize", nil, .text("WxH"), help: "another size, such as 256x256, 256x or x256"),
    VerbOption(
      "fit", nil, .choice("FIT", ResizeRequest.Fit.allCases.map { $0.rawValue }),
      help: "how the picture fits into that size: contain, cover or fill"),
    VerbOption(
      "crop", nil, .choice("PART", ResizeRequest.Crop.allCases.map { $0.rawValue }),
      help: "the part that --fit cover keeps: centre or attention"),
    VerbOption("enlarge", help: "enlarge a picture that is smaller than that size"),
    VerbOption("linear", help: "scale in linear light: slower, and truer in fine patterns"),
    OutputFormat.option,
    VerbOption("quality", nil, .number("1-100", 1...100), help: "the quality of that encoding"),
    VerbOption(
      "frames", nil, .choice("FRAMES", FrameChoice.allCases.map { $0.rawValue }),
      help: "the frames of an animation that are kept: all or first"),
  ]

  private let arguments: Arguments
  private let size: (width: Int?, height: Int?)?

  /// `named` is the format that the name of the file asks for, where that counts.
  init(_ arguments: Arguments, named: OutputFormat? = nil) throws(UsageProblem) {
    self.arguments = arguments
    size = try arguments.text("resize").map(Self.size)
    if size == nil {
      for option in ["fit", "crop", "enlarge", "linear"] where arguments.has(option) {
        throw UsageProblem("--\(option) needs --resize")
      }
    }
    if arguments.has("crop"), arguments.text("fit") != ResizeRequest.Fit.cover.rawValue {
      throw UsageProblem("--crop needs --fit cover")
    }
    if let fit = arguments.text("fit"), fit != ResizeRequest.Fit.contain.rawValue, let size,
      size.width == nil || size.height == nil
    {
      throw UsageProblem("--fit \(fit) needs both sides in --resize, such as 256x256")
    }
    if arguments.has("quality"), !arguments.has("resize"), !arguments.has("format"), named == nil {
      throw UsageProblem("--quality needs --format or --resize")
    }
  }

  /// Whether another encoding or some of the frames are asked for, which mean nothing for pixels.
  var isEncoded: Bool {
    arguments.has("format") || arguments.has("quality") || arguments.has("frames")
  }

  /// Has a picture fetched in this form; what is not named stays as it is.
  func apply(to fetch: inout FetchRequest) {
    fetch.format = arguments.format ?? fetch.format
    fetch.extras.quality = arguments.number("quality")
    fetch.extras.frames = arguments.word("frames") ?? fetch.frames
    guard let size else { return }
    fetch.extras.resize = ResizeRequest(
      width: size.width, height: size.height, fit: arguments.word("fit") ?? .contain,
      enlarge: arguments.has("enlarge"), crop: arguments.word("crop") ?? .centre,
      linear: arguments.has("linear"))
  }

  /// `256x256`, or one side alone: `256x`, `x256`.
  private static func size(
    _ text: String
  ) throws(UsageProblem) -> (width: Int?, height: Int?) {
    let parts = text.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
    let sides = parts.map { Int($0) }
    let areNumbers = zip(parts, sides).allSatisfy { part, side in
      part.isEmpty || (side.map(WireLimits.side.contains) ?? false)
    }
    guard parts.count == 2, areNumbers, sides.contains(where: { $0 != nil }) else {
      throw UsageProblem(
        "--resize \(printable(text)) is not a size: write WIDTHxHEIGHT, such as 256x256, 256x or x256"
      )
    }
    return (sides[0], sides[1])
  }
}
