internal import CCurl
internal import ImgdSystem

/// What has become of an exchange, before anybody decides what to do about it.
enum ExchangeVerdict {
  case received
  /// 304: what the order was conditional on still holds.
  case confirmed
  case redirected(to: String)
  /// The body is not encoded in the way in which it is labelled, or in one that nobody knows.
  case undecodable
  /// A kept connection leads where this transfer may not go; a new one may lead elsewhere.
  case keptConnectionRefused
  /// What was to be continued cannot be: it has to be asked for whole.
  case notContinued
  case failed(TransferFailure)

  /// Whether a part of the body may be left that is worth continuing.
  var leavesPartial: Bool {
    switch self {
    case .keptConnectionRefused, .failed: true
    case .received, .confirmed, .redirected, .undecodable, .notContinued: false
    }
  }
}

extension Exchange {
  func verdict(_ code: CURLcode, isConditional: Bool) -> ExchangeVerdict {
    if let stop, let verdict = verdict(on: stop) { return verdict }
    guard head.isComplete else { return .failed(failureBeforeHead(code)) }
    guard isWanted else { return verdictOnStatus(isConditional: isConditional) }
    switch code {
    // An origin may send less of a range than was asked for.
    case CURLE_OK where resumedFrom > 0 && received < expected ?? 0: return .failed(truncated)
    case CURLE_OK: return received > 0 && hasContent ? .received : .failed(emptyBody)
    case CURLE_BAD_CONTENT_ENCODING where request.decodes: return .undecodable
    case CURLE_OUT_OF_MEMORY: return .failed(TransferFailure(.unavailable, "out of memory"))
    default: return .failed(truncated)
    }
  }

  private var host: String { request.url.host }

  /// 204 and 205 have no content by definition.
  private var hasContent: Bool { head.status != 204 && head.status != 205 }

  // MARK: Stopped by us

  /// nil when the response counts as if it had come to its end: what is missing is a body that
  /// nobody wants.
  private func verdict(on stop: Stop) -> ExchangeVerdict? {
    switch stop {
    case .announcedTooLong(let length): return .failed(tooLarge(announced: length))
    case .grewTooLong: return .failed(tooLarge(announced: expected))
    case .skippedEnough: return nil
    case .doesNotFit: return .notContinued
    case .refusedAddress where gate.opened == 0 && !request.avoidsKeptConnections:
      return .keptConnectionRefused
    case .refusedAddress: return .failed(blockedAddress)
    case .noRoom(let failure):
      return .failed(TransferFailure(.unavailable, "no room for the body: \(failure)"))
    case .idle: return head.isComplete && !isWanted ? nil : .failed(idle)
    }
  }

  private func tooLarge(announced: Int?) -> TransferFailure {
    let size = announced.map { "has \($0) bytes" } ?? "goes on"
    var failure = TransferFailure(
      .tooLarge, "the body from \(host) \(size); \(maxBytes) bytes are allowed")
    failure.limit = maxBytes
    failure.expected = announced
    failure.received = received
    return failure
  }

  private var idle: TransferFailure {
    let limit = request.settings.idleTimeout
    var failure = TransferFailure(.timeout(.idle), "\(host) has sent nothing for \(limit)")
    failure.expected = expected
    failure.received = received
    return failure
  }

  // MARK: Answered by the origin

  private func verdictOnStatus(isConditional: Bool) -> ExchangeVerdict {
    switch head.status {
    case 301, 302, 303, 307, 308:
      guard let location = head.first("location"), !location.isEmpty else { break }
      return .redirected(to: location)
    case 304 where isConditional:
      return .confirmed
    case 416 where partial != nil:
      return .notContinued
    default: break
    }
    return .failed(status)
  }

  private var status: TransferFailure {
    var failure = TransferFailure(.httpStatus, "\(host) answers with status \(head.status)")
    failure.retryAfter = RetryAfter.delay(head.first("retry-after"))
    failure.isTransient = TransferFailure.isTransient(status: head.status)
    return failure
  }

  private var emptyBody: TransferFailure {
    TransferFailure(.emptyBody, "\(host) answers with status \(head.status) and no content")
  }

  private var truncated: TransferFailure {
    let promised = expected.map { " of \($0)" } ?? ""
    var failure = TransferFailure(
      .truncated, "the body from \(host) breaks off after \(received)\(promised) bytes")
    failure.expected = expected
    failure.received = received
    failure.isTransient = true
    return failure
  }
}
