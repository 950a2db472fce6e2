internal import ImgdWire

/// The URL of a picture at its origin, in the form in which the daemon is asked for it.
package struct SourceURL: Equatable, Sendable {
  package let text: String
  package let host: URLHost

  /// Escapes what no URL may hold, such as a blank or a letter beyond ASCII.
  init(_ decoded: [UInt8]) throws(GatewayError) {
    text = String(decoding: try Self.escaped(decoded), as: UTF8.self)
    guard text.utf8.count <= WireLimits.url else {
      throw Self.wrong("the URL has \(text.utf8.count) bytes; it takes at most \(WireLimits.url)")
    }
    try Self.checkScheme(text)
    guard let host = URLHost(of: text) else {
      throw Self.wrong(
        "\"\(Excerpt.of(text))\" has no host that can be checked; it takes letters, digits, -, _ and ., or an"
          + " IPv6 address in brackets, then a port or nothing, and no user name. A name in other letters is"
          + " written in Punycode (xn--…)")
    }
    self.host = host
  }

  private static func escaped(_ decoded: [UInt8]) throws(GatewayError) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(decoded.count)
    for (place, byte) in decoded.enumerated() {
      switch byte {
      case 0..<0x20, 0x7f: throw wrong("the URL must not have control characters, and has byte \(byte)")
      case UInt8(ascii: "#"):
        throw wrong("the URL has a fragment, which no origin is sent: leave out \"#\", or write %23 in the URL")
      case UInt8(ascii: "%") where PercentEncoding.isEscape(decoded, at: place): bytes.append(byte)
      case 0x80...: PercentEncoding.append(byte, to: &bytes)
      case _ where impossible.contains(byte): PercentEncoding.append(byte, to: &bytes)
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  /// The rest of ASCII that no URL may hold, and a `%` without its digits.
  private static let impossible = Array(" \"<>\\^`{|}%".utf8)

  private static func checkScheme(_ text: String) throws(GatewayError) {
    let (scheme, rest) = text[...].cut(at: UInt8(ascii: ":"))
    guard rest != nil else {
      throw wrong("\"\(Excerpt.of(text))\" has no scheme: a URL begins with http:// or https://")
    }
    guard scheme.utf8.count <= 5, ["http", "https"].contains(scheme.lowercased()) else {
      throw GatewayError(
        400, "blocked_scheme",
        "\"\(Excerpt.of(text))\" does not begin with http:// or https://, and only these are fetched", field: "url")
    }
  }

  private static func wrong(_ message: String) -> GatewayError { GatewayError(400, "bad_url", message, field: "url") }
}
