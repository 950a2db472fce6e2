import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

// The only door from a failed transfer to the wire.

extension FetchFailure {
  init(_ failure: TransferFailure) {
    self.init(
      error: WireError(failure.kind.code, failure.message, details: failure.details, retryable: failure.isRetryable),
      head: failure.head?.fitting(within: StoredHeaders.mostKept), isOfOrigin: failure.isOfOrigin)
  }
}

extension FetchFailure {
  /// A failure with which an origin has answered before.
  init(remembered answer: CachedImage, at now: Instant) {
    let response = answer.response
    let head = ResponseHead(
      status: response.status, headers: response.headers.list.map { HeaderField($0.name, $0.value) })
    self.init(TransferFailure.answer(head, of: answer.url.host))
    error = error.asCached(age: answer.age(at: now), isStale: !answer.isFresh(at: now))
  }
}

extension TransferFailure.Kind {
  fileprivate var code: ReplyCode {
    switch self {
    case .badURL: .badURL
    case .blockedScheme: .blockedScheme
    case .blockedAddress: .blockedAddress
    case .dns: .dns
    // To a client both mean that no answer comes from this origin, but only the first may pass with
    // time.
    case .connect, .badAnswer: .connect
    case .tls: .tls
    case .timeout: .timeout
    case .httpStatus: .httpStatus
    case .tooLarge: .tooLarge
    case .emptyBody: .emptyBody
    case .truncated: .truncated
    case .cancelled: .cancelled
    case .unavailable: .unavailable
    case .internal: .internal
    }
  }
}

extension TransferFailure {
  /// Whether a retry makes sense; nil leaves that to the code, and for a status it depends on which
  /// one.
  fileprivate var isRetryable: Bool? {
    switch kind {
    case .httpStatus: Self.isTransient(status: status ?? 0)
    case .badAnswer: false
    default: nil
    }
  }

  /// Whether a stale picture may stand in for the answer (RFC 5861, 4): the origin could not be
  /// asked, or is in trouble itself.
  fileprivate var isOfOrigin: Bool {
    switch kind {
    case .dns, .connect, .tls, .timeout, .truncated, .emptyBody, .badAnswer: true
    case .httpStatus: (status ?? 0) >= 500 && Self.isTransient(status: status ?? 0)
    default: false
    }
  }

  fileprivate var details: [JSONValue.Member] {
    var details: [JSONValue.Member] = []
    if let status { details.append(.init("status", .integer(Int64(status)))) }
    if case .timeout(let phase) = kind { details.append(.init("phase", .string(phase.name))) }
    if let address { details.append(.init("address", .string(address))) }
    if let limit { details.append(.init("limit", .integer(Int64(limit)))) }
    if let expected { details.append(.init("expected", .integer(Int64(expected)))) }
    if let received { details.append(.init("received", .integer(Int64(received)))) }
    if let retryAfter { details.append(.init("retry_after_ms", .integer(retryAfter.milliseconds))) }
    if retries > 0 { details.append(.init("retries", .integer(Int64(retries)))) }
    return details
  }
}
