internal import CCurl
internal import ImgdSystem

struct ExchangeReview {
  let exchange: Exchange
  let code: CURLcode

  private var request: ExchangeRequest { exchange.request }
  private var addresses: AddressFilter { exchange.addresses }
  private var head: HeadCollector { exchange.head }
  private var received: Int { exchange.received }
  private var expected: Int? { exchange.expected }
  private var host: String { request.url.host }
  private var phase: TransferPhase { exchange.phase.phase }

  func verdict(isConditional: Bool) -> ExchangeVerdict {
    if let stop = exchange.stop, let verdict = verdict(on: stop) { return verdict }
    if isLineTooLong { return .failed(tooLong) }
    guard head.isComplete else { return .failed(requestFailure) }
    guard head.isSuccess else { return verdictOnStatus(isConditional: isConditional) }
    switch code {
    // An origin may send less of a range than was requested.
    case CURLE_OK where exchange.resumedFrom > 0 && received < expected ?? 0: return .failed(truncated)
    // 204 and 205 have no content by definition.
    case CURLE_OK where received == 0 || head.status == 204 || head.status == 205:
      return .failed(TransferFailure.answer(head.head, of: host))
    case CURLE_OK: return .received
    case CURLE_BAD_CONTENT_ENCODING where request.decodes: return .undecodable
    case CURLE_OUT_OF_MEMORY: return .failed(TransferFailure(.unavailable, "out of memory"))
    default: return .failed(truncated)
    }
  }

  /// nil when the response counts as complete: only a body that is not used is missing.
  private func verdict(on stop: Exchange.Stop) -> ExchangeVerdict? {
    switch stop {
    case .announcedTooLong(let length): return .failed(tooLarge(announced: length))
    case .grewTooLong: return .failed(tooLarge(announced: expected))
    case .skippedEnough: return nil
    case .doesNotFit: return .notContinued
    case .badHead(.tooLong): return .failed(tooLong)
    case .badHead(.contradictoryLengths):
      return .failed(TransferFailure(.badAnswer, "\(host) announces two different lengths for one body"))
    case .refusedAddress where addresses.opened == 0 && !request.avoidsKeptConnections: return .keptConnectionRefused
    case .refusedAddress: return .failed(blockedAddress)
    case .needsAddress: return .needsAddress
    case .noRoom(let failure): return .failed(TransferFailure(.unavailable, "no room for the body: \(failure)"))
    case .idle where head.isComplete && !head.isSuccess: return nil
    case .idle:
      let limit = request.settings.idleTimeout
      var failure = unfinished(.timeout(phase), "\(host) has sent nothing for \(limit)")
      failure.timeLimit = limit
      return .failed(failure)
    }
  }

  /// curl collects a line before it passes it on, and says that it is out of memory when the line
  /// exceeds a limit of its own. Before the request is sent, the code can only mean memory.
  private var isLineTooLong: Bool { code == CURLE_OUT_OF_MEMORY && phase >= .firstByte && !head.isComplete }

  private var tooLong: TransferFailure {
    TransferFailure(
      .badAnswer,
      "\(host) answers with more header fields than the \(HeadCollector.mostLines) or "
        + "\(HeadCollector.mostBytes) bytes that are read")
  }

  private func tooLarge(announced: Int?) -> TransferFailure {
    let size = announced.map { "has \($0) bytes" } ?? "goes on"
    var failure = TransferFailure(.tooLarge, "the body from \(host) \(size); \(exchange.maxBytes) bytes are allowed")
    failure.limit = exchange.maxBytes
    failure.expected = announced
    failure.received = received
    return failure
  }

  private func verdictOnStatus(isConditional: Bool) -> ExchangeVerdict {
    switch head.status {
    case 301, 302, 303, 307, 308:
      guard let location = head.location, !location.isEmpty else { break }
      return .redirected(to: location)
    case 304 where isConditional: return .confirmed
    // An earlier body was to be continued, and no body has arrived.
    case 416 where exchange.partial != nil: return .notContinued
    default: break
    }
    var failure = TransferFailure.answer(head.head, of: host)
    failure.retryAfter = RetryAfter.delay(head.first("retry-after"))
    failure.isTransient = TransferFailure.isTransient(status: head.status)
    return .failed(failure)
  }

  private var truncated: TransferFailure {
    let promised = expected.map { " of \($0)" } ?? ""
    var failure = unfinished(.truncated, "the body from \(host) breaks off after \(received)\(promised) bytes")
    failure.isTransient = true
    return failure
  }

  private func unfinished(_ kind: TransferFailure.Kind, _ message: String) -> TransferFailure {
    var failure = TransferFailure(kind, message)
    failure.expected = expected
    failure.received = received
    return failure
  }

  private var requestFailure: TransferFailure {
    if let shortage = addresses.shortage {
      return TransferFailure(.unavailable, SystemFailure("socket", errno: shortage).description)
    }
    if addresses.refused != nil, addresses.opened == 0 { return blockedAddress }
    switch code {
    case CURLE_OK:
      // curl reports success for a head that has no end.
      return connect(noAnswer, isTransient: true)
    case CURLE_URL_MALFORMAT: return TransferFailure(.badURL, "the URL of \(host) cannot be requested: \(reason)")
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      return TransferFailure(.dns, "\(request.target.host) has no address: \(reason)")
    case CURLE_OPERATION_TIMEDOUT:
      return TransferFailure.timeout(phase, of: host, after: request.settings.connectTimeout)
    case CURLE_OUT_OF_MEMORY: return TransferFailure(.unavailable, "out of memory")
    case CURLE_SSL_CACERT_BADFILE:
      let file = request.settings.caFile
      return TransferFailure(.tls, "no origin can be verified: imgd cannot read certificates from \(file)")
    case CURLE_SSL_CONNECT_ERROR where hasLostConnection:
      return connect("the TLS handshake with \(host) broke off: \(reason)", isTransient: true)
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
      CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      return TransferFailure(.tls, "no trusted connection to \(host): \(reason)")
    // Refused, reset or ended before a byte of the answer: another attempt may succeed.
    case CURLE_COULDNT_CONNECT, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2,
      CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND:
      return connect(noAnswer, isTransient: true)
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_PROXY:
      return connect(noAnswer, isTransient: false)
    default: return TransferFailure(.internal, "the request to \(host) failed: \(reason)")
    }
  }

  private var blockedAddress: TransferFailure {
    let address = addresses.refused?.description ?? "unknown"
    let when = request.afterPublic ? " after a redirect from a public one" : ""
    var failure = TransferFailure(
      .blockedAddress, "\(host) is at \(address), an address that imgd may not connect to\(when)")
    failure.address = address
    return failure
  }

  private var noAnswer: String { "no answer from \(host): \(reason)" }

  /// Whether the connection of a handshake was reset or ended. curl has the same code for that as for a handshake that
  /// one of both sides has refused, and tells them apart in its description alone.
  private var hasLostConnection: Bool {
    ["Recv failure", "Send failure", "SSL_ERROR_SYSCALL", "unexpected eof"].contains { reason.contains($0) }
  }

  private func connect(_ message: String, isTransient: Bool) -> TransferFailure {
    var failure = TransferFailure(.connect, message)
    failure.address = addresses.connected?.description
    failure.isTransient = isTransient
    return failure
  }

  /// curl's own description says more than the code; it may be empty.
  private var reason: String {
    let complaint = exchange.easy.complaint
    return complaint.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : complaint
  }
}

enum ExchangeVerdict {
  case received
  /// 304: the condition of the order still holds.
  case confirmed
  case redirected(to: String)
  /// The body is not encoded as its head says, or in an unknown way.
  case undecodable
  /// A kept connection leads to a refused address; a new one may lead to another.
  case keptConnectionRefused
  case needsAddress
  /// The partial body cannot be continued: the whole body has to be requested.
  case notContinued
  case failed(TransferFailure)

  /// Whether a partial body may remain that another exchange can continue.
  var leavesPartial: Bool {
    switch self {
    case .keptConnectionRefused, .needsAddress, .failed: true
    case .received, .confirmed, .redirected, .undecodable, .notContinued: false
    }
  }
}
