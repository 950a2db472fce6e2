// One request and its response.
//
// An exchange sets a handle up, is what curl's callbacks find behind their pointer, and keeps what
// they bring: the head, the body, and why it was stopped, if it was. It decides nothing about
// redirects, retries or kinds of failure; its transfer does that when the exchange is over.
//
// Inside a callback curl must not be entered again. So a callback notes something, hands on news,
// and at most tells curl to stop; handles are added and removed by the transfer alone, later.

internal import CCurl
import Glibc
internal import ImgdSystem

final class Exchange {
  /// Why the exchange did not go on to its end.
  enum Stop {
    /// The head already says that the body is too long.
    case announcedTooLong(Int)
    case grewTooLong
    /// A body that nobody wants was longer than what is worth reading to keep the connection.
    case skippedEnough
    case refusedAddress
    case noRoom(SystemFailure)
    case idle
  }

  /// The part of a body that is read for nothing, so that the connection can be used again.
  private static let mostSkipped = 64 * 1024

  let request: Request
  let easy: EasyHandle
  /// The most bytes that the body may have.
  var maxBytes: Int
  private unowned let transfer: Transfer
  private let loop: EventLoop

  private(set) var head = HeadCollector()
  private(set) var stop: Stop?
  private(set) var received = 0
  private(set) var expected: Int?
  /// The request has gone out on a connection.
  private(set) var isConnected = false
  private(set) var gate: AddressGate
  private var body = PayloadWriter()
  private var skipped = 0
  private var lastSign: Instant
  private var idleTimer: Timer?

  init(
    _ request: Request, on easy: EasyHandle, for transfer: Transfer, maxBytes: Int,
    loop: EventLoop
  ) {
    self.request = request
    self.easy = easy
    self.transfer = transfer
    self.maxBytes = maxBytes
    self.loop = loop
    lastSign = loop.now
    gate = AddressGate(
      rule: request.settings.addressRule, afterPublic: request.afterPublic,
      isProxied: request.settings.proxy != nil)
    easy.reset()
    configure()
  }

  /// The body, once; the exchange is empty afterwards.
  func takeBody() throws(SystemFailure) -> Payload { try body.finish() }

  /// Ends the waiting; the handle is no longer in use.
  func close() {
    idleTimer?.cancel()
  }

  /// curl is done with it; not to be called from a callback.
  func ended(_ code: CURLcode) {
    transfer.exchangeEnded(code)
  }

  /// Whether the body is what was asked for: redirects and errors carry bodies too.
  var isWanted: Bool { (200..<300).contains(head.status) && head.status != 206 }

  // MARK: What the callbacks bring

  fileprivate func take(headLine line: Span<UInt8>) -> Bool {
    lastSign = loop.now
    guard head.take(line), isWanted else { return true }
    let announced = easy.expectedLength
    if let announced, announced > maxBytes {
      stop = .announcedTooLong(announced)
      return false
    }
    expected = isDecoding ? nil : announced
    transfer.headArrived(expected: expected)
    return true
  }

  fileprivate func take(bodyPart part: UnsafeRawBufferPointer) -> Bool {
    lastSign = loop.now
    guard isWanted else { return skip(part.count) }
    guard part.count <= maxBytes - received else {
      stop = .grewTooLong
      return false
    }
    do throws(SystemFailure) {
      try unsafe body.append(part)
    } catch {
      stop = .noRoom(error)
      return false
    }
    received += part.count
    transfer.bodyGrew(to: received, expected: expected)
    return true
  }

  private func skip(_ count: Int) -> Bool {
    skipped += count
    guard skipped > Self.mostSkipped else { return true }
    stop = .skippedEnough
    return false
  }

  fileprivate func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> CInt? {
    let description = unsafe address.pointee
    let target = unsafe UnsafeRawPointer(address).advanced(
      by: MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
    return gate.open(
      unsafe IPAddress(target.assumingMemoryBound(to: sockaddr.self)), family: description.family,
      type: description.socktype, protocol: description.protocol)
  }

  /// The connection stands, and the request goes out next, unless the address is refused.
  fileprivate func requestIsDue(at address: String) -> Bool {
    guard gate.mayRequest(from: IPAddress(address)) else {
      stop = .refusedAddress
      return false
    }
    isConnected = true
    lastSign = loop.now
    watchForIdleness(after: request.settings.idleTimeout)
    return true
  }

  // MARK: Idleness

  /// One timer that looks when it fires whether there was a sign of life in between: setting it
  /// anew for every piece of a body would cost more than the piece.
  private func watchForIdleness(after delay: Duration) {
    idleTimer?.cancel()
    idleTimer = loop.schedule(after: delay) { [unowned self] in lookForIdleness() }
  }

  private func lookForIdleness() {
    let rest = lastSign + request.settings.idleTimeout - loop.now
    guard rest <= .zero else { return watchForIdleness(after: rest) }
    stop = .idle
    ended(CURLE_OPERATION_TIMEDOUT)
  }

  private var isDecoding: Bool {
    guard request.decodes, let coding = head.first("content-encoding") else { return false }
    return coding.lowercased() != "identity"
  }
}

// MARK: Setting up

extension Exchange {
  private func configure() {
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
