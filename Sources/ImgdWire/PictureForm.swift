// The form of a picture is given in many ways: in a line of the protocol, in a target of the gateway, by options of
// imgctl, by programs that use the library. Which forms there are, and which values go together, is written here alone;
// each of those ways has its own words for what is wrong.

/// The form in which a picture is wanted: as its origin sends it, or another that is made of it.
package struct PictureForm: Hashable, Sendable {
  /// How a picture of other proportions fits a box: inside it, covering it, or stretched to it.
  package enum Fit: String, CaseIterable, Sendable { case contain, cover, fill }

  /// The part of the picture that `cover` keeps.
  package enum Crop: String, CaseIterable, Sendable { case centre, attention }

  /// The size that it is fitted into; nil for its own.
  package var box: Box?
  /// The encodings, the one liked best first; at least one.
  package var formats = [OutputFormat.original]
  /// The quality of the encoding; 100 is the best.
  package var quality: Int?
  package var frames = FrameChoice.auto

  package init(
    box: Box? = nil, formats: [OutputFormat] = [.original], quality: Int? = nil, frames: FrameChoice = .auto
  ) {
    self.box = box
    self.formats = formats
    self.quality = quality
    self.frames = frames
  }

  /// Whether it is the picture as its origin sends it.
  package var isOriginal: Bool { self == PictureForm() }

  /// A size, and how a picture of other proportions is fitted into it.
  package struct Box: Hashable, Sendable {
    package var width: Int?
    package var height: Int?
    package var fit: Fit
    package var crop: Crop
    /// Whether a smaller picture is enlarged.
    package var enlarge: Bool
    /// Whether it is scaled in linear light.
    package var linear: Bool

    package init(
      width: Int?, height: Int?, fit: Fit = .contain, crop: Crop = .centre, enlarge: Bool = false, linear: Bool = false
    ) {
      self.width = width
      self.height = height
      self.fit = fit
      self.crop = crop
      self.enlarge = enlarge
      self.linear = linear
    }
  }
}

extension PictureForm.Box {
  /// Why some values make no box.
  package enum Problem {
    case noSide
    /// A side may be left open only where the picture is contained.
    case openSide
    /// A picture is cut only where it covers the box.
    case needlessCrop
  }

  /// What is wrong with values that were given for a box; nil if they make one.
  package static func problem(width: Int?, height: Int?, fit: PictureForm.Fit, crop: PictureForm.Crop?) -> Problem? {
    if width == nil, height == nil { return .noSide }
    if fit != .contain, width == nil || height == nil { return .openSide }
    return crop == nil || fit == .cover ? nil : .needlessCrop
  }
}

/// The sides of a size as people write it: `300x200`, `300x`, `x200`.
package enum SidesText {
  /// Both sides or one of them; nil for any other text, and where a side is out of range.
  package static func sides(of text: String, within range: ClosedRange<Int> = WireLimits.side) -> (
    width: Int?, height: Int?
  )? {
    let parts = text.utf8.split(separator: UInt8(ascii: "x"), omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let sides = parts.map { side(Substring($0), within: range) }
    guard parts[0].isEmpty || sides[0] != nil, parts[1].isEmpty || sides[1] != nil, sides[0] != nil || sides[1] != nil
    else { return nil }
    return (sides[0], sides[1])
  }

  private static func side(_ text: Substring, within range: ClosedRange<Int>) -> Int? {
    guard text.utf8.allSatisfy({ 48...57 ~= $0 }), let side = Int(text), range.contains(side) else { return nil }
    return side
  }
}

enum BoxParser {
  static func box(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> PictureForm.Box? {
    guard fields.present.contains(.resize) else { return nil }
    guard let members = fields.container(.resize)?.object else {
      throw fields.wrong(.resize, .text("an object with \(names.joined(separator: ", "))"), in: line)
    }
    var crop: PictureForm.Crop?
    var box = PictureForm.Box(width: nil, height: nil)
    for member in members {
      switch member.name {
      case "width": box.width = try side(member)
      case "height": box.height = try side(member)
      case "fit": box.fit = try word(member)
      case "crop": crop = try word(member)
      case "enlarge": box.enlarge = try flag(member)
      case "linear": box.linear = try flag(member)
      case let name where name.utf8.starts(with: "x_".utf8): break
      case let name: throw .unknownField(name, of: "resize", path: "resize.", known: names)
      }
    }
    box.crop = crop ?? .centre
    switch PictureForm.Box.problem(width: box.width, height: box.height, fit: box.fit, crop: crop) {
    case .noSide: throw .field(.resize, "\"resize\" needs \"width\", \"height\" or both")
    case .openSide:
      throw .field(.resize, "\"resize\" needs both \"width\" and \"height\" where \"fit\" is \"\(box.fit.rawValue)\"")
    case .needlessCrop: throw .field(.resize, "\"resize.crop\" is only for \"fit\":\"cover\"")
    case nil: return box
    }
  }

  private static let names = ["width", "height", "fit", "crop", "enlarge", "linear"]

  private static func word<Value: RawRepresentable<String> & CaseIterable>(_ member: JSONValue.Member) throws(WireError)
    -> Value
  {
    guard let value = member.value.string.flatMap(Value.init(rawValue:)) else {
      throw wrong(member, .oneOf(Value.allCases.map { $0.rawValue }))
    }
    return value
  }

  private static func flag(_ member: JSONValue.Member) throws(WireError) -> Bool {
    guard let flag = member.value.bool else { throw wrong(member, .flag) }
    return flag
  }

  private static func side(_ member: JSONValue.Member) throws(WireError) -> Int {
    guard let side = member.value.integer.flatMap(Int.init(exactly:)), WireLimits.side.contains(side) else {
      throw wrong(member, .integer(WireLimits.side, of: "pixels"))
    }
    return side
  }

  private static func wrong(_ member: JSONValue.Member, _ wanted: WantedValue) -> WireError {
    .field(.resize, wanted.complaint(about: "resize.\(member.name)", sent: SentValue(member.value)))
  }
}
