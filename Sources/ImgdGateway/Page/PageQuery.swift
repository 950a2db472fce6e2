/// The parameters of a target of the page, such as `/search?q=example`.
struct PageQuery {
  private static let longest = 8_192

  private let target: RequestTarget

  init(_ target: String) { self.target = RequestTarget(target) }

  var path: String { String(target.path) }

  /// The decoded value of the only parameter that a route has.
  func value(of name: String) throws(GatewayError) -> String {
    let (given, value) = (target.query ?? "").cut(at: UInt8(ascii: "="))
    guard given == name, let value, !value.utf8.contains(UInt8(ascii: "&")) else {
      throw .badRequest("write \(path)?\(name)=VALUE, with nothing before or after it", field: name)
    }
    guard let text = Self.decoded(value), !text.isEmpty else {
      throw .badRequest("the value of \(name) is empty, or not UTF-8 with well-formed escapes", field: name)
    }
    guard text.utf8.count <= Self.longest else {
      throw .badRequest("the value of \(name) is longer than \(Self.longest) bytes", field: name)
    }
    return text
  }

  private static func decoded(_ value: Substring) -> String? {
    guard let bytes = PercentEncoding.decoded(value, plusIsBlank: true), !bytes.contains(0) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
