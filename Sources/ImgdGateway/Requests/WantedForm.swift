internal import ImgdText
package import ImgdWire

/// What a target or a preset says about the form of a picture; nil where it says nothing.
package struct WantedForm: Equatable, Sendable {
  package var width: Int?
  package var height: Int?
  package var fit: PictureForm.Fit?
  package var crop: PictureForm.Crop?
  package var area: PictureForm.Area?
  package var background: PictureForm.Background?
  package var enlarge: Bool?
  package var format: WantedFormat?
  package var quality: Int?
  /// Zero for any number.
  package var mostBytes: Int?
  /// Pixels of the screen for each pixel of the picture's size: both sides are multiplied by it.
  package var density: Double?

  // What only a path says.

  /// Whether a side that is left open, also by 0, keeps the picture's shape whatever the fit.
  var isLenient = false
  var minWidth: Int?
  var minHeight: Int?
  var zoom: Double?
  var rotate: Int?
  var cut: PathCrop?
  /// Whether a picture that is contained is extended to its size.
  var extends: Bool?
  var padding: PictureForm.Padding?
  var formatQualities: [WantedFormat: Int] = [:]

  /// Whether nothing is said.
  var isEmpty: Bool { self == WantedForm(isLenient: isLenient) }

  /// The form, completed by an earlier one where it says nothing.
  func completed(by earlier: WantedForm) -> WantedForm {
    var form = self
    form.complete(
      \.width, \.height, \.fit, \.crop, \.area, \.background, \.enlarge, \.format, \.quality, \.mostBytes,
      \.density, \.minWidth, \.minHeight, \.zoom, \.rotate, \.cut, \.extends, \.padding, by: earlier)
    form.formatQualities.merge(earlier.formatQualities) { own, _ in own }
    return form
  }

  private mutating func complete<each Value>(
    _ places: repeat WritableKeyPath<WantedForm, (each Value)?>, by earlier: WantedForm
  ) {
    repeat complete(each places, by: earlier)
  }

  private mutating func complete<Value>(_ place: WritableKeyPath<WantedForm, Value?>, by earlier: WantedForm) {
    if self[keyPath: place] == nil { self[keyPath: place] = earlier[keyPath: place] }
  }

  /// The request for the picture of a URL, with every value that has no effect left out.
  func request(for url: String) throws(GatewayError) -> PictureRequest {
    var request = PictureRequest(url: url)
    request.form.box = try isLenient ? lenientBox() : box()
    let quality = format.flatMap { formatQualities[$0] }.flatMap { $0 == 0 ? nil : $0 } ?? quality
    request.form.quality = quality == 0 ? nil : quality
    request.form.mostBytes = mostBytes == 0 ? nil : mostBytes
    switch format {
    case .named(let format): request.form.formats = [format]
    case .auto: request.negotiatesFormat = true
    case nil: break
    }
    return request
  }

  private func box() throws(GatewayError) -> PictureForm.Box? {
    let fit = fit ?? .contain
    let box = PictureForm.Box(
      width: try side(width, "width"), height: try side(height, "height"), fit: fit,
      crop: [.cover, .coverAlike, .coverDown].contains(fit) ? crop ?? .centre : .centre, enlarge: enlarge ?? false,
      area: area, background: background)
    switch box.problem(crop: nil) {
    case .noSide: return nil
    case .needlessScale, .needlessCrop: preconditionFailure("neither is given here")
    case .openSide:
      throw .badRequest("\"fit\" is \"\(fit.rawValue)\", which takes both a width and a height", field: "fit")
    case nil: return box
    }
  }

  /// The box of a path: its fit goes by what is known of both sides.
  private func lenientBox() throws(GatewayError) -> PictureForm.Box? {
    var form = self
    (form.width, form.height) = (width == 0 ? nil : width, height == 0 ? nil : height)
    form.density = (density ?? 1) * (zoom ?? 1)
    form.area = try cut?.area(around: crop ?? .centre)
    var extras = PictureForm.Box(width: nil, height: nil)
    if form.width == nil || form.height == nil {
      form.fit = nil
    } else if extends == true, fit ?? .contain == .contain {
      form.fit = .pad
    } else if fit == .cover, density ?? 1 > 1, enlarge != true {
      // In its full shape, as large as the picture allows.
      form.fit = .coverDown
    }
    let isOpen = form.width == nil && form.height == nil
    if isOpen, let factor = form.density, factor < 1 || factor > 1 && enlarge == true {
      extras.scale = Fraction(min(factor, 8))
    }
    (extras.minWidth, extras.minHeight) = (try least(minWidth, "min-width"), try least(minHeight, "min-height"))
    extras.padding = try padding?.times(density ?? 1)
    extras.rotate = rotate ?? 0
    extras.enlarge = enlarge ?? false
    guard var box = try form.box() ?? (extras.problem(crop: nil) == nil ? extras : nil) else { return nil }
    (box.minWidth, box.minHeight, box.scale) = (extras.minWidth, extras.minHeight, extras.scale)
    (box.padding, box.rotate) = (extras.padding, extras.rotate)
    if box.minWidth != nil || box.minHeight != nil { box.crop = crop ?? .centre }
    return box
  }

  private func least(_ length: Int?, _ name: String) throws(GatewayError) -> Int? {
    length == 0 ? nil : try side(length, name)
  }

  private func side(_ length: Int?, _ name: String) throws(GatewayError) -> Int? {
    guard let length, let density else { return length }
    let product = (Double(length) * density).rounded(.toNearestOrAwayFromZero)
    guard product <= Double(WireLimits.side.upperBound) else {
      throw .badRequest(
        "\"\(name)\" times \"dpr\" is \(Int(product)); it takes at most \(WireLimits.side.upperBound)", field: "dpr")
    }
    return max(1, Int(product))
  }
}

extension PictureForm.Padding {
  fileprivate func times(_ density: Double) throws(GatewayError) -> Self? {
    let lengths = sides.map { Int((Double($0) * density).rounded(.toNearestOrEven)) }
    guard lengths.contains(where: { $0 > 0 }) else { return nil }
    guard lengths.allSatisfy(Self.range.contains) else {
      throw .badRequest("\"padding\" times \"dpr\" takes at most \(Self.range.upperBound)", field: "padding")
    }
    return Self(top: lengths[0], right: lengths[1], bottom: lengths[2], left: lengths[3])
  }
}

/// The encoding in which a picture is wanted: one of the protocol's, or whichever the client takes.
package enum WantedFormat: Hashable, Sendable, CaseIterable, RawRepresentable {
  case named(OutputFormat)
  /// The best that the client takes.
  case auto

  package static let allCases = OutputFormat.alone.map { WantedFormat.named($0) } + [.auto]

  /// The format of a word; `jpg` is one for JPEG.
  package init?(rawValue word: String) {
    guard word != "auto" else {
      self = .auto
      return
    }
    guard let format = OutputFormat(named: word), OutputFormat.alone.contains(format) else { return nil }
    self = .named(format)
  }

  package var rawValue: String {
    switch self {
    case .named(let format): format.rawValue
    case .auto: "auto"
    }
  }
}

/// A named form of a picture, such as `thumb:300x200:cover`.
package struct Preset: Equatable, Sendable {
  package let name: String
  package var form = WantedForm()
}

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
    let words = [form.fit?.rawValue, form.crop?.text, form.area?.texts.joined(separator: ","), form.background?.text]
    parts += (words + [form.format?.rawValue, form.quality.map { "q\($0)" }]).compactMap { $0 }
    return parts.joined(separator: ":")
  }
}

private struct PresetParser {
  private static let longestName = 64
  private static let words =
    PictureForm.Fit.allCases.map { $0.rawValue } + PictureForm.Crop.words
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
    let isOpen = form.width == nil || form.height == nil
    // The target may give both.
    if fit != .contain, isOpen, form.width != nil || form.height != nil {
      throw problem("has one side and \"\(fit.rawValue)\", which takes both: 300x200")
    }
    return result
  }

  private mutating func read(_ part: String) throws(PresetProblem) {
    if let fit = PictureForm.Fit(rawValue: part) {
      try set(&result.form.fit, fit, "fit")
    } else if let crop = PictureForm.Crop(part) {
      try set(&result.form.crop, crop, "crop")
    } else if let area = try? PictureForm.Area(part) {
      try set(&result.form.area, area, "area")
    } else if let background = PictureForm.Background(part) {
      try set(&result.form.background, background, "background")
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
        + (meant
          ?? "; it takes a size such as 300x200, \(Self.words.joined(separator: ", ")), a point, an area, a colour or q1 to q100")
    )
  }

  private func problem(_ text: String) -> PresetProblem {
    PresetProblem(message: "the preset \"\(result.name)\" \(text)")
  }
}
