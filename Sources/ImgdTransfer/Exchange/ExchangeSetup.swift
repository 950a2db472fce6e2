internal import CCurl
internal import ImgdSystem

extension Exchange {
  /// Sets the options of the curl handle that are this exchange's own; curl's callbacks then call it.
  func configure() {
    easy.set(CURLOPT_URL, request.url.text)
    // All URLs are read before: in a bucket, dots are parts of names.
    easy.set(CURLOPT_PATH_AS_IS, 1)
    easy.use(proxy: request.proxy)
    easy.set(CURLOPT_HTTPHEADER, lines: request.headerLines)
    easy.set(CURLOPT_RESOLVE, lines: request.addressLines)
    easy.set(CURLOPT_CONNECTTIMEOUT_MS, max(Int(request.connectTimeout.milliseconds), 1))
    easy.set(CURLOPT_FRESH_CONNECT, request.avoidsKeptConnections ? 1 : 0)
    easy.set(CURLOPT_HTTP_CONTENT_DECODING, request.decodes ? 1 : 0)
    easy.set(CURLOPT_PRIVATE, context: self)
    easy.set(CURLOPT_HEADERDATA, context: self)
    easy.set(CURLOPT_WRITEDATA, context: self)
    easy.set(CURLOPT_OPENSOCKETDATA, context: self)
    easy.set(CURLOPT_PREREQDATA, context: self)
    easy.set(CURLOPT_RESOLVER_START_DATA, context: self)
    easy.set(CURLOPT_SSL_CTX_DATA, context: self)
  }
}

extension EasyHandle {
  /// Seconds for which curl keeps addresses: just long enough to use them, because it does not limit their number.
  private static let addressLifetime = 5

  /// Sets the options that are the same for all exchanges.
  func configure(caFile: String) {
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_DNS_CACHE_TIMEOUT, Self.addressLifetime)
    set(CURLOPT_BUFFERSIZE, 128 * 1024)
    set(CURLOPT_TCP_NODELAY, 1)
    configureProtocol()
    // Empty means none; unset would mean the proxy of the environment.
    set(CURLOPT_PROXY, "")
    set(CURLOPT_NOPROXY, "")
    configureTrust(caFile)
    setCallbacks()
  }

  /// Redirects are not followed here: each of them is an outcome of its transfer.
  private func configureProtocol() {
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    set(CURLOPT_HTTP09_ALLOWED, 0)
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Asks for unencoded bytes, and decodes a body that is encoded nevertheless.
    set(CURLOPT_ACCEPT_ENCODING, "identity")
  }

  /// One file of certificates: a directory is read again for every connection, which costs twenty times as much.
  private func configureTrust(_ caFile: String) {
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    set(CURLOPT_CAINFO, caFile)
    set(CURLOPT_CAPATH, nil)
  }

  private func setCallbacks() {
    unsafe curl_easy_on_head(pointer, headLineArrived)
    unsafe curl_easy_on_body(pointer, bodyPartArrived)
    unsafe curl_easy_on_open(pointer, socketIsWanted)
    unsafe curl_easy_on_request(pointer, connectionIsReady)
    unsafe curl_easy_on_resolve(pointer, lookUpIsDue)
    unsafe curl_easy_on_tls(pointer, handshakeIsDue)
    unsafe curl_easy_on_close(pointer, socketIsClosing)
  }
}

// Each of curl's callbacks finds its exchange and calls one method. The pointer is valid because a transfer removes
// the handle from curl before it frees the exchange.

private func headLineArrived(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
  let continues = unsafe object(context, Exchange.self)?.takeHeadLine(line.bindMemory(to: UInt8.self).span)
  return continues == true ? size * count : 0
}

private func bodyPartArrived(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
  switch unsafe object(context, Exchange.self)?.takeBodyPart(part) {
  case .accepted: return size * count
  case .heldBack: return Int(CURL_WRITEFUNC_PAUSE)
  case .refused, nil: return 0
  }
}

private func socketIsWanted(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let address = unsafe address else { return CURL_SOCKET_BAD }
  return unsafe object(context, Exchange.self)?.openSocket(address) ?? CURL_SOCKET_BAD
}

/// Called when curl has neither an address of the host nor a connection to it.
private func lookUpIsDue(
  _ state: UnsafeMutableRawPointer?, _ reserved: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> CInt { unsafe object(context, Exchange.self)?.addressIsWanted() == true ? 0 : 1 }

private func handshakeIsDue(
  _ easy: UnsafeMutableRawPointer?, _ tls: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> CURLcode {
  unsafe curl_tls_copy_sessions(tls)
  unsafe object(context, Exchange.self)?.handshakeBegins()
  return CURLE_OK
}

private func connectionIsReady(
  _ context: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?, _ local: UnsafeMutablePointer<CChar>?,
  _ remotePort: CInt, _ localPort: CInt
) -> CInt {
  guard let remote = unsafe remote else { return CURL_PREREQFUNC_ABORT }
  let continues = unsafe object(context, Exchange.self)?.requestIsDue(at: String(cString: remote))
  return continues == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// What an exchange asks for. An object, since it is large and handed on several times.
final class ExchangeRequest {
  let url: TransferURL
  let headers: [HeaderField]
  let settings: TransferSettings
  /// The URL of the proxy; nil for none.
  let proxy: String?
  /// The host that is connected to: the proxy's, if there is one.
  let target: TransferURL
  var addresses: [IPAddress] = []
  var connectTimeout: Duration
  /// Whether an earlier hop was to a public address.
  var afterPublic = false
  /// False after the origin has labelled plain bytes as encoded.
  var decodes = true
  var avoidsKeptConnections = false
  var resuming: [HeaderField] = []
  /// Slows the body down.
  var throttle: Throttle?
  /// How the request is signed, if its URL is that of an object in a bucket.
  var signature: SignedRequest?

  init(
    url: TransferURL, headers: [HeaderField], settings: TransferSettings, proxy: String? = nil
  ) throws(TransferFailure) {
    self.url = url
    self.headers = headers
    self.settings = settings
    self.proxy = proxy
    target = if let proxy { try TransferURL(proxy: proxy) } else { url }
    connectTimeout = settings.connectTimeout
  }

  /// The addresses in curl's notation; the plus sign makes curl forget them after a while.
  var addressLines: [String] {
    guard !addresses.isEmpty else { return [] }
    let list = addresses.map { address in if case .v6 = address { "[\(address)]" } else { "\(address)" } }
    return ["+\(target.host):\(target.port):\(list.joined(separator: ","))"]
  }

  /// In curl's notation: the order's fields, then the engine's unless the order has the same. None where the order
  /// brings no field, as is usual: then the handle's own lines are right.
  var headerLines: [String] {
    if headers.isEmpty, resuming.isEmpty { return [] }
    let sound = headers.filter { $0.isOneLine }
    let names = Set(sound.map { $0.name.lowercased() })
    let own = settings.ownFields.fields.filter { !names.contains($0.name.lowercased()) }
    return (sound + own + resuming).map(\.line) + OwnFields.closingLines
  }
}
