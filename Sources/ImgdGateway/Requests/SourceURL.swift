import Glibc
internal import ImgdText
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
    if try Self.scheme(of: text) == ObjectURL.scheme {
      do throws(ObjectURLProblem) { host = URLHost(bucket: try ObjectURL(text).bucket) } catch {
        throw Self.wrong(error.reason)
      }
      return
    }
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
      case UInt8(ascii: "%") where PercentEncoding.beginsWithEscape(decoded[place...]): bytes.append(byte)
      case 0x80...: PercentEncoding.append(byte, to: &bytes)
      case _ where impossible.contains(byte): PercentEncoding.append(byte, to: &bytes)
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  /// The rest of ASCII that no URL may hold, and a `%` without its digits.
  private static let impossible = Array(" \"<>\\^`{|}%".utf8)

  private static func scheme(of text: String) throws(GatewayError) -> String {
    let (scheme, rest) = text[...].cut(at: UInt8(ascii: ":"))
    guard rest != nil else {
      throw wrong("\"\(Excerpt.of(text))\" has no scheme: a URL begins with http:// or https://")
    }
    let known = scheme.utf8.count <= 5 ? scheme.lowercased() : ""
    guard ["http", "https", ObjectURL.scheme].contains(known) else {
      throw GatewayError(
        400, "blocked_scheme",
        "\"\(Excerpt.of(text))\" does not begin with http://, https:// or s3://, and only these are fetched",
        field: "url")
    }
    return known
  }

  private static func wrong(_ message: String) -> GatewayError { GatewayError(400, "bad_url", message, field: "url") }
}

/// The host of an http or https URL, or the bucket of an object.
///
/// It decides whether a picture may be fetched, so it must be the host that is connected to. Readers of URLs differ in
/// user names, backslashes, escapes and other letters: a URL with any of these before its path has no host here.
package struct URLHost: Hashable, Sendable {
  /// In lower case and without the dot of the root; an IPv6 address in brackets, in its shortest spelling; `s3://bucket`
  /// for a bucket.
  package let name: String
  let isBucket: Bool

  init(bucket: String) {
    name = "\(ObjectURL.scheme)://\(bucket)"
    isBucket = true
  }

  package init?(of url: String) {
    let bytes = Array(url.utf8)
    guard let start = Self.start(of: bytes) else { return nil }
    let authority = bytes[start...].prefix { !Self.ends.contains($0) }
    let end = Self.hostEnd(authority)
    guard Self.isPort(authority[end...]) else { return nil }
    self.init(bytes: authority[..<end])
  }

  /// A host alone, without a port, or a bucket.
  package init?(named name: String) {
    let scheme = "\(ObjectURL.scheme)://"
    guard name.hasPrefix(scheme) else {
      self.init(bytes: Array(name.utf8)[...])
      return
    }
    let bucket = String(name.dropFirst(scheme.utf8.count))
    guard BucketName.problem(of: bucket) == nil else { return nil }
    self.init(bucket: bucket)
  }

  private init?(bytes: ArraySlice<UInt8>) {
    isBucket = false
    if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") {
      guard let address = Self.shortest(bytes.dropFirst().dropLast()) else { return nil }
      name = "[\(address)]"
      return
    }
    let labels = bytes.last == UInt8(ascii: ".") ? bytes.dropLast() : bytes
    guard 1...Self.longest ~= labels.count, labels.allSatisfy(Self.isNameByte),
      !labels.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).contains(where: { $0.isEmpty })
    else { return nil }
    name = String(decoding: labels, as: UTF8.self).lowercased()
  }

  /// Whether the host is an address, which no name can be below. libcurl takes a last label that begins with a digit
  /// for a number.
  var isAddress: Bool {
    let label = name.utf8.split(separator: UInt8(ascii: ".")).last?.first
    return label.map { 48...57 ~= $0 } ?? false || name.utf8.first == UInt8(ascii: "[")
  }

  // MARK: The parts of a URL

  /// The most bytes of a name, from RFC 1035.
  private static let longest = 253
  private static let ends = Array("/?#".utf8)

  private static func start(of bytes: [UInt8]) -> Int? {
    for scheme in ["http://", "https://"]
    where bytes.count >= scheme.utf8.count && zip(bytes, scheme.utf8).allSatisfy({ lowercase($0) == $1 }) {
      return scheme.utf8.count
    }
    return nil
  }

  /// The place of the colon before a port, or the end.
  private static func hostEnd(_ authority: ArraySlice<UInt8>) -> Int {
    let bracket = authority.first == UInt8(ascii: "[") ? authority.firstIndex(of: UInt8(ascii: "]")) : nil
    let name = authority[(bracket ?? authority.startIndex)...]
    return name.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
  }

  /// Whether nothing follows, or a colon and the number of a port.
  private static func isPort(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard !bytes.isEmpty else { return true }
    let digits = bytes.dropFirst()
    guard 1...5 ~= digits.count, digits.allSatisfy({ 48...57 ~= $0 }) else { return false }
    return 1...65_535 ~= digits.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch lowercase(byte) {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
    default: false
    }
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }

  /// An IPv6 address without a zone, in the spelling of the system; nil for any other text.
  private static func shortest(_ bytes: ArraySlice<UInt8>) -> String? {
    guard bytes.allSatisfy({ isxdigit(CInt($0)) != 0 || $0 == 58 || $0 == 46 }) else { return nil }
    var address = in6_addr()
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    // Both buffers are as large as the family of the address needs.
    guard unsafe inet_pton(AF_INET6, String(decoding: bytes, as: UTF8.self), &address) == 1,
      unsafe inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil
    else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
  }
}
