import CCurl

/// A URL taken apart by libcurl.
///
/// Safe: the handle is private and lives exactly as long as the object.
@safe final class URLParts {
  private let handle: OpaquePointer
  private let original: String

  init(_ text: String) throws(URLProblem) {
    original = text
    guard let handle = unsafe curl_url() else { throw .bad(reason: "out of memory") }
    unsafe self.handle = handle
    let code = unsafe curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_URLENCODE))
    guard code == CURLUE_OK else {
      throw .bad(reason: "\(text) is not a URL: \(unsafe String(cString: curl_url_strerror(code)))")
    }
  }

  deinit {
    unsafe curl_url_cleanup(handle)
  }

  func canonical() throws(URLProblem) -> String {
    guard part(CURLUPART_USER) == nil, part(CURLUPART_PASSWORD) == nil else {
      throw .bad(reason: "the URL has a user name or password: send an Authorization header instead")
    }
    guard let scheme = part(CURLUPART_SCHEME)?.lowercased(),
      let host = part(CURLUPART_HOST)?.lowercased(), !host.isEmpty
    else { throw .bad(reason: "\(original) has no host") }
    guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw .bad(reason: "the host \(host) is not ASCII: write its xn-- form")
    }
    let port = part(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT).map { ":" + $0 } ?? ""
    let query = part(CURLUPART_QUERY).map { "?" + $0 } ?? ""
    return scheme + "://" + host + port + (part(CURLUPART_PATH) ?? "/") + query
  }

  private func part(_ part: CURLUPart, _ flags: CInt = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK,
      let text = unsafe text
    else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }
}
