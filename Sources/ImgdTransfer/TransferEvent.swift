package import ImgdSystem

/// An event of a transfer. The last one is always `finished`, unless the transfer is aborted.
package enum TransferEvent: Sendable {
  /// The headers of the final response have arrived. `expected` is nil when the origin does not state the length of
  /// the body, or sends it encoded. Repeated when a body that broke off is fetched from its start again, but not when
  /// it is continued: progress then goes on over the whole body. Left out when the whole body has arrived with them.
  case headers(serial: UInt64, expected: Int?)
  /// At most ten per second; the final count comes with the outcome.
  case progress(serial: UInt64, received: Int, expected: Int?)
  case finished(serial: UInt64, TransferOutcome)
}

/// The result of a transfer.
package enum TransferOutcome: Sendable {
  case received(TransferResult)
  /// The origin answers with another URL. Its body is not read.
  case redirected(TransferRedirect)
  case failed(TransferFailure)

  /// The head of the answer that ended it; nil where none came whole.
  package var head: ResponseHead? {
    switch self {
    case .received(let result): result.head
    case .redirected(let redirect): redirect.head
    case .failed(let failure): failure.head
    }
  }
}

/// A response that was fetched whole.
package struct TransferResult: Sendable {
  /// The body, decoded; empty when the origin confirmed what the order was conditional on (304).
  package let payload: Payload
  package let head: ResponseHead
  /// The number of failed attempts before.
  package let retries: Int
  /// The bytes that the last attempt continued from; 0 when it began from the start.
  package let resumedFrom: Int
  /// The length of the body as its headers announced it.
  package let expected: Int?
  /// Whether it has come from a public address, or from one that only a proxy knows.
  package var isFromPublicAddress = false

  /// The size of the body, decoded.
  package var bytesReceived: Int { payload.count }
}

/// A redirect, which the engine reports and does not follow.
package struct TransferRedirect: Sendable {
  package let head: ResponseHead
  /// The URL that it leads to, absolute, without user, password and fragment.
  package let target: String
  /// Whether a public address sent it: then it must not lead to a private one.
  package let isFromPublicAddress: Bool
  /// The number of failed attempts before.
  package let retries: Int
}

/// The head of the final response.
package struct ResponseHead: Sendable, Equatable {
  package let status: Int
  /// Names in lower case, in the order of arrival, each once: repeated ones are joined by `, `.
  package let headers: [HeaderField]
  /// The time from the beginning of the exchange, which may have had to connect, to the first line of the answer.
  package var firstByteAfter: Duration?

  package init(status: Int, headers: [HeaderField]) {
    self.status = status
    self.headers = headers
  }

  /// The value of a header, by its lower-case name.
  package subscript(name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// The failure of a transfer.
package struct TransferFailure: Error, Sendable {
  /// The kind of failure, for a switch over all cases.
  package enum Kind: Sendable, Hashable {
    case badURL, blockedScheme, blockedAddress
    case dns, connect, tls
    /// With the phase that took too long, by its own limit or by that of the whole transfer.
    case timeout(TransferPhase)
    case httpStatus
    case tooLarge, emptyBody, truncated
    /// The origin's answer has a head that breaks the rules of HTTP, or is too long.
    case badAnswer
    case cancelled
    /// Out of descriptors or memory.
    case unavailable
    case `internal`
  }

  package let kind: Kind
  /// For people: names the host, the limit and the cause. Never a query string.
  package let message: String
  /// The address that was refused.
  package var address: String?
  /// The limit that was exceeded: `maxBytes`.
  package var limit: Int?
  /// The time that was exceeded.
  package var timeLimit: Duration?
  /// The announced size of the body, in bytes.
  package var expected: Int?
  /// The bytes that arrived.
  package var received: Int?
  /// The delay that the origin asked for with `Retry-After`; the engine waits for no more than a second.
  package var retryAfter: Duration?
  /// The final response, when `kind` is `httpStatus` or `emptyBody`.
  package var head: ResponseHead?
  /// How many attempts were made after the first.
  package var retries = 0
  /// Whether the same request may succeed when it is made again soon.
  var isTransient = false

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// The failure of a transfer that waited for too long.
  static func timeout(_ phase: TransferPhase, of host: String, after limit: Duration) -> TransferFailure {
    var failure = TransferFailure(.timeout(phase), phase.complaint(about: host, after: limit))
    failure.timeLimit = limit
    return failure
  }

  /// The failure of an answer whose status means that it brings no picture.
  package static func answer(_ head: ResponseHead, of host: String, remark: String = "") -> TransferFailure {
    let isEmpty = (200..<300).contains(head.status) && head.status != 206
    var failure = TransferFailure(
      isEmpty ? .emptyBody : .httpStatus,
      "\(host) answers with status \(head.status)" + (isEmpty ? " and no content" : "") + remark)
    failure.head = head
    return failure
  }

  package var status: Int? { head?.status }

  /// Whether a status is about the moment, so that the same request may succeed when it is made again soon.
  package static func isTransient(status: Int) -> Bool { [408, 425, 429, 500, 502, 503, 504].contains(status) }
}
