/// Reads the members of `resize`.
struct BoxParser {
  private var width: Int?
  private var height: Int?
  private var fit = PictureForm.Fit.contain
  private var enlarge = false
  private var crop: PictureForm.Crop?
  private var linear = false

  /// The box of another form; nil when the request has none.
  static func box(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> PictureForm.Box? {
    guard fields.present.contains(.resize) else { return nil }
    guard let members = fields.container(.resize)?.object else {
      throw fields.wrong(.resize, .text("an object with \(names.joined(separator: ", "))"), in: line)
    }
    var parser = BoxParser()
    for member in members { try parser.read(member) }
    return try parser.box()
  }

  private mutating func read(_ member: JSONValue.Member) throws(WireError) {
    switch member.name {
    case "width": width = try Self.side(member)
    case "height": height = try Self.side(member)
    case "fit": fit = try Self.word(member)
    case "crop": crop = try Self.word(member)
    case "enlarge": enlarge = try Self.flag(member)
    case "linear": linear = try Self.flag(member)
    case let name where name.utf8.starts(with: "x_".utf8): break
    case let name: throw Self.unknown(name)
    }
  }

  private func box() throws(WireError) -> PictureForm.Box {
    switch PictureForm.Box.problem(width: width, height: height, fit: fit, crop: crop) {
    case .noSide: throw .field(.resize, "\"resize\" needs \"width\", \"height\" or both")
    case .openSide:
      throw .field(.resize, "\"resize\" needs both \"width\" and \"height\" where \"fit\" is \"\(fit.rawValue)\"")
    case .needlessCrop: throw .field(.resize, "\"resize.crop\" is only for \"fit\":\"cover\"")
    case nil: break
    }
    return PictureForm.Box(
      width: width, height: height, fit: fit, crop: crop ?? .centre, enlarge: enlarge, linear: linear)
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

  private static func unknown(_ name: String) -> WireError {
    .unknownField(name, of: "resize", path: "resize.", known: names)
  }
}
