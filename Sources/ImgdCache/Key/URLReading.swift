internal import CCurl
internal import ImgdText

/// Reads a URL that is not in canonical form at first sight.
///
/// Some texts that libcurl accepts must not be in a cache key. They are refused here first, by the
/// bytes as they were written: user names, other schemes, superfluous slashes, anything invisible.
struct URLReading {
  private let text: String
  private let bytes: [UInt8]

  init(_ text: String) {
    self.text = text
    bytes = Array(text.utf8)
  }

  func canonical() throws(URLProblem) -> CanonicalURL {
    try checkBytes()
    let scheme = try scheme()
    guard scheme != CanonicalURL.Scheme.s3.rawValue else { return try object() }
    let authority = try authority(from: scheme.utf8.count + 3)
    let parts = try CurlURL(String(decoding: bytes[..<pathEnd(from: authority)], as: UTF8.self))
    let host = try checked(host: parts.host)
    let port = try port(parts, isSecure: scheme == "https")
    let url = scheme + "://" + host + port + encoded(parts.path) + encoded(query(from: authority))
    return try accepted(url)
  }

  private func object() throws(URLProblem) -> CanonicalURL {
    let object: ObjectURL
    do throws(ObjectURLProblem) { object = try ObjectURL(text) } catch { throw .bad(reason: error.reason) }
    return try accepted(object.text)
  }

  private func accepted(_ url: String) throws(URLProblem) -> CanonicalURL {
    guard url.utf8.count <= CanonicalURL.longest else { throw tooLong(url.utf8.count) }
    return CanonicalURL(canonical: url)
  }

  private func checkBytes() throws(URLProblem) {
    guard !bytes.isEmpty else { throw .bad(reason: "the URL is empty: write http:// or https://…") }
    guard bytes.count <= CanonicalURL.longest else { throw tooLong(bytes.count) }
    guard let place = bytes.firstIndex(where: { $0 <= 0x20 || $0 == 0x7F }) else { return }
    let what = bytes[place] == 0x20 ? "a space" : "a control character"
    throw .bad(reason: "the URL has \(what) at byte \(place): write it as %\(hex(bytes[place]))")
  }

  private func tooLong(_ count: Int) -> URLProblem {
    .bad(reason: "the URL has \(count) bytes: at most \(CanonicalURL.longest) are taken")
  }

  private func scheme() throws(URLProblem) -> String {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0, bytes[..<colon].allSatisfy(isSchemeByte),
      isLetter(bytes[0])
    else { throw .bad(reason: "'\(shown)' has no scheme: begin with http:// or https://") }
    let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
    guard CanonicalURL.Scheme(rawValue: scheme) != nil else { throw .blockedScheme(scheme: String(scheme.prefix(32))) }
    guard bytes[(colon + 1)...].starts(with: "//".utf8) else {
      throw .bad(reason: "'\(shown)' has no // after \(scheme): write \(scheme)://…")
    }
    return scheme
  }

  /// Checks the authority that begins at `start`, and returns its end.
  private func authority(from start: Int) throws(URLProblem) -> Int {
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
    let authority = bytes[start..<end]
    guard !authority.isEmpty, authority.first != UInt8(ascii: ":") else { throw .bad(reason: "'\(shown)' has no host") }
    guard !authority.contains(UInt8(ascii: "@")) else {
      throw .bad(reason: "the URL has a user name in it: credentials belong in \"headers\":{\"Authorization\":\"…\"}")
    }
    let host = String(decoding: authority.prefix(100), as: UTF8.self)
    guard authority.allSatisfy({ $0 < 0x80 }) else {
      throw .bad(reason: "the host '\(host)' is not ASCII: write it in punycode (xn--…)")
    }
    guard !authority.contains(UInt8(ascii: "%")) else {
      throw .bad(reason: "the host '\(host)' has a % in it: write the host plainly, and an address without a zone")
    }
    return end
  }

  /// The host as libcurl reads it, if it has no character left that could mean something else.
  private func checked(host: String) throws(URLProblem) -> String {
    let host = host.lowercased()
    let isAddress = host.hasPrefix("[")
    guard host.utf8.allSatisfy({ isHostByte($0) || isAddress && "[]:".utf8.contains($0) }) else {
      throw .bad(reason: "the host '\(host.prefix(100))' has characters that no host name has")
    }
    return host
  }

  /// The port with a colon in front, or nothing for the scheme's own.
  private func port(_ parts: CurlURL, isSecure: Bool) throws(URLProblem) -> String {
    guard let port = parts.port, port != (isSecure ? "443" : "80") else { return "" }
    guard port != "0" else { throw .bad(reason: "the URL's port is 0: nothing listens there") }
    return ":" + port
  }

  private func pathEnd(from start: Int) -> Int {
    bytes[start...].firstIndex { "?#".utf8.contains($0) } ?? bytes.count
  }

  /// The query with its question mark, byte for byte; libcurl would lose an empty one.
  private func query(from start: Int) -> String {
    let rest = bytes[pathEnd(from: start)...]
    guard rest.first == UInt8(ascii: "?") else { return "" }
    return String(decoding: rest.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
  }

  /// Text beyond ASCII in the form in which it goes over the wire.
  private func encoded(_ part: String) -> String {
    guard !part.utf8.allSatisfy({ $0 < 0x80 }) else { return part }
    return part.utf8.reduce(into: "") { text, byte in
      text += byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + hex(byte)
    }
  }

  private var shown: String {
    let text = withoutUserInfo(text)
    return text.utf8.count <= 100 ? text : String(decoding: text.utf8.prefix(100), as: UTF8.self) + "…"
  }

  private func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
}

private func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

private func isSchemeByte(_ byte: UInt8) -> Bool {
  isLetter(byte) || decimalValue(byte) != nil || "+-.".utf8.contains(byte)
}

private func isHostByte(_ byte: UInt8) -> Bool {
  isLetter(byte) || decimalValue(byte) != nil || "-._".utf8.contains(byte)
}

/// The parts of a URL as libcurl's parser reads them, since libcurl also fetches it.
struct CurlURL {
  let host: String
  /// The port when one is written, a default one included.
  let port: String?
  /// The path with its dot segments resolved; never empty.
  let path: String

  init(_ text: String) throws(URLProblem) {
    guard let handle = unsafe curl_url() else { throw .bad(reason: "there is no memory left to read the URL") }
    defer { unsafe curl_url_cleanup(handle) }
    let code = unsafe curl_url_set(handle, CURLUPART_URL, text, 0)
    guard code == CURLUE_OK else { throw .bad(reason: Self.reason(code)) }
    host = unsafe Self.part(CURLUPART_HOST, of: handle) ?? ""
    port = unsafe Self.part(CURLUPART_PORT, of: handle)
    path = unsafe Self.part(CURLUPART_PATH, of: handle) ?? "/"
  }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text = unsafe text else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }

  private static func reason(_ code: CURLUcode) -> String {
    switch code {
    case CURLUE_BAD_PORT_NUMBER: "the URL's port is not a number from 1 to 65535"
    case CURLUE_BAD_HOSTNAME: "the URL's host has characters that no host name has"
    case CURLUE_BAD_IPV6: "the URL's IPv6 address is malformed: write it like [2001:db8::1]"
    case CURLUE_NO_HOST: "the URL has no host"
    default: "the URL is malformed: \(unsafe String(cString: curl_url_strerror(code)))"
    }
  }
}
