internal import CCurl
internal import ImgdSystem

extension Exchange {
  func configure() {
    let settings = request.settings
    easy.set(CURLOPT_URL, request.url.text)
    easy.setHeaders(request.headerLines)
    easy.set(CURLOPT_NOSIGNAL, 1)
    // An aborted transfer must not wait for a resolver that hangs; the resolver cleans up itself.
    easy.set(CURLOPT_QUICK_EXIT, 1)
    easy.set(CURLOPT_CONNECTTIMEOUT_MS, max(Int(settings.connectTimeout.milliseconds), 1))
    easy.set(CURLOPT_BUFFERSIZE, 128 * 1024)
    easy.set(CURLOPT_TCP_NODELAY, 1)
    easy.set(CURLOPT_FRESH_CONNECT, request.avoidsKeptConnections ? 1 : 0)
    configureProtocol()
    configureTrust()
    configureCallbacks()
  }

  /// Redirects are followed by the transfer, which looks at each hop.
  private func configureProtocol() {
    easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    easy.set(CURLOPT_FOLLOWLOCATION, 0)
    easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    easy.set(CURLOPT_HTTP09_ALLOWED, 0)
    easy.set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    // Empty means none; unset would mean what the environment says.
    easy.set(CURLOPT_PROXY, request.settings.proxy ?? "")
    easy.set(CURLOPT_NOPROXY, "")
    easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Asks for plain bytes, and decodes what comes encoded all the same.
    easy.set(CURLOPT_ACCEPT_ENCODING, "identity")
    easy.set(CURLOPT_HTTP_CONTENT_DECODING, request.decodes ? 1 : 0)
  }

  /// One file of certificates: a directory of them is read anew for every connection, which costs
  /// twenty times as much.
  private func configureTrust() {
    easy.set(CURLOPT_SSL_VERIFYPEER, 1)
    easy.set(CURLOPT_SSL_VERIFYHOST, 2)
    easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    easy.set(CURLOPT_CAINFO, request.settings.caFile)
    easy.set(CURLOPT_CAPATH, nil)
  }

  private func configureCallbacks() {
    easy.set(CURLOPT_PRIVATE, context: self)
    easy.set(CURLOPT_HEADERDATA, context: self)
    easy.set(CURLOPT_WRITEDATA, context: self)
    easy.set(CURLOPT_OPENSOCKETDATA, context: self)
    easy.set(CURLOPT_PREREQDATA, context: self)
    unsafe curl_easy_on_head(easy.pointer, headLineArrived)
    unsafe curl_easy_on_body(easy.pointer, bodyPartArrived)
    unsafe curl_easy_on_open(easy.pointer, socketIsWanted)
    unsafe curl_easy_on_request(easy.pointer, connectionStands)
  }
}

// MARK: curl's callbacks
// File-level functions: they find their exchange and call one method. The pointer is good because
// a transfer takes the handle out of curl before it lets go of the exchange.

private func exchange(_ context: UnsafeMutableRawPointer?) -> Exchange? {
  guard let context = unsafe context else { return nil }
  return unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
}

private func headLineArrived(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
  let goesOn = unsafe exchange(context)?.take(headLine: line.bindMemory(to: UInt8.self).span)
  return goesOn == true ? size * count : 0
}

private func bodyPartArrived(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
  let goesOn = unsafe exchange(context)?.take(bodyPart: part)
  return goesOn == true ? size * count : 0
}

private func socketIsWanted(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let address = unsafe address else { return CURL_SOCKET_BAD }
  return unsafe exchange(context)?.openSocket(address) ?? CURL_SOCKET_BAD
}

private func connectionStands(
  _ context: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?,
  _ local: UnsafeMutablePointer<CChar>?, _ remotePort: CInt, _ localPort: CInt
) -> CInt {
  guard let remote = unsafe remote else { return CURL_PREREQFUNC_ABORT }
  let goesOn = unsafe exchange(context)?.requestIsDue(at: String(cString: remote))
  return goesOn == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}
