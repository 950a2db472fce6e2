// The identity of a URL.
//
// Two texts that any server must treat alike are one URL here: the scheme and the host in lower case, no default
// port, no fragment, a path that is never empty and has no dot segments. Everything else is kept as it was written,
// the query byte for byte: an origin may tell `?a=1&b=2` from `?b=2&a=1`, and `%7E` from `~`.
//
// Nearly every URL arrives in this form already. `isCanonical` finds that out in one pass over the
// bytes, without allocating; it may say no to a text that is canonical after all, never yes to one
// that is not. The rest goes through libcurl's parser, the same one that fetches: what is looked up
// here and what is connected to there cannot differ.
//
// A bucket's object, `s3://bucket/key`, has one spelling whatever its characters are (`ObjectURL`), and its bucket stands
// where others have their host.

internal import ImgdText

/// Why a text is not a URL that can be fetched.
package enum URLProblem: Error, Sendable, Equatable {
  /// A sentence that names what is wrong and what would be right.
  case bad(reason: String)
  /// A well-formed URL whose scheme is none of those that are fetched.
  case blockedScheme(scheme: String)
}

/// A URL in the one form that stands for all its spellings.
package struct CanonicalURL: Hashable, Sendable {
  /// The longest URL that is accepted, in bytes, including its fragment.
  package static let longest = 8 * 1024

  /// The URL in its one form, all ASCII; the text it was parsed from when that was canonical.
  package let text: String

  init(canonical text: String) { self.text = text }

  /// The URL of a picture that a client hands in, before its bytes are known.
  package static let ofDescriptor = CanonicalURL(canonical: "fd:")

  /// The URL of such a picture: the SHA-256 of its bytes. No request can name it.
  package init(ofBytes bytes: Span<UInt8>) {
    let digest = Digest128.sha256(of: bytes)
    var text = Array(Self.ofDescriptor.text.utf8)
    for word in [digest.0, digest.1, digest.2, digest.3] { text.appendHex(UInt64(bigEndian: word), digits: 16) }
    self.init(canonical: String(decoding: text, as: UTF8.self))
  }

  /// Whether no origin has it.
  package var isHandedIn: Bool { text.utf8.first == UInt8(ascii: "f") }

  /// Brings a URL into its one form, or says what is wrong with it.
  package static func parse(_ text: String) throws(URLProblem) -> CanonicalURL {
    if isCanonical(text) { return CanonicalURL(canonical: text) }
    return try URLReading(text).canonical()
  }

  /// Whether one pass over the bytes of a text shows that it is in canonical form.
  package static func isCanonical(_ text: String) -> Bool {
    let bytes = text.utf8.span
    guard bytes.count <= longest, let end = authorityEnd(bytes), end < bytes.count else { return false }
    return bytes[end] == UInt8(ascii: "/") && hasCanonicalPath(bytes, from: end)
  }

  /// How an origin is asked.
  package enum Scheme: String, Sendable, CaseIterable {
    case http, https, s3

    /// What comes before the host.
    package var beginning: String { rawValue + "://" }
  }

  package var scheme: Scheme { Self.scheme(text.utf8.span) }

  private static func scheme(_ url: Span<UInt8>) -> Scheme {
    if url[0] == UInt8(ascii: "s") { return .s3 }
    return url.count > 4 && url[4] == UInt8(ascii: "s") ? .https : .http
  }

  package var isSecure: Bool { scheme == .https }

  /// The place of the host in `text.utf8`, including the brackets of an IPv6 address.
  package var hostRange: Range<Int> { Self.hostRange(in: text.utf8.span) }

  static func hostRange(in bytes: Span<UInt8>) -> Range<Int> {
    // The bytes of a picture that is handed in have nobody behind them but themselves.
    if bytes[0] == UInt8(ascii: "f") { return 3..<bytes.count }
    let start =
      switch scheme(bytes) {
      case .http: 7
      case .https: 8
      case .s3: 5
      }
    var end = start
    let isBracketed = bytes[start] == UInt8(ascii: "[")
    while end < bytes.count, bytes[end] != UInt8(ascii: "/") {
      if bytes[end] == UInt8(ascii: ":"), !isBracketed { break }
      end += 1
      if isBracketed, bytes[end - 1] == UInt8(ascii: "]") { break }
    }
    return start..<end
  }

  /// The host in lower case, without its port; for an object its bucket.
  package var host: String {
    let range = hostRange
    let utf8 = text.utf8
    let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
    let end = utf8.index(utf8.startIndex, offsetBy: range.upperBound)
    return String(text[start..<end])
  }

  /// The port to connect to: the scheme's own when the URL names none. For an object it means nothing.
  package var port: Int {
    let bytes = text.utf8.span
    var index = hostRange.upperBound
    guard index < bytes.count, bytes[index] == UInt8(ascii: ":") else { return isSecure ? 443 : 80 }
    var port = 0
    index += 1
    while index < bytes.count, let digit = decimalValue(bytes[index]) {
      port = port * 10 + digit
      index += 1
    }
    return port
  }

  /// What follows the authority: the path, which is never empty, and the query.
  package var pathAndQuery: String {
    let bytes = text.utf8.span
    var start = hostRange.upperBound
    while bytes[start] != UInt8(ascii: "/") { start += 1 }
    return String(decoding: text.utf8.dropFirst(start), as: UTF8.self)
  }

  /// Whether both have the same scheme, host and port.
  package func hasSameOrigin(as other: CanonicalURL) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }

  // `String`'s own equality takes two spellings of one accent as equal. These texts are
  // ASCII, so comparing and hashing their bytes gives the same result, and is faster.

  package static func == (left: CanonicalURL, right: CanonicalURL) -> Bool { sameBytes(left.text, right.text) }

  /// By bytes, as URLs are compared.
  package func hash(into hasher: inout Hasher) { hashBytes(of: text, into: &hasher) }
}

/// Whether a canonical URL's path and query begin at `start`: visible ASCII, no fragment, and no
/// segment of the path that begins with a dot, which would need a closer look.
private func hasCanonicalPath(_ bytes: Span<UInt8>, from start: Int) -> Bool {
  var index = start
  var previous: UInt8 = 0
  while index < bytes.count, bytes[index] != UInt8(ascii: "?") {
    let byte = bytes[index]
    guard isPlain(byte) else { return false }
    if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { return false }
    previous = byte
    index += 1
  }
  while index < bytes.count {
    guard isPlain(bytes[index]) else { return false }
    index += 1
  }
  return true
}

@inline(__always) private func isPlain(_ byte: UInt8) -> Bool { byte &- 0x21 < 0x5E && byte != UInt8(ascii: "#") }

/// The offset just after a scheme, a host and a port in canonical form: plain host names and dotted IPv4 addresses are
/// accepted, and nothing else.
private func authorityEnd(_ bytes: Span<UInt8>) -> Int? {
  guard let start = hostStart(bytes), let end = hostEnd(bytes, from: start) else { return nil }
  guard end < bytes.count, bytes[end] == UInt8(ascii: ":") else { return end }
  return portEnd(bytes, from: end + 1, isSecure: start == 8)
}

/// The offset just after `http://` or `https://`, in lower case.
private func hostStart(_ bytes: Span<UInt8>) -> Int? {
  guard bytes.count > 8, bytes[0] == UInt8(ascii: "h"), bytes[1] == UInt8(ascii: "t"), bytes[2] == UInt8(ascii: "t"),
    bytes[3] == UInt8(ascii: "p")
  else { return nil }
  let colon = bytes[4] == UInt8(ascii: "s") ? 5 : 4
  guard bytes[colon] == UInt8(ascii: ":"), bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/")
  else { return nil }
  return colon + 3
}

/// The offset just after a host without empty labels.
///
/// A last label that begins with a digit is a number to libcurl, which would write `127.1` as
/// `127.0.0.1`: only four plain numbers are canonical then.
private func hostEnd(_ bytes: Span<UInt8>, from start: Int) -> Int? {
  var label = start
  var index = start
  while index < bytes.count {
    let byte = bytes[index]
    if byte == UInt8(ascii: ".") {
      guard index > label else { return nil }
      label = index + 1
    } else if !isCanonicalHostByte(byte) {
      break
    }
    index += 1
  }
  guard index > label else { return nil }
  guard decimalValue(bytes[label]) != nil else { return index }
  return isPlainAddress(bytes, start..<index) ? index : nil
}

@inline(__always) private func isCanonicalHostByte(_ byte: UInt8) -> Bool {
  byte &- UInt8(ascii: "a") < 26 || decimalValue(byte) != nil || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
}

/// Whether a host is four numbers up to 255, none with a leading zero.
private func isPlainAddress(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
  var numbers = 1
  var number = 0
  var digits = 0
  for index in range {
    if bytes[index] == UInt8(ascii: ".") {
      numbers += 1
      number = 0
      digits = 0
      continue
    }
    guard let digit = decimalValue(bytes[index]), digits == 0 || number > 0 else { return false }
    number = number * 10 + digit
    digits += 1
    guard number < 256 else { return false }
  }
  return numbers == 4
}

/// The offset just after a port that is written plainly and is not the scheme's own.
private func portEnd(_ bytes: Span<UInt8>, from start: Int, isSecure: Bool) -> Int? {
  var port = 0
  var index = start
  while index < bytes.count, let digit = decimalValue(bytes[index]) {
    port = port * 10 + digit
    index += 1
    guard port > 0, port < 65_536 else { return nil }
  }
  return index > start && port != (isSecure ? 443 : 80) ? index : nil
}
