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
  /// The announced size of the body, in bytes.
  package var expected: Int?
  /// The bytes that arrived.
  package var received: Int?
  /// The delay that the origin asked for with `Retry-After`. If it is longer than a second, the engine
  /// has not made another attempt.
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

  /// The failure of an answer whose status means that it brings no picture.
  package static func answer(_ head: ResponseHead, of host: String) -> TransferFailure {
    let isEmpty = (200..<300).contains(head.status) && head.status != 206
    var failure = TransferFailure(
      isEmpty ? .emptyBody : .httpStatus,
      "\(host) answers with status \(head.status)" + (isEmpty ? " and no content" : ""))
    failure.head = head
    return failure
  }

  package var status: Int? { head?.status }

  /// Whether a status is about the moment rather than the thing that was asked for: the same
  /// request may succeed when it is made again soon.
  package static func isTransient(status: Int) -> Bool { [408, 425, 429, 500, 502, 503, 504].contains(status) }
}
