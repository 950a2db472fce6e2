internal import CCurl

/// A URL that can be fetched: http or https, without user, password or fragment. It is parsed by curl, which also
/// connects, so that parser and connection cannot disagree about the host.
struct TransferURL: Equatable, Sendable {
  let text: String
  /// As in the URL: an IPv6 address has brackets.
  let host: String
  let port: String
  let isEncrypted: Bool

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

  /// The target of a redirect; a user or password in it is dropped.
  func following(_ location: String) throws(TransferFailure) -> TransferURL { try TransferURL(location, from: self) }

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
  }

  /// The host, if its address has to be looked up. curl itself knows the address of `localhost`.
  var name: String? {
    let isKnown = host == "localhost" || host.hasSuffix(".localhost") || IPAddress(host) != nil
    return isKnown ? nil : host
  }

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
