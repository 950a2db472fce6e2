import ImgdSystem
import ImgdText
import ImgdWire

/// The options that a request for a picture has, whichever command sends it.
struct RequestOptions {
  /// The options of every command that fetches.
  static let all: [VerbOption] = [
    VerbOption("resize", nil, .text("WxH"), help: "another size, such as 256x256, 256x or x256"),
    VerbOption(
      "fit", nil, .choice("FIT", PictureForm.Fit.allCases.map { $0.rawValue }),
      help: "how the picture fits into that size: contain, cover, fill, pad, cover-alike or cover-down"),
    VerbOption(
      "crop", nil, .text("PART", .choice(PictureForm.Crop.words)),
      help: "the part that --fit cover keeps: " + PictureForm.Crop.wanted),
    VerbOption(
      "area", nil, .text("X,Y,W,H"), help: "the part that is cut out first, in pixels or, with a point, in fractions"),
    VerbOption(
      "background", nil, .text("COLOUR"),
      help: "what lies behind --fit pad, and behind a picture that loses its alpha, such as '#ff8800'"),
    VerbOption("enlarge", help: "enlarge a picture that is smaller than that size"),
    VerbOption("linear", help: "scale in linear light: slower, and truer in fine patterns"), OutputFormat.option,
    VerbOption("quality", nil, .number("1-100", WireLimits.quality), help: "the quality of that encoding"),
    VerbOption(
      "frames", nil, .choice("FRAMES", FrameChoice.allCases.map { $0.rawValue }),
      help: "the frames of an animation that are kept: as many as the format can have (auto), all or none, or the first"
    ),
    VerbOption(
      "cache", nil, .choice("MODE", CacheMode.allCases.map { $0.rawValue }),
      help: "how the cache is used: default, reload, no-cache, force-cache, only-if-cached, peek or no-store"),
    VerbOption(
      "store", nil, .choice("TIERS", StorePolicy.allCases.map { $0.rawValue }),
      help: "the tiers that may keep the picture: all, memory, disk or none"),
    VerbOption("ttl", nil, .duration, help: "how long the picture counts as fresh, such as 7d"),
    VerbOption("identifier", nil, .text("ID"), help: "an additional part of the cache key"),
    VerbOption(
      "priority", nil, .choice("PRIORITY", Priority.allCases.map { $0.rawValue }), help: "low, normal or high"),
    VerbOption("tag", nil, .text("TAG"), repeats: true, help: "label the fetch for cancel and purge"),
    VerbOption("timeout", nil, .duration, help: "give up after this time, such as 30s"),
    VerbOption("no-wait-online", help: "fail at once while no route leads to the origin"),
    VerbOption("max-bytes", nil, .size, help: "refuse pictures larger than this, such as 10M"),
    VerbOption("header", "H", .text("'NAME: VALUE'"), repeats: true, help: "send a header to the origin"),
  ]

  /// The form in which the pictures are wanted.
  let form: PictureForm
  private let arguments: Arguments
  private let headers: [RequestHeader]
  /// Used unless `--priority` is given.
  private let usualPriority: Priority?

  /// `named` is the format that the name of the file asks for, where the name counts.
  init(_ arguments: Arguments, usualPriority: Priority? = nil, named: OutputFormat? = nil) throws(UsageProblem) {
    self.arguments = arguments
    self.usualPriority = usualPriority
    let box = try Self.box(arguments)
    if arguments.has("quality"), box == nil, !arguments.has("format"), named == nil {
      throw UsageProblem("--quality needs --format, --resize or --area")
    }
    form = PictureForm(
      box: box, formats: arguments.formats, quality: arguments.number("quality"),
      frames: arguments.word("frames") ?? .auto)
    headers = try Self.headers(arguments.texts("header"))
    try Self.check(arguments, "timeout", .milliseconds(1), WireLimits.timeoutMilliseconds, 1000)
    try Self.check(arguments, "ttl", .zero, WireLimits.seconds, 1)
  }

  /// The time after which the daemon gives up, if one was named.
  var timeout: Duration? { arguments.duration("timeout") }

  /// Applies these options to all pictures of a run.
  func apply(to plan: inout FetchPlan) {
    apply(to: &plan.fetch)
    plan.timeout = timeout
    plan.namesStore = arguments.has("store")
  }

  /// Applies these options to one picture.
  func apply(to fetch: inout FetchRequest) {
    fetch.cache = arguments.word("cache") ?? fetch.cache
    fetch.store = arguments.word("store") ?? fetch.store
    fetch.identifier = arguments.text("identifier")
    fetch.waitsOnline = !arguments.has("no-wait-online")
    fetch.priority = arguments.word("priority") ?? usualPriority ?? fetch.priority
    fetch.extras.ttl = arguments.duration("ttl").map { Int($0.components.seconds) }
    fetch.extras.timeoutMilliseconds = timeout.map { Int($0.milliseconds) }
    fetch.extras.maxBytes = arguments.size("max-bytes")
    fetch.extras.tags = arguments.texts("tag")
    fetch.extras.headers = headers
    fetch.form = form
  }

  /// Refuses a duration that the protocol cannot express.
  static func check(
    _ arguments: Arguments, _ option: String, _ shortest: Duration, _ range: ClosedRange<Int>, _ unitsPerSecond: Int
  ) throws(UsageProblem) {
    guard let text = arguments.text(option), let duration = arguments.duration(option) else { return }
    let longest = Duration.seconds(range.upperBound / unitsPerSecond)
    guard duration >= shortest else {
      throw UsageProblem("--\(option) \(printable(text)) is too short: write at least \(DurationText.text(shortest))")
    }
    guard duration <= longest else {
      throw UsageProblem("--\(option) \(printable(text)) is too long: write at most \(DurationText.text(longest))")
    }
  }

  private static func box(_ arguments: Arguments) throws(UsageProblem) -> PictureForm.Box? {
    var box = PictureForm.Box(width: nil, height: nil)
    if let text = arguments.text("resize") {
      guard let sides = SidesText.sides(of: text) else {
        throw UsageProblem(
          "--resize \(printable(text)) is not a size: write WIDTHxHEIGHT, such as 256x256, 256x or x256")
      }
      (box.width, box.height) = sides
    } else {
      for option in ["fit", "crop", "enlarge", "linear"] where arguments.has(option) {
        throw UsageProblem("--\(option) needs --resize")
      }
    }
    box.fit = arguments.word("fit") ?? .contain
    box.enlarge = arguments.has("enlarge")
    box.linear = arguments.has("linear")
    let crop = try value(of: "crop", arguments, wanted: PictureForm.Crop.wanted) { PictureForm.Crop($0) }
    box.crop = crop ?? .centre
    box.area = try area(arguments)
    box.background = try value(of: "background", arguments, wanted: PictureForm.Background.wanted) {
      PictureForm.Background($0)
    }
    switch box.problem(crop: crop) {
    case .needlessCrop: throw UsageProblem("--crop needs --fit cover")
    case .openSide: throw UsageProblem("--fit \(box.fit.rawValue) needs both sides in --resize, such as 256x256")
    case .noSide: return nil
    // No option of imgctl sets a scale.
    case .needlessScale, nil: return box
    }
  }

  private static func area(_ arguments: Arguments) throws(UsageProblem) -> PictureForm.Area? {
    guard let text = arguments.text("area") else { return nil }
    do throws(NumberProblem) { return try PictureForm.Area(text) } catch {
      let part = error.name.isEmpty ? "write" : "its \(error.name) takes"
      throw UsageProblem("--area \(printable(text)) is not valid: \(part) \(error.wanted)")
    }
  }

  private static func value<Value>(
    of option: String, _ arguments: Arguments, wanted: String, _ read: (String) -> Value?
  ) throws(UsageProblem) -> Value? {
    guard let text = arguments.text(option) else { return nil }
    guard let value = read(text) else {
      throw UsageProblem("--\(option) \(printable(text)) is not valid: write \(wanted)")
    }
    return value
  }

  private static func headers(_ texts: [String]) throws(UsageProblem) -> [RequestHeader] {
    var headers: [RequestHeader] = []
    var names: Set<String> = []
    for text in texts {
      let header = try header(text)
      guard names.insert(header.name.lowercased()).inserted else {
        throw UsageProblem("--header \(printable(header.name)) is given twice: write one, with both values")
      }
      headers.append(header)
    }
    return headers
  }

  private static func header(_ text: String) throws(UsageProblem) -> RequestHeader {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = parts.first, !name.isEmpty, !name.contains(" ") else {
      throw UsageProblem("--header '\(printable(text))' is not a header: write 'Name: value'")
    }
    let value = String(parts[1].drop { $0 == " " })
    switch RequestHeader.problem(name: String(name), value: value) {
    case .noName: throw UsageProblem("--header '\(printable(String(name)))' is not a header's name")
    case .ofDaemon: throw UsageProblem("--header \(name) is set by the daemon alone: leave it out")
    case .controlCharacter: throw UsageProblem("--header \(name) has a control character in its value")
    case nil: return RequestHeader(name: String(name), value: value)
    }
  }
}

// A file called picture.webp has to be a WebP, since programs go by the name. So the name of a file asks for its
// format, as with vipsthumbnail and convert, unless --format says otherwise.

extension OutputFormat {
  /// The option of the commands that have pictures encoded.
  static let option = VerbOption(
    "format", nil, .choice("FORMAT", alone.flatMap { $0 == .jpeg ? ["jpeg", "jpg"] : [$0.rawValue] }), repeats: true,
    help: "another encoding: " + alternatives(alone.dropFirst().map { $0.rawValue })
      + "; given again, the next best where one cannot be written or loses something of the picture; with -o FILE that"
      + " of its ending, unless it is given")

  /// The format that the name of a file asks for; nil without an ending, or with one whose format cannot be written.
  init?(ofFile path: String) {
    guard let kind = PictureName.kind(ofFile: path) else { return nil }
    self.init(rawValue: kind)
    guard Self.alone.contains(self) else { return nil }
  }
}
