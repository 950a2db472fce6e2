import ImgdWire

/// Makes the answers of the page's routes, with the header fields that all of them have.
enum PageAnswer {
  typealias Fields = [(name: String, value: String)]

  /// Only the page itself may read, frame or embed an answer, and nobody may keep it.
  static let common: Fields = [
    ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
  ]

  /// An answer with a body of bytes, which is not to be kept.
  static func bytes(_ bytes: [UInt8], type: String, status: Int = 200, _ further: Fields = []) -> HTTPResponse {
    HTTPResponse(
      status: status, fields: [("Content-Type", type), ("Cache-Control", "no-store")] + common + further,
      body: .bytes(bytes))
  }

  /// An object of JSON, whose fields `fill` writes.
  static func json(status: Int = 200, _ further: Fields = [], _ fill: (inout JSONWriter) -> Void) -> HTTPResponse {
    var writer = JSONWriter()
    writer.object(fill)
    writer.newline()
    return bytes(writer.bytes, type: "application/json", status: status, further)
  }

  /// A refusal; where waiting helps, it asks to wait for a second.
  static func refusal(_ error: GatewayError, _ further: Fields = []) -> HTTPResponse {
    let retry: Fields = [429, 503].contains(error.status) ? [("Retry-After", "1")] : []
    return json(status: error.status, further + retry) { error.write(to: &$0) }
  }
}
