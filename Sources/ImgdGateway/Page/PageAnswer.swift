internal import CCrypto
import ImgdWire

/// Makes the answers of the page's routes, with the header fields that all of them have.
enum PageAnswer {
  typealias Fields = HTTPResponse.Fields

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

// The page is one file, with its script and its style inside. A browser accepts these two and nothing else: the policy
// names them by their digests, so that no text in a picture's URL can become part of them.

/// The page as it is sent.
struct PageDocument {
  let response: HTTPResponse
  /// The value of `Content-Security-Policy`.
  let policy: String

  init(_ html: [UInt8]) {
    let text = String(decoding: html, as: UTF8.self)
    let script = Self.sources(of: "script", in: text)
    let style = Self.sources(of: "style", in: text)
    policy =
      "default-src 'none'; script-src \(script); style-src \(style); img-src 'self'; "
      + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    response = PageAnswer.bytes(
      html, type: "text/html; charset=utf-8",
      [("Content-Security-Policy", policy), ("Cross-Origin-Opener-Policy", "same-origin")])
  }

  /// The page of this release.
  static func embedded() -> PageDocument { PageDocument(PackageResources.page_html) }

  /// The icon of the page's tab: a picture within a picture.
  static func icon() -> HTTPResponse {
    PageAnswer.bytes(
      Array(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" \
        fill="#0e7a6d"/><path d="M6 23l7-9 5 6 3-4 5 7z" fill="#fff"/><circle cx="22" cy="10" r="3" fill="#fff"/>\
        </svg>
        """.utf8), type: "image/svg+xml", [("Content-Security-Policy", "default-src 'none'")])
  }

  /// The digests of the elements with a name, as a policy lists them.
  private static func sources(of name: String, in text: String) -> String {
    let opening = "<\(name)>"
    let closing = "</\(name)>"
    return text.split(separator: opening, omittingEmptySubsequences: false).dropFirst().compactMap { rest in
      rest.firstRange(of: closing).map { "'sha256-\(digest(of: Array(rest[..<$0.lowerBound].utf8)))'" }
    }.joined(separator: " ")
  }

  private static func digest(of bytes: [UInt8]) -> String {
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    // The digest has as many bytes as the call writes.
    _ = unsafe SHA256(bytes, bytes.count, &digest)
    var writer = JSONWriter()
    writer.value(base64: digest.span)
    return String(decoding: writer.bytes.dropFirst().dropLast(), as: UTF8.self)
  }
}
