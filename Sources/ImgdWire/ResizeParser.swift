/// Reads the members of `resize`.
struct ResizeParser {
  private var width: Int?
  private var height: Int?
  private var fit = ResizeRequest.Fit.contain
  private var enlarge = false

  /// The size of a derived variant; nil when the request has none.
  static func resize(
    _ fields: RequestFields, in line: Span<UInt8>
  ) throws(WireError) -> ResizeRequest? {
    guard fields.present.contains(.resize) else { return nil }
    guard let members = fields.container(.resize)?.object else {
      throw fields.wrong(.resize, .text("an object with width, height, fit and enlarge"), in: line)
    }
    var parser = ResizeParser()
    for member in members { try parser.take(member) }
    return try parser.request()
  }

  private mutating func take(_ member: JSONValue.Member) throws(WireError) {
    switch member.name {
    case "width": width = try Self.side(member)
    case "height": height = try Self.side(member)
    case "fit":
      guard let fit = member.value.string.flatMap(ResizeRequest.Fit.init(rawValue:)) else {
        throw Self.wrong(member, .oneOf(ResizeRequest.Fit.allCases.map(\.rawValue)))
      }
      self.fit = fit
    case "enlarge":
      guard let enlarge = member.value.bool else { throw Self.wrong(member, .flag) }
      self.enlarge = enlarge
    case let name where name.utf8.starts(with: "x_".utf8): break
    case let name: throw Self.unknown(name)
    }
  }

  /// A side may be left out only where the picture is contained.
  private func request() throws(WireError) -> ResizeRequest {
    guard width != nil || height != nil else {
      throw .field(.resize, "\"resize\" needs \"width\", \"height\" or both")
    }
    guard fit == .contain || (width != nil && height != nil) else {
      throw .field(
        .resize,
        "\"resize\" needs both \"width\" and \"height\" where \"fit\" is \"\(fit.rawValue)\"")
    }
    return ResizeRequest(width: width, height: height, fit: fit, enlarge: enlarge)
  }

  private static func side(_ member: JSONValue.Member) throws(WireError) -> Int {
    guard let side = member.value.integer.flatMap(Int.init(exactly:)),
      WireLimits.side.contains(side)
    else { throw wrong(member, .integer(WireLimits.side)) }
    return side
  }

  private static func wrong(_ member: JSONValue.Member, _ wanted: WantedValue) -> WireError {
    let sent = Excerpt.of(member.value.encoded())
    return .field(
      .resize, "\"resize.\(member.name)\" was \(sent); it takes \(wanted.description)")
  }

  private static func unknown(_ name: String) -> WireError {
    let sent = Excerpt.of(name)
    return WireError(
      .unknownField,
      "\"resize\" has no field \"\(sent)\"; it has width, height, fit, enlarge, and ignores x_…",
      details: ["field": .string("resize.\(sent)")])
  }
}
