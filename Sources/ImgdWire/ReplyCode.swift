/// The stable names of everything that can go wrong.
package enum ReplyCode: String, Sendable, CaseIterable {
  // The request.
  case badJSON = "bad_json"
  case badRequest = "bad_request"
  case unknownCommand = "unknown_command"
  case unknownField = "unknown_field"
  case lineTooLong = "line_too_long"
  case forbidden
  case duplicateReceipt = "duplicate_receipt"
  case unknownReceipt = "unknown_receipt"
  case tooManyRequests = "too_many_requests"
  case queueFull = "queue_full"
  case shuttingDown = "shutting_down"

  // The way to the origin, and what it answered.
  case badURL = "bad_url"
  case blockedScheme = "blocked_scheme"
  case blockedAddress = "blocked_address"
  case dns
  case connect
  case tls
  case timeout
  case httpStatus = "http_status"
  case tooLarge = "too_large"
  case tooManyRedirects = "too_many_redirects"
  case emptyBody = "empty_body"
  case truncated
  case cancelled
  case notCached = "not_cached"

  // The picture.
  case notAnImage = "not_an_image"
  case unsupportedFormat = "unsupported_format"
  case tooManyPixels = "too_many_pixels"
  case decodeFailed = "decode_failed"
  case decodeCrashed = "decode_crashed"
  case tooLargeInline = "too_large_inline"

  // The machine.
  case diskFull = "disk_full"
  case unavailable
  case `internal`

  /// Whether the same request may succeed later, unchanged.
  package var isRetryable: Bool {
    switch self {
    case .tooManyRequests, .queueFull, .shuttingDown, .dns, .connect, .timeout, .truncated,
      .diskFull, .internal:
      true
    default: false
    }
  }
}

/// An error as a client sees it.
package struct WireError: Error, Sendable, Equatable {
  package let code: ReplyCode
  /// For people: names what was wrong and what would be right.
  package let message: String
  package let isRetryable: Bool
  package let details: JSONValue

  package init(
    _ code: ReplyCode, _ message: String, details: [(String, JSONValue)] = [],
    isRetryable: Bool? = nil
  ) {
    self.code = code
    self.message = message
    self.isRetryable = isRetryable ?? code.isRetryable
    self.details = .object(details.map { (key: $0.0, value: $0.1) })
  }
}
