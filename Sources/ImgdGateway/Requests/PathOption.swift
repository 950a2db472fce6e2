internal import ImgdText

/// An option of imgproxy that is accepted here.
enum PathOption: String, CaseIterable {
  case resize, size, width, height, enlarge, dpr, gravity, quality, format, preset, expires
  case resizingType = "resizing_type"
  /// Makes another URL of the same picture, for caches on the way.
  case cachebuster

  private static let byName: [String: PathOption] = Dictionary(
    uniqueKeysWithValues: allCases.flatMap { option in ([option.rawValue] + option.shortNames).map { ($0, option) } })

  /// The name of each option, with the short ones.
  static let names = allCases.map { ([$0.rawValue] + $0.shortNames).joined(separator: "|") }

  init?(named name: String) {
    guard let option = Self.byName[name] else { return nil }
    self = option
  }

  private var shortNames: [String] { row.shortNames }

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
    case .crop: return try argument.translated(by: ["ce": "centre", "sm": "attention"])
    case .enlarge:
      return try argument.translated(by: [
        "1": "true", "t": "true", "true": "true", "0": "false", "f": "false", "false": "false",
      ])
    default: return argument
    }
  }
}

extension ParameterValue {
  fileprivate func translated(by words: KeyValuePairs<String, String>) throws(GatewayError) -> ParameterValue {
    guard let word = words.first(where: { $0.key == text }) else { throw wrong(alternatives(words.map { $0.key })) }
    return ParameterValue(name: name, field: field, text: word.value)
  }
}
