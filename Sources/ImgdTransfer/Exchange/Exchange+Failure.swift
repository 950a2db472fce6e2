internal import CCurl
internal import ImgdSystem

extension Exchange {
  /// What curl's code means for a request that has no answer yet.
  func failureBeforeHead(_ code: CURLcode) -> TransferFailure {
    if let shortage = gate.shortage {
      return TransferFailure(.unavailable, SystemFailure("socket", errno: shortage).description)
    }
    if gate.refused != nil, gate.opened == 0 { return blockedAddress }
    switch code {
    case CURLE_OK:
      // curl is content with a head that has no end.
      return connect(CURLE_GOT_NOTHING, isTransient: true)
    case CURLE_URL_MALFORMAT:
      return TransferFailure(.badURL, "the URL of \(host) cannot be asked: \(reason(code))")
    case CURLE_COULDNT_RESOLVE_HOST:
      return TransferFailure(.dns, "the name \(host) has no address")
    case CURLE_COULDNT_RESOLVE_PROXY:
      return TransferFailure(.dns, "the name of the proxy has no address: \(reason(code))")
    case CURLE_OPERATION_TIMEDOUT:
      let limit = request.settings.connectTimeout
      return TransferFailure(.timeout(.connect), "no connection to \(host) within \(limit)")
    case CURLE_OUT_OF_MEMORY:
      return TransferFailure(.unavailable, "out of memory")
    case CURLE_SSL_CACERT_BADFILE:
      let file = request.settings.caFile
      return TransferFailure(
        .tls, "no trust in anybody: imgd cannot read certificates from \(file)")
    case _ where code.isAboutTLS:
      return TransferFailure(.tls, "no trust in \(host): \(reason(code))")
    case _ where code.isAboutConnection:
      return connect(code, isTransient: true)
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING,
      CURLE_PROXY:
      return connect(code, isTransient: false)
    default:
      return TransferFailure(.internal, "asking \(host) failed: \(reason(code))")
    }
  }

  var blockedAddress: TransferFailure {
    let address = gate.refused?.description ?? "unknown"
    let why = request.afterPublic ? "after a redirect from a public one may not" : "may not"
    var failure = TransferFailure(
      .blockedAddress, "\(host) is at \(address), an address that \(why) be asked")
    failure.address = address
    return failure
  }

  private func connect(_ code: CURLcode, isTransient: Bool) -> TransferFailure {
    var failure = TransferFailure(.connect, "no answer from \(host): \(reason(code))")
    failure.address = gate.connected?.description
    failure.isTransient = isTransient
    return failure
  }

  private var host: String { request.url.host }

  /// curl's own words, which name more than its code does.
  private func reason(_ code: CURLcode) -> String {
    let complaint = easy.complaint
    return complaint.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : complaint
  }
}

extension CURLcode {
  fileprivate var isAboutTLS: Bool {
    switch self {
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_SHUTDOWN_FAILED,
      CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      true
    default: false
    }
  }

  /// Refused, reset or ended before a byte of the answer: another attempt may do better.
  fileprivate var isAboutConnection: Bool {
    switch self {
    case CURLE_COULDNT_CONNECT, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING,
      CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND:
      true
    default: false
    }
  }
}
