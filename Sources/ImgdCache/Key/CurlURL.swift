internal import CCurl

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
