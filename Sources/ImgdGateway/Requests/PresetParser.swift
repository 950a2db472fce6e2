internal import ImgdWire
internal import ImgdText

/// A word of `Presets=` that cannot be read, in a sentence for the operator.
package struct PresetProblem: Error, Equatable { package let message: String }

extension Preset {
  /// Reads `thumb:300x200:cover:attention:webp:q80`, whose parts may stand in any order.
  package init(parsing word: String) throws(PresetProblem) {
    var parser = try PresetParser(word)
    self = try parser.preset()
  }

  /// The word that stands for it in the configuration.
  package var text: String {
    var parts = [name]
    if form.width != nil || form.height != nil {
      parts.append("\(form.width.map(String.init) ?? "")x\(form.height.map(String.init) ?? "")")
    }
    let words = [form.fit?.rawValue, form.crop?.rawValue, form.format?.rawValue]
    parts += (words + [form.quality.map { "q\($0)" }]).compactMap { $0 }
    return parts.joined(separator: ":")
  }
}

private struct PresetParser {
  private static let longestName = 64
  private static let words =
    PictureForm.Fit.allCases.map { $0.rawValue } + PictureForm.Crop.allCases.map { $0.rawValue }
    + WantedFormat.allCases.map { $0.rawValue }

  private let parts: [Substring]
  private var result: Preset

  init(_ word: String) throws(PresetProblem) {
    parts = word.split(separator: ":", omittingEmptySubsequences: false)
    result = Preset(name: String(parts[0]))
    guard 1...Self.longestName ~= result.name.utf8.count, result.name.utf8.allSatisfy(Self.isNameByte) else {
      throw PresetProblem(
        message: "the preset \"\(Excerpt.of(word))\" has no name of 1 to \(Self.longestName) letters, digits,"
          + " - and _ before its first colon")
    }
  }

  mutating func preset() throws(PresetProblem) -> Preset {
    for part in parts.dropFirst() { try read(String(part)) }
    let (form, fit) = (result.form, result.form.fit ?? .contain)
    let fault = PictureForm.Box.problem(width: form.width, height: form.height, fit: fit, crop: nil)
    if fault == .openSide { throw problem("has one side and \"\(fit.rawValue)\", which takes both: 300x200") }
    return result
  }

  private mutating func read(_ part: String) throws(PresetProblem) {
    if let fit = PictureForm.Fit(rawValue: part) {
      try set(&result.form.fit, fit, "fit")
    } else if let crop = PictureForm.Crop(rawValue: part) {
      try set(&result.form.crop, crop, "crop")
    } else if let format = WantedFormat(rawValue: part) {
      try set(&result.form.format, format, "format")
    } else if part.utf8.first == UInt8(ascii: "q"), let quality = Self.number(part.dropFirst()),
      WireLimits.quality.contains(quality)
    {
      try set(&result.form.quality, quality, "quality")
    } else if let size = SidesText.sides(of: part) {
      guard result.form.width == nil, result.form.height == nil else { throw problem("has two sizes") }
      (result.form.width, result.form.height) = size
    } else {
      throw unknown(part)
    }
  }

  private func set<Value>(_ place: inout Value?, _ value: Value, _ kind: String) throws(PresetProblem) {
    guard place == nil else { throw problem("has two words for its \(kind)") }
    place = value
  }

  private static func number(_ text: Substring) -> Int? { text.utf8.allSatisfy { 48...57 ~= $0 } ? Int(text) : nil }

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
        + (meant ?? "; it takes a size such as 300x200, \(Self.words.joined(separator: ", ")) or q1 to q100"))
  }

  private func problem(_ text: String) -> PresetProblem {
    PresetProblem(message: "the preset \"\(result.name)\" \(text)")
  }
}
