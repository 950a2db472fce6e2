/// The stable error codes of the protocol. Each comment says the cause and what a client does next.
package enum ReplyCode: String, CaseIterable, Sendable {
  // MARK: The request

  /// The line is not JSON: correct the client, `details.offset` is the place.
  case badJSON = "bad_json"
  /// A field is missing, of the wrong type or out of range: correct the request.
  case badRequest = "bad_request"
  /// There is no such command: use one that the message lists.
  case unknownCommand = "unknown_command"
  /// The command has no such field: correct its name, or begin it with `x_` and it is ignored.
  case unknownField = "unknown_field"
  /// The line is longer than the limit and was skipped: send less in one request.
  case lineTooLong = "line_too_long"
  /// The request concerns what is another user's, or everybody's: only that user, or an administrator, may do that.
  case forbidden
  /// A fetch with this receipt is already running: choose another UUID.
  case duplicateReceipt = "duplicate_receipt"
  /// No result is kept under this receipt, or it was forgotten: fetch again.
  case unknownReceipt = "unknown_receipt"
  /// The connection, or the daemon, has reached its limit: wait for answers, then try again.
  case tooManyRequests = "too_many_requests"
  /// The queue of downloads is full: try again later.
  case queueFull = "queue_full"
  /// The daemon is about to stop: connect again in a moment.
  case shuttingDown = "shutting_down"

  // MARK: The download

  /// The URL is malformed or has a part that is not allowed: correct it.
  case badURL = "bad_url"
  /// Only http and https are fetched: use another program for this URL.
  case blockedScheme = "blocked_scheme"
  /// The daemon may not connect to this address: the operator configures that.
  case blockedAddress = "blocked_address"
  /// No route leads to the origin, and the request does not wait for one: try again when the network is back.
  case offline
  /// The host's name was not found: check it, or try again when the network is back.
  case dns
  /// The origin could not be connected to, or its answer breaks the rules of HTTP: see `retryable`.
  case connect
  /// The origin's certificate or its TLS was refused: trying again does not help.
  case tls
  /// The deadline passed: try again, or allow more time.
  case timeout
  /// The origin answered with an error status: see `details.status`.
  case httpStatus = "http_status"
  /// The body is larger than allowed: raise `max_bytes` up to the server's own limit.
  case tooLarge = "too_large"
  /// The origin redirects again and again: ask for the final URL.
  case tooManyRedirects = "too_many_redirects"
  /// The origin sent no bytes: there is no picture under this URL.
  case emptyBody = "empty_body"
  /// The connection ended before the body did: try again.
  case truncated
  /// A client cancelled it, or a newer fetch took its slot: nothing to do.
  case cancelled
  /// The fetch was limited to the cache, which has no entry: fetch without `only-if-cached`.
  case notCached = "not_cached"

  // MARK: The picture

  /// The body is no picture: nothing was cached, check the URL.
  case notAnImage = "not_an_image"
  /// The picture's format cannot be used that way: ask for the original.
  case unsupportedFormat = "unsupported_format"
  /// The picture has more pixels than may be decoded: ask for its encoded bytes.
  case tooManyPixels = "too_many_pixels"
  /// The picture is damaged: ask for its encoded bytes, or reload it.
  case decodeFailed = "decode_failed"
  /// The decoder crashed on this picture: do not try again, report it.
  case decodeCrashed = "decode_crashed"
  /// The picture is cached but does not fit into a line: fetch it as `path` or `fd`.
  case tooLargeInline = "too_large_inline"

  // MARK: The machine

  /// The disk is full: try again when it has room, or with `store` `memory`.
  case diskFull = "disk_full"
  /// A required part is not installed or is switched off: see `hello.features`.
  case unavailable
  /// A fault in the daemon itself: report it with the daemon's log.
  case `internal`

  /// Whether the same request may succeed later.
  package var isRetryable: Bool {
    switch self {
    case .tooManyRequests, .queueFull, .shuttingDown, .offline, .dns, .connect, .timeout, .truncated, .diskFull: true
    default: false
    }
  }
}
