internal import ImgdText
internal import ImgdWire

/// What the options of a path say, in their order: a later one replaces what an earlier one has set, also where that is
/// a preset.
struct PathOptions {
  var form = WantedForm(isLenient: true)
  private(set) var expires: Int?
  private(set) var disposition = Disposition()
  private var before: [FormLayer] = []

  var layers: [FormLayer] { before + [.own(form)] }

  mutating func read(_ segment: Substring) throws(GatewayError) {
    let arguments = try OptionArguments(segment)
    switch arguments.option {
    case .resize: try readSize(arguments, from: 1, fit: arguments.value(0, "type"))
    case .size: try readSize(arguments, from: 0, fit: nil)
    case .resizingType: form.fit = try arguments.value(0)?.fit()
    case .width: form.width = try arguments.required().openSide()
    case .height: form.height = try arguments.required().openSide()
    case .minWidth: form.minWidth = try arguments.required().openSide()
    case .minHeight: form.minHeight = try arguments.required().openSide()
    case .zoom: try readZoom(arguments)
    case .dpr: form.density = try arguments.required().factor()
    case .enlarge: form.enlarge = try arguments.required().flagOfOption()
    case .extend: try readExtension(arguments, from: 0)
    case .gravity: form.crop = try readGravity(arguments).crop(in: arguments)
    case .crop: try readCrop(arguments)
    case .padding: try readPadding(arguments)
    case .background: form.background = try arguments.background()
    case .rotate: form.rotate = try arguments.required().rotation()
    case .quality:
      form.quality = try arguments.required().integer(0...WireLimits.quality.upperBound, "a number from 0 to 100")
    case .formatQuality: try readFormatQualities(arguments)
    case .maxBytes: form.mostBytes = try arguments.required().integer(0...Int.max, "a number of bytes, or 0 for any")
    case .format: form.format = try arguments.required().word()
    case .expires:
      let end = try arguments.required().integer(0...Int.max, "seconds since 1970")
      expires = end == 0 ? nil : end
    case .filename: disposition.filename = try arguments.filename()
    case .returnAttachment: disposition.isAttachment = try arguments.required().flagOfOption()
    case .preset:
      before.append(.own(form))
      for name in arguments.parts { before.append(.preset(String(name))) }
      form = WantedForm(isLenient: true)
    case .cachebuster, .stripMetadata, .stripColorProfile, .keepCopyright, .autoRotate: break
    }
    let most = arguments.option.mostArguments
    if arguments.parts.count > most {
      throw arguments.refusal("has \(arguments.parts.count) arguments; it takes \(most) at most")
    }
  }

  // MARK: Sizes

  private mutating func readSize(_ arguments: OptionArguments, from first: Int, fit: ParameterValue?)
    throws(GatewayError)
  {
    if let fit { form.fit = try fit.fit() }
    if let width = arguments.value(first, "width") { form.width = try width.openSide() }
    if let height = arguments.value(first + 1, "height") { form.height = try height.openSide() }
    if let enlarge = arguments.value(first + 2, "enlarge") { form.enlarge = try enlarge.flagOfOption() }
    if arguments.value(first + 3) != nil { try readExtension(arguments, from: first + 3) }
  }

  private mutating func readExtension(_ arguments: OptionArguments, from first: Int) throws(GatewayError) {
    form.extends = try arguments.required(first).flagOfOption()
    guard form.extends == true, let gravity = try Gravity(arguments, from: first + 1) else { return }
    guard gravity == .middle else { throw arguments.refusal("extends a picture on all sides: its gravity is ce") }
  }

  private mutating func readZoom(_ arguments: OptionArguments) throws(GatewayError) {
    let zoom = try arguments.required().factor()
    if let down = arguments.value(1), try down.factor() != zoom {
      throw arguments.refusal("has two factors; it takes one for both sides")
    }
    form.zoom = zoom
  }

  private func readGravity(_ arguments: OptionArguments) throws(GatewayError) -> Gravity {
    guard let gravity = try Gravity(arguments, from: 0) else { throw arguments.refusal("is empty; \(Gravity.wanted)") }
    return gravity
  }

  private mutating func readCrop(_ arguments: OptionArguments) throws(GatewayError) {
    let sides = try [0, 1].map { (place) throws(GatewayError) in
      try arguments.value(place, place == 0 ? "width" : "height")?.measure() ?? 0
    }
    form.cut = PathCrop(width: sides[0], height: sides[1], gravity: try Gravity(arguments, from: 2))
    _ = try form.cut?.area(around: .centre)
  }

  /// Top, right, bottom and left; a side that is left out is as the one across from it.
  private mutating func readPadding(_ arguments: OptionArguments) throws(GatewayError) {
    let range = PictureForm.Padding.range
    let sides = try (0..<4).map { (place) throws(GatewayError) in
      try arguments.value(place)?.integer(range, "pixels up to \(range.upperBound)")
    }
    let (top, right) = (sides[0] ?? 0, sides[1] ?? sides[0] ?? 0)
    form.padding = PictureForm.Padding(top: top, right: right, bottom: sides[2] ?? top, left: sides[3] ?? right)
  }

  // MARK: Files

  private mutating func readFormatQualities(_ arguments: OptionArguments) throws(GatewayError) {
    guard arguments.parts.count.isMultiple(of: 2) else {
      throw arguments.refusal("takes a format and its quality, and perhaps more of both")
    }
    for place in stride(from: 0, to: arguments.parts.count, by: 2) {
      let format: WantedFormat = try arguments.required(place).word()
      let quality = try arguments.required(place + 1).integer(
        0...WireLimits.quality.upperBound, "a number from 0 to 100")
      form.formatQualities[format] = quality
    }
  }
}

/// An option of a path and what follows its name.
struct OptionArguments {
  let option: PathOption
  let parts: [Substring]

  init(_ segment: Substring) throws(GatewayError) {
    let (name, rest) = segment.cut(at: UInt8(ascii: ":"))
    guard let option = PathOption(named: String(name)) else { throw Self.unknown(String(name)) }
    self.option = option
    parts = (rest ?? "").split(separator: ":", omittingEmptySubsequences: false)
  }

  /// An argument; nil if it is empty or left out.
  func value(_ place: Int, _ name: String? = nil) -> ParameterValue? {
    guard place < parts.count, !parts[place].isEmpty else { return nil }
    let name = name.map { "\(option.rawValue):\($0)" } ?? option.rawValue
    return ParameterValue(name: name, field: option.rawValue, text: String(parts[place]))
  }

  /// An argument that may be empty, about which there will be a complaint.
  func required(_ place: Int = 0) -> ParameterValue {
    value(place) ?? ParameterValue(name: option.rawValue, field: option.rawValue, text: "")
  }

  /// A colour in hexadecimal or in three numbers; nil for an empty one, which takes back an earlier colour.
  func background() throws(GatewayError) -> PictureForm.Background? {
    guard parts.count == 3 else { return try value(0)?.background() }
    var channels: [UInt8] = []
    for place in 0..<3 { channels.append(UInt8(try required(place).integer(0...255, "three numbers up to 255"))) }
    return PictureForm.Background(red: channels[0], green: channels[1], blue: channels[2])
  }

  /// A file's name, escaped or in base64.
  func filename() throws(GatewayError) -> String {
    let isEncoded = try value(1, "encoded")?.flagOfOption() ?? false
    let bytes =
      isEncoded ? Base64URL.bytes(Array(required().text.utf8)) : PercentEncoding.strictlyDecoded(required().text[...])
    let text = bytes.flatMap { String(validating: $0, as: UTF8.self) } ?? ""
    return try ParameterValue(name: option.rawValue, field: option.rawValue, text: text).filename()
  }

  func refusal(_ problem: String) -> GatewayError {
    .badRequest("the option \"\(option.rawValue)\" \(problem)", field: option.rawValue)
  }

  private static func unknown(_ name: String) -> GatewayError {
    let meant = nearestName(to: name, among: PathOption.allCases.map { $0.rawValue })
    let advice = meant.map { ": did you mean \"\($0)\"?" } ?? "."
    let names = PathOption.names.joined(separator: ", ")
    return .badRequest(
      "there is no option \"\(Excerpt.of(name))\"\(advice) The options are \(names)", field: Excerpt.of(name))
  }
}

/// An option of imgproxy that is accepted here.
enum PathOption: String, CaseIterable {
  case resize, size, width, height, zoom, dpr, enlarge, extend, gravity, crop, padding, background, rotate, quality
  case format, preset, expires, filename
  case resizingType = "resizing_type"
  case minWidth = "min-width"
  case minHeight = "min-height"
  case formatQuality = "format_quality"
  case maxBytes = "max_bytes"
  case returnAttachment = "return_attachment"
  /// Makes another URL of the same picture, for caches on the way.
  case cachebuster
  // What is always done here, whatever they say.
  case stripMetadata = "strip_metadata"
  case stripColorProfile = "strip_color_profile"
  case keepCopyright = "keep_copyright"
  case autoRotate = "auto_rotate"

  private static let byName: [String: PathOption] = Dictionary(
    uniqueKeysWithValues: allCases.flatMap { option in option.allNames.map { ($0, option) } })

  /// The name of each option, with the short ones.
  static let names = allCases.map { $0.allNames.joined(separator: "|") }

  init?(named name: String) {
    guard let option = Self.byName[name] else { return nil }
    self = option
  }

  private var allNames: [String] { [rawValue] + shortNames }

  private var shortNames: [String] {
    switch self {
    case .resize: ["rs"]
    case .size: ["s"]
    case .resizingType: ["rt"]
    case .width: ["w"]
    case .height: ["h"]
    case .minWidth: ["mw"]
    case .minHeight: ["mh"]
    case .zoom: ["z"]
    case .dpr: []
    case .enlarge: ["el"]
    case .extend: ["ex"]
    case .gravity: ["g"]
    case .crop: ["c"]
    case .padding: ["pd"]
    case .background: ["bg"]
    case .rotate: ["rot"]
    case .quality: ["q"]
    case .formatQuality: ["fq"]
    case .maxBytes: ["mb"]
    case .format: ["f", "ext"]
    case .preset: ["pr"]
    case .expires: ["exp"]
    case .filename: ["fn"]
    case .returnAttachment: ["att"]
    case .cachebuster: ["cb"]
    case .stripMetadata: ["sm"]
    case .stripColorProfile: ["scp"]
    case .keepCopyright: ["kcr"]
    case .autoRotate: ["ar"]
    }
  }

  var mostArguments: Int {
    switch self {
    case .resize: 8
    case .size: 7
    case .crop: 5
    case .extend, .padding: 4
    case .gravity, .background: 3
    case .zoom, .filename: 2
    case .preset, .formatQuality, .cachebuster: .max
    default: 1
    }
  }
}

extension ParameterValue {
  private static let flags: KeyValuePairs = [
    "1": true, "t": true, "true": true, "0": false, "f": false, "false": false,
  ]
  private static let fits: KeyValuePairs = [
    "fit": PictureForm.Fit.contain, "fill": .cover, "fill-down": .coverDown, "force": .fill, "auto": .coverAlike,
  ]

  fileprivate func flagOfOption() throws(GatewayError) -> Bool { try meaning(Self.flags, of: text.lowercased()) }

  fileprivate func fit() throws(GatewayError) -> PictureForm.Fit { try meaning(Self.fits, of: text) }

  private func meaning<Value>(_ words: KeyValuePairs<String, Value>, of text: String) throws(GatewayError) -> Value {
    guard let word = words.first(where: { $0.key == text }) else { throw wrong(alternatives(words.map { $0.key })) }
    return word.value
  }

  /// A side, or 0 for one that is left open.
  fileprivate func openSide() throws(GatewayError) -> Int {
    try integer(0...WireLimits.side.upperBound, "a whole number of pixels up to \(WireLimits.side.upperBound)")
  }

  /// By how much sides are multiplied.
  fileprivate func factor() throws(GatewayError) -> Double {
    let factor = try decimal("a number above 0, up to 8, such as 1.5")
    guard 0.001...8 ~= factor else { throw wrong("a number above 0, up to 8, such as 1.5") }
    return factor
  }

  /// Pixels, or a fraction of a side below 1.
  fileprivate func measure() throws(GatewayError) -> Double {
    let wanted = "pixels up to \(WireLimits.side.upperBound), a fraction below 1, or 0 for the whole side"
    let number = try decimal(wanted)
    guard number <= Double(WireLimits.side.upperBound) else { throw wrong(wanted) }
    return number
  }

  fileprivate func rotation() throws(GatewayError) -> Int {
    let angle = try integer(0...3_600, "0, 90, 180 or 270")
    guard angle.isMultiple(of: 90) else { throw wrong("0, 90, 180 or 270") }
    return angle % 360
  }
}
