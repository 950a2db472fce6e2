internal import ImgdWire
internal import ImgdText

/// Reads `/fetch?url=…&width=…`.
struct QueryForm {
  private let raw: String
  private var given = GivenParameters()
  private var signedText: Substring

  static func parse(_ raw: String) throws(GatewayError) -> ParsedRequest {
    var form = QueryForm(raw)
    try form.takeAll()
    return try form.parsed()
  }

  private init(_ raw: String) {
    self.raw = raw
    signedText = raw[...]
  }

  private mutating func takeAll() throws(GatewayError) {
    var rest = RequestTarget(raw).query
    if rest?.isEmpty == true { rest = nil }
    while let query = rest {
      let (piece, after) = query.cut(at: UInt8(ascii: "&"))
      try readParameter(piece, isLast: after == nil)
      rest = after
    }
  }

  private mutating func readParameter(_ piece: Substring, isLast: Bool) throws(GatewayError) {
    let (name, value) = piece.cut(at: UInt8(ascii: "="))
    let parameter = try parameter(named: text(name, of: nil))
    if parameter == .signature {
      guard isLast else {
        throw .badRequest("\"signature\" is not the last parameter, and signs those before it", field: "signature")
      }
      signedText = raw[..<raw.utf8.index(before: piece.startIndex)]
    }
    let text = try text(value ?? "", of: parameter)
    try given.read(parameter, ParameterValue(name: parameter.rawValue, field: parameter.rawValue, text: text))
  }

  private func parsed() throws(GatewayError) -> ParsedRequest {
    guard let source = given.source else {
      throw .badRequest("\"url\" is missing: a picture is /fetch?url=https%3A%2F%2Fhost%2Fpath", field: "url")
    }
    return ParsedRequest(given, source, signature: given.signature, signedText: signedText)
  }

  private func parameter(named name: String) throws(GatewayError) -> PictureParameter {
    if let parameter = PictureParameter(rawValue: name) { return parameter }
    let names = PictureParameter.allCases.map { $0.rawValue }
    let advice =
      nearestName(to: name, among: names).map { ": did you mean \"\($0)\"?" }
      ?? "; it has \(names.joined(separator: ", ")). An & in the URL is written %26"
    throw .badRequest("/fetch has no parameter \"\(Excerpt.of(name))\"\(advice)", field: Excerpt.of(name))
  }

  /// The text that a name or a value stands for.
  private func text(_ escaped: Substring, of parameter: PictureParameter?) throws(GatewayError) -> String {
    guard let bytes = PercentEncoding.decoded(escaped, plusIsBlank: true), !bytes.contains(0),
      let text = String(validating: bytes, as: UTF8.self)
    else {
      throw .badRequest(
        "\"\(Excerpt.of(String(escaped)))\" is not text: it takes UTF-8 without NUL, a % as %25, and others as"
          + " % and two hexadecimal digits", field: parameter?.rawValue)
    }
    return text
  }
}
