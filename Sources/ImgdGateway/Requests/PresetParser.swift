internal import ImgdWire
internal import ImgdWords

/// A word of `Presets=` that cannot be read, in a sentence for the operator.
package struct PresetProblem: Error, Equatable {
  package let message: String
}

extension Preset {
  /// Reads `thumb:300x200:cover:attention:webp:q80`, whose parts may stand in any order.
  package init(parsing word: String) throws(PresetProblem) {
    var parser = try PresetParser(word)
    self = try parser.preset()
  }

  /// The word that stands for it in the configuration.
  package var text: String {
    var parts = [name]
    if width != nil || height != nil {
      parts.append("\(width.map(String.init) ?? "")x\(height.map(String.init) ?? "")")
    }
    parts += [fit?.rawValue, crop?.rawValue, format?.rawValue, quality.map { "q\($0)" }]
      .compactMap { $0 }
    return parts.joined(separator: ":")
  }
}

private struct PresetParser {
  private static let longestName = 64
  private static let words =
    PictureRequest.Fit.allCases.map { $0.rawValue }
    + PictureRequest.Crop.allCases.map { $0.rawValue }
    + PictureRequest.Format.allCases.map { $0.rawValue }

  private let parts: [Substring]
  private var result: Preset

  init(_ word: String) throws(PresetProblem) {
    parts = word.split(separator: ":", omittingEmptySubsequences: false)
    result = Preset(name: String(parts[0]))
    guard 1...Self.longestName ~= result.name.utf8.count,
      result.name.utf8.allSatisfy(Self.isNameByte)
    else {
      throw PresetProblem(
        message:
          "the preset \"\(Excerpt.of(word))\" has no name of 1 to \(Self.longestName) letters, digits,"
          + " - and _ before its first colon")
    }
  }

  mutating func preset() throws(PresetProblem) -> Preset {
    for part in parts.dropFirst() { try take(String(part)) }
    let isOpen = (result.width == nil) != (result.height == nil)
    if isOpen, let fit = result.fit, fit != .contain {
      throw problem("has one side and \"\(fit.rawValue)\", which takes both: 300x200")
    }
    return result
  }

  private mutating func take(_ part: String) throws(PresetProblem) {
    if let fit = PictureRequest.Fit(rawValue: part) {
      try set(&result.fit, fit, "fit")
    } else if let crop = PictureRequest.Crop(rawValue: part) {
      try set(&result.crop, crop, "crop")
    } else if let format = part == "jpg" ? .jpeg : PictureRequest.Format(rawValue: part) {
      try set(&result.format, format, "format")
    } else if part.utf8.first == UInt8(ascii: "q"), let quality = Self.number(part.dropFirst()),
      WireLimits.quality.contains(quality)
    {
      try set(&result.quality, quality, "quality")
    } else if let size = Self.size(part) {
      guard result.width == nil, result.height == nil else { throw problem("has two sizes") }
      (result.width, result.height) = size
    } else {
      throw unknown(part)
    }
  }

  private func set<Value>(
    _ place: inout Value?, _ value: Value, _ kind: String
  ) throws(PresetProblem) {
    guard place == nil else { throw problem("has two words for its \(kind)") }
    place = value
  }

  /// The sides of `300x200`, `300x` and `x200`.
  private static func size(_ part: String) -> (Int?, Int?)? {
    let (left, right) = part[...].cut(at: UInt8(ascii: "x"))
    guard let right else { return nil }
    let (width, height) = (number(left), number(right))
    guard width != nil || left.isEmpty, height != nil || right.isEmpty,
      width != nil || height != nil,
      [width, height].allSatisfy({ $0.map(WireLimits.side.contains) ?? true })
    else { return nil }
    return (width, height)
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { 48...57 ~= $0 } ? Int(text) : nil
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte | 0x20 {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): true
    default: 48...57 ~= byte || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
  }

  private func unknown(_ part: String) -> PresetProblem {
    let meant = nearestName(to: part, among: Self.words).map { ": did you mean \"\($0)\"?" }
    return problem(
      "has \"\(Excerpt.of(part))\""
        + (meant
          ?? "; it takes a size such as 300x200, \(Self.words.joined(separator: ", ")) or q1 to q100")
    )
  }

  private func problem(_ text: String) -> PresetProblem {
    PresetProblem(message: "the preset \"\(result.name)\" \(text)")
  }
}
