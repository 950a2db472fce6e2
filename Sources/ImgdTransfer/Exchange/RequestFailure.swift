internal import CCurl
internal import ImgdSystem

/// Explains why a request has no answer, from curl's code and the addresses that were tried.
struct RequestFailure {
  let request: ExchangeRequest
  let addresses: AddressFilter
  let code: CURLcode
  /// curl's own description of its error, which says more than the code; may be empty.
  let complaint: String
  let phase: TransferPhase

  var failure: TransferFailure {
    if let shortage = addresses.shortage {
      return TransferFailure(.unavailable, SystemFailure("socket", errno: shortage).description)
    }
    if addresses.refused != nil, addresses.opened == 0 { return blockedAddress }
    switch code {
    case CURLE_OK:
      // curl reports success for a head that has no end.
      return connect(CURLE_GOT_NOTHING, isTransient: true)
    case CURLE_URL_MALFORMAT: return TransferFailure(.badURL, "the URL of \(host) cannot be requested: \(reason)")
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      return TransferFailure(.dns, "\(request.target.host) has no address: \(reason)")
    case CURLE_OPERATION_TIMEDOUT:
      let limit = request.settings.connectTimeout
      return TransferFailure(.timeout(phase), phase.complaint(about: host, after: limit))
    case CURLE_OUT_OF_MEMORY: return TransferFailure(.unavailable, "out of memory")
    case CURLE_SSL_CACERT_BADFILE:
      let file = request.settings.caFile
      return TransferFailure(.tls, "no origin can be verified: imgd cannot read certificates from \(file)")
    case _ where code.isAboutTLS: return TransferFailure(.tls, "no trusted connection to \(host): \(reason)")
    case _ where code.isAboutConnection: return connect(code, isTransient: true)
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_PROXY:
      return connect(code, isTransient: false)
    default: return TransferFailure(.internal, "the request to \(host) failed: \(reason)")
    }
  }

  var blockedAddress: TransferFailure {
    let address = addresses.refused?.description ?? "unknown"
    let when = request.afterPublic ? " after a redirect from a public one" : ""
    var failure = TransferFailure(
      .blockedAddress, "\(host) is at \(address), an address that imgd may not connect to\(when)")
    failure.address = address
    return failure
  }

  private func connect(_ code: CURLcode, isTransient: Bool) -> TransferFailure {
    var failure = TransferFailure(.connect, "no answer from \(host): \(reason)")
    failure.address = addresses.connected?.description
    failure.isTransient = isTransient
    return failure
  }

  private var host: String { request.url.host }

  private var reason: String { complaint.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : complaint }
}

extension CURLcode {
  fileprivate var isAboutTLS: Bool {
    switch self {
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
      CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      true
    default: false
    }
  }

  /// Refused, reset or ended before a byte of the answer: another attempt may succeed.
  fileprivate var isAboutConnection: Bool {
    switch self {
    case CURLE_COULDNT_CONNECT, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2,
      CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND:
      true
    default: false
    }
  }
}
