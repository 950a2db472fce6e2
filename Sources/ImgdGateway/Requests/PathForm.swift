internal import ImgdText
internal import ImgdWire

/// Reads `/signature/option/option/plain/URL`, which is how targets of imgproxy look. The whole of the raw target is
/// read: a question mark after `plain/` belongs to the URL.
struct PathForm {
  private var rest: Substring
  private var signature: String?
  private var signedText: Substring
  private var given = GivenParameters()
  private var options: Set<PathOption> = []
  /// Whether the picture is extended to its size.
  private var extends = false

  /// Nil if the path does not begin like that of a picture.
  static func parse(_ raw: String) throws(GatewayError) -> ParsedRequest? {
    guard isPicture(RequestTarget(raw).path) else { return nil }
    var form = PathForm(raw)
    let source = try form.takeAll()
    return ParsedRequest(form.given, source, signature: form.signature, signedText: form.signedText)
  }

  private static let plain = "plain"
  /// Words that stand for no signature.
  private static let none = ["insecure", "unsafe", "_"]
  /// The beginning of a URL in base64.
  private static let encoded = "aHR0c"

  private static func isPicture(_ path: Substring) -> Bool {
    let (start, steps) = path.cut(at: UInt8(ascii: "/"))
    guard start.isEmpty, let steps else { return false }
    let (first, after) = steps.cut(at: UInt8(ascii: "/"))
    if isStep(first) { return true }
    guard !first.isEmpty, let second = after?.cut(at: UInt8(ascii: "/")).head else { return false }
    return isStep(second) || none.contains(String(first)) || second.utf8.starts(with: encoded.utf8)
  }

  /// Whether a segment is an option, or the word before the URL; any other may be a signature.
  private static func isStep(_ segment: Substring) -> Bool {
    segment == plain || segment.utf8.contains(UInt8(ascii: ":"))
  }

  private init(_ raw: String) {
    rest = raw[raw.utf8.index(after: raw.startIndex)...]
    signedText = raw[...]
    let (first, after) = rest.cut(at: UInt8(ascii: "/"))
    guard !Self.isStep(first), let after else { return }
    signature = Self.none.contains(String(first)) ? nil : String(first)
    signedText = raw[first.endIndex...]
    rest = after
  }

  private mutating func takeAll() throws(GatewayError) -> SourceURL {
    while true {
      let (segment, after) = rest.cut(at: UInt8(ascii: "/"))
      if segment == Self.plain { return try source(after ?? "") }
      guard segment.utf8.contains(UInt8(ascii: ":")) else {
        throw .badRequest(
          "\"\(Excerpt.of(String(segment)))\" is neither an option nor \"plain\": the URL follows \"plain/\","
            + " and is not in base64")
      }
      try readOption(segment)
      guard let after else { throw Self.noSource() }
      rest = after
    }
  }

  // MARK: Options

  private mutating func readOption(_ segment: Substring) throws(GatewayError) {
    let (name, arguments) = segment.cut(at: UInt8(ascii: ":"))
    guard let option = PathOption(named: String(name)) else { throw Self.unknown(String(name)) }
    guard options.insert(option).inserted else {
      throw .badRequest("the option \"\(option.rawValue)\" is set twice", field: option.rawValue)
    }
    switch (option, arguments ?? "") {
    case (.cachebuster, _): break
    case (.extend, let text): extends = try ParameterValue.flag(text, of: option)
    case (.crop, let text): try readCrop(text)
    case (.gravity, let text) where text.utf8.starts(with: "fp:".utf8): try readPoint(text)
    case (_, let text): try readArguments(text, of: option)
    }
  }

  /// The point to keep, in fractions of the sides.
  private mutating func readPoint(_ text: Substring) throws(GatewayError) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).dropFirst()
    let wanted = "ce, sm or fp:x:y with fractions of the sides, such as fp:0.4:0.3"
    let value = ParameterValue(
      name: "gravity", field: "gravity", text: parts.joined(separator: ","), original: (String(text), wanted))
    guard parts.count == 2 else { throw value.wrong(wanted) }
    try given.read(.crop, value)
  }

  /// Width and height of a part, which begins at the top left, or as far from there as its gravity says.
  private mutating func readCrop(_ text: Substring) throws(GatewayError) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let corner = parts.count == 2 ? ["0", "0"] : parts.dropFirst(3)
    let wanted = "width:height, or width:height:nowe:x:y"
    let value = ParameterValue(
      name: "crop", field: "crop", text: (corner + parts.prefix(2)).joined(separator: ","),
      original: (String(text), wanted))
    guard parts.count == 2 || parts.count == 5 && parts[2] == "nowe" else { throw value.wrong(wanted) }
    try given.read(.area, value)
  }

  private mutating func readArguments(_ text: Substring, of option: PathOption) throws(GatewayError) {
    let parameters = option.parameters
    var rest: Substring? = text
    for parameter in parameters {
      guard let (argument, after) = rest?.cut(at: UInt8(ascii: ":")) else { return }
      rest = after
      if argument.isEmpty, parameters.count > 1 { continue }
      let value = ParameterValue(name: option.name(of: parameter), field: option.rawValue, text: String(argument))
      guard let value = try parameter.translated(value) else { continue }
      try given.read(parameter, value)
    }
    if let rest {
      throw .badRequest(
        "the option \"\(option.rawValue)\" has \"\(Excerpt.of(String(rest)))\" after its last argument;"
          + " it takes \(parameters.map { option.name(of: $0) }.joined(separator: ", "))", field: option.rawValue)
    }
  }

  // MARK: The URL

  private mutating func source(_ text: Substring) throws(GatewayError) -> SourceURL {
    guard !text.isEmpty else { throw Self.noSource() }
    let url = try takeExtension(of: text)
    guard let decoded = PercentEncoding.strictlyDecoded(url) else {
      throw GatewayError(
        400, "bad_url", "the URL behind \"plain/\" has a % without two hexadecimal digits; a % is written %25",
        field: "url")
    }
    // imgproxy keeps the shape of a picture if a side is left open, whatever the type of resizing.
    let isOpen = given.form.width == nil || given.form.height == nil
    if isOpen, given.presetName == nil { given.form.fit = nil }
    if extends, !isOpen, given.form.fit ?? .contain == .contain { given.form.fit = .pad }
    return try SourceURL(Self.withBothSlashes(decoded))
  }

  /// Takes an ending such as `@webp` off the URL, and reads the format in it.
  private mutating func takeExtension(of text: Substring) throws(GatewayError) -> Substring {
    guard let sign = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return text }
    let word = String(text[text.utf8.index(after: sign)...])
    guard let format = WantedFormat(rawValue: word) else {
      let known = alternatives(WantedFormat.allCases.map { $0.rawValue })
      throw .badRequest(
        "\"@\(Excerpt.of(word))\" at the end names no format; it takes \(known). An @ of the URL is written %40",
        field: "format")
    }
    guard given.form.format == nil else {
      throw .badRequest(
        "\"@\(word)\" at the end is a second format, after that of an option; it takes one", field: "format")
    }
    given.form.format = format
    return text[..<sign]
  }

  /// `https:/host` as `https://host`: some proxies merge slashes.
  private static func withBothSlashes(_ url: [UInt8]) -> [UInt8] {
    guard let colon = url.prefix(6).firstIndex(of: UInt8(ascii: ":")) else { return url }
    let slash = UInt8(ascii: "/")
    let behind = url[(colon + 1)...]
    guard behind.first == slash, behind.dropFirst().first != slash else { return url }
    return Array(url[...colon] + [slash] + behind)
  }

  private static func unknown(_ name: String) -> GatewayError {
    let meant = nearestName(to: name, among: PathOption.allCases.map { $0.rawValue })
    let advice = meant.map { ": did you mean \"\($0)\"?" } ?? "."
    let names = PathOption.names.joined(separator: ", ")
    return .badRequest(
      "there is no option \"\(Excerpt.of(name))\"\(advice) The options are \(names)", field: Excerpt.of(name))
  }

  private static func noSource() -> GatewayError {
    .badRequest("the path has no URL: it ends with plain/https://host/path", field: "url")
  }
}

/// An option of imgproxy that is accepted here.
enum PathOption: String, CaseIterable {
  case resize, size, width, height, enlarge, extend, crop, dpr, gravity, background, quality, format, preset, expires
  case resizingType = "resizing_type"
  /// Makes another URL of the same picture, for caches on the way.
  case cachebuster

  private static let byName: [String: PathOption] = Dictionary(
    uniqueKeysWithValues: allCases.flatMap { option in option.allNames.map { ($0, option) } })

  /// The name of each option, with the short ones.
  static let names = allCases.map { $0.allNames.joined(separator: "|") }

  init?(named name: String) {
    guard let option = Self.byName[name] else { return nil }
    self = option
  }

  private var allNames: [String] { [rawValue] + row.shortNames }

  /// The parameters that its arguments set, in their order.
  var parameters: [PictureParameter] { row.parameters }

  private var row: (shortNames: [String], parameters: [PictureParameter]) {
    switch self {
    case .resize: (["rs"], [.fit, .width, .height, .enlarge])
    case .size: (["s"], [.width, .height, .enlarge])
    case .resizingType: (["rt"], [.fit])
    case .width: (["w"], [.width])
    case .height: (["h"], [.height])
    case .enlarge: (["el"], [.enlarge])
    case .dpr: ([], [.dpr])
    case .gravity: (["g"], [.crop])
    case .extend: (["ex"], [])
    case .crop: (["c"], [])
    case .background: (["bg"], [.background])
    case .quality: (["q"], [.quality])
    case .format: (["f", "ext"], [.format])
    case .preset: (["pr"], [.preset])
    case .expires: (["exp"], [.expires])
    case .cachebuster: (["cb"], [])
    }
  }

  /// The name of an argument in a complaint.
  func name(of parameter: PictureParameter) -> String {
    guard parameters.count > 1 else { return rawValue }
    return "\(rawValue):\(parameter == .fit ? "type" : parameter.rawValue)"
  }
}

extension PictureParameter {
  /// An argument of imgproxy in the words of a query; nil for one that leaves the parameter open.
  func translated(_ argument: ParameterValue) throws(GatewayError) -> ParameterValue? {
    switch self {
    case .width, .height: return argument.text == "0" ? nil : argument
    case .fit: return try argument.translated(by: ["fit": "contain", "fill": "cover", "force": "fill"])
    case .crop: return try argument.translated(by: ["ce": "centre", "sm": "attention"], or: "fp:x:y")
    case .enlarge: return try argument.translated(by: ParameterValue.flags)
    default: return argument
    }
  }
}

extension ParameterValue {
  fileprivate static let flags: KeyValuePairs = [
    "1": "true", "t": "true", "true": "true", "0": "false", "f": "false", "false": "false",
  ]

  fileprivate static func flag(_ text: Substring, of option: PathOption) throws(GatewayError) -> Bool {
    let value = ParameterValue(name: option.rawValue, field: option.rawValue, text: String(text))
    return try value.translated(by: flags).flag()
  }

  fileprivate func translated(by words: KeyValuePairs<String, String>, or other: String? = nil) throws(GatewayError)
    -> ParameterValue
  {
    guard let word = words.first(where: { $0.key == text }) else {
      throw wrong(alternatives(words.map { $0.key } + [other].compactMap { $0 }))
    }
    return ParameterValue(name: name, field: field, text: word.value)
  }
}
