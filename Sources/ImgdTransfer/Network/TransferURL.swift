internal import CCurl

/// A URL that can be fetched: http or https, without user, password or fragment. It is parsed by curl, which also
/// connects, so that parser and connection cannot disagree about the host.
struct TransferURL: Equatable, Sendable {
  let text: String
  /// As in the URL: an IPv6 address has brackets.
  let host: String
  let port: String
  let isEncrypted: Bool
  /// The host, if its address has to be looked up. curl itself knows the address of `localhost`.
  let name: String?
  /// How much of the text comes before the path; zero where curl has not left it as it was written.
  private let plainOrigin: Int

  /// Host and port, which connections are made to.
  var origin: String { "\(host):\(port)" }

  /// All that follows host and port; never empty.
  var target: Substring {
    let authority = text.utf8.dropFirst(isEncrypted ? 8 : 7)
    return Substring(authority[(authority.firstIndex(of: UInt8(ascii: "/")) ?? authority.endIndex)...])
  }

  /// What follows the first question mark; nil where there is none.
  var query: Substring? {
    let target = target
    return target.firstIndex(of: "?").map { target[target.index(after: $0)...] }
  }

  /// The value of the field `Host`: the scheme's own port is left out.
  var hostField: String { port == (isEncrypted ? "443" : "80") ? host : origin }

  /// Reads the URL of an order; one with a user or password is refused. The path is normalised unless it is `kept`.
  init(_ text: String, keepingPath kept: Bool = false) throws(TransferFailure) {
    try self.init(text, from: nil, flags: kept ? CURLU_PATH_AS_IS : 0)
  }

  /// Reads where a proxy is, from its own URL.
  init(proxy: String) throws(TransferFailure) {
    let socks = "socks5h://"
    try self.init(proxy.hasPrefix(socks) ? "http://" + proxy.dropFirst(socks.utf8.count) : proxy)
  }

  /// The target of a redirect; a user or password in it is dropped.
  func following(_ location: String) throws(TransferFailure) -> TransferURL {
    // Read once more: a number in percent escapes is an address only then.
    try TransferURL(TransferURL(location, from: self).text)
  }

  private init(_ text: String, from base: TransferURL?, flags: CInt = 0) throws(TransferFailure) {
    // curl would read only up to a zero byte.
    guard !text.utf8.contains(0), let parts = URLParts() else { throw Self.unreadable(base) }
    if let base { parts.set(CURLUPART_URL, base.text, flags: 0) }
    let flags = flags | CURLU_NON_SUPPORT_SCHEME | (base == nil ? CURLU_DISALLOW_USER : CURLU_URLENCODE)
    guard parts.set(CURLUPART_URL, text, flags: flags), let scheme = parts[CURLUPART_SCHEME] else {
      throw Self.unreadable(base)
    }
    guard scheme == "http" || scheme == "https" else { throw Self.blocked(scheme, base) }
    for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT] {
      parts.set(part, nil, flags: 0)
    }
    guard let host = parts[CURLUPART_HOST]?.lowercased(), let port = parts[CURLUPART_PORT],
      let whole = parts[CURLUPART_URL], !host.isEmpty
    else { throw Self.unreadable(base) }
    guard host.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { throw Self.unnamable(base) }
    self.text = whole
    self.host = host
    self.port = port
    isEncrypted = scheme == "https"
    let isKnown = host == "localhost" || host.hasSuffix(".localhost") || IPAddress(host) != nil
    name = isKnown ? nil : host
    plainOrigin = base == nil && whole == text ? Self.originLength(of: whole) : 0
  }

  // MARK: Neighbours

  private init(_ text: String, besides other: TransferURL) {
    self.text = text
    (host, port, isEncrypted, name, plainOrigin) = (
      other.host, other.port, other.isEncrypted, other.name, other.plainOrigin
    )
  }

  /// The URL with that text, if curl need not be asked what it means: it begins byte by byte like this one, up to the
  /// path, and has nothing behind that curl would change.
  func neighbour(_ text: String) -> TransferURL? {
    guard plainOrigin > 0, text.utf8.count > plainOrigin,
      text.utf8.prefix(plainOrigin).elementsEqual(self.text.utf8.prefix(plainOrigin)),
      Self.isPlain(text.utf8.dropFirst(plainOrigin))
    else { return nil }
    return TransferURL(text, besides: self)
  }

  /// Whether a path with its query stays as it is: no fragment, no blank or escape, no segment that begins with a dot.
  private static func isPlain(_ path: Substring.UTF8View) -> Bool {
    var last: UInt8 = 0
    for byte in path {
      guard (0x21...0x7e).contains(byte), byte != UInt8(ascii: "#"), byte != UInt8(ascii: "%"),
        byte != UInt8(ascii: ".") || last != UInt8(ascii: "/")
      else { return false }
      last = byte
    }
    return path.first == UInt8(ascii: "/")
  }

  /// The length of scheme, host and port, which end at the third slash; zero where anything else could end them.
  private static func originLength(of text: String) -> Int {
    var slashes = 0
    for (place, byte) in text.utf8.enumerated() {
      if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { return 0 }
      if byte == UInt8(ascii: "/") { slashes += 1 }
      if slashes == 3 { return place }
    }
    return 0
  }

  // MARK: Refusals

  private static func unreadable(_ base: TransferURL?) -> TransferFailure {
    let message = base.map { "\($0.host) redirects to something that is no URL" }
    return TransferFailure(.badURL, message ?? "the URL cannot be parsed; it must be like http://host/path")
  }

  /// curl decodes a host's name. A decoded name that is not ASCII may look like another name, or like none.
  private static func unnamable(_ base: TransferURL?) -> TransferFailure {
    let what = base.map { "\($0.host) redirects to a host" } ?? "the URL has a host"
    return TransferFailure(.badURL, "\(what) whose name is not ASCII; it must be in punycode (xn--…)")
  }

  private static func blocked(_ scheme: String, _ base: TransferURL?) -> TransferFailure {
    let who = base.map { "\($0.host) redirects to the scheme" } ?? "the scheme is"
    return TransferFailure(.blockedScheme, "\(who) \"\(scheme.prefix(32))\"; only http and https are fetched")
  }
}

/// curl's URL handle, for as long as a URL is being read.
@safe private struct URLParts: ~Copyable {
  private let handle: OpaquePointer

  init?() {
    guard let handle = unsafe curl_url() else { return nil }
    unsafe self.handle = unsafe handle
  }

  deinit { unsafe curl_url_cleanup(handle) }

  @discardableResult func set(_ part: CURLUPart, _ text: String?, flags: CInt) -> Bool {
    unsafe curl_url_set(handle, part, text, CUnsignedInt(flags)) == CURLUE_OK
  }

  subscript(part: CURLUPart) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    let flags = CUnsignedInt(part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0)
    guard unsafe curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text = unsafe text else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }
}
