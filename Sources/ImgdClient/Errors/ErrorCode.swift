/// The stable name of what went wrong, as docs/protocol.md explains it.
public enum ErrorCode: Hashable, Sendable {
  // MARK: The request

  /// A line was not JSON: a fault of this library.
  case badJSON
  /// A value is out of range or of the wrong form; `details.field` names it.
  case badRequest
  /// The daemon is older than this library, and lacks the command.
  case unknownCommand
  /// The daemon is older than this library, and lacks the option in `details.field`.
  case unknownField
  /// The request does not fit into a line that the daemon accepts, 64 KiB unless configured otherwise.
  case lineTooLong
  /// The fetch belongs to another user.
  case forbidden
  /// The receipt belongs to another fetch.
  case duplicateReceipt
  /// The daemon keeps no outcome for the receipt, or has forgotten it.
  case unknownReceipt
  /// More is under way than one connection or one user may have; `details.limit`.
  case tooManyRequests
  /// More is under way than the daemon accepts from all clients together.
  case queueFull
  /// The daemon is about to stop.
  case shuttingDown

  // MARK: The download

  /// The URL cannot be fetched: it has no host, for example.
  case badURL
  /// The URL is neither http nor https, or redirects to one that is not.
  case blockedScheme
  /// The daemon may not connect to the host; `details.address`.
  case blockedAddress
  /// The host has no address.
  case dns
  /// The origin could not be connected to, or broke the rules of HTTP.
  case connect
  /// The origin has no certificate that can be verified, or no secure connection.
  case tls
  /// The fetch took too long; `details.phase` says in which step.
  case timeout
  /// The origin answered with an error; `details.status`.
  case httpStatus
  /// The picture is larger than was accepted; `details.limit`.
  case tooLarge
  /// The origin redirects without end.
  case tooManyRedirects
  /// The origin answered with nothing.
  case emptyBody
  /// The connection to the origin ended too early.
  case truncated
  /// Somebody else has cancelled the fetch; a task that was cancelled gets a `CancellationError`.
  case cancelled
  /// The cache has no entry, and nothing else was asked for.
  case notCached

  // MARK: The picture

  /// The body is not a picture that imgd knows.
  case notAnImage
  /// The format is excluded, or the decoder of the machine lacks it.
  case unsupportedFormat
  /// The picture is beyond the limits for decoding.
  case tooManyPixels
  /// The picture is damaged.
  case decodeFailed
  /// The decoder crashed on the picture.
  case decodeCrashed
  /// The picture is too large for a line: this library asks for none in lines.
  case tooLargeInline

  // MARK: The machine

  /// The disk is full.
  case diskFull
  /// The daemon does not support the request, or not on this machine.
  case unavailable
  /// A fault of the daemon.
  case `internal`

  /// A code of a later release.
  case other(String)

  private static let names: [(code: ErrorCode, name: String)] = [
    (.badJSON, "bad_json"),
    (.badRequest, "bad_request"),
    (.unknownCommand, "unknown_command"),
    (.unknownField, "unknown_field"),
    (.lineTooLong, "line_too_long"),
    (.forbidden, "forbidden"),
    (.duplicateReceipt, "duplicate_receipt"),
    (.unknownReceipt, "unknown_receipt"),
    (.tooManyRequests, "too_many_requests"),
    (.queueFull, "queue_full"),
    (.shuttingDown, "shutting_down"),
    (.badURL, "bad_url"),
    (.blockedScheme, "blocked_scheme"),
    (.blockedAddress, "blocked_address"),
    (.dns, "dns"),
    (.connect, "connect"),
    (.tls, "tls"),
    (.timeout, "timeout"),
    (.httpStatus, "http_status"),
    (.tooLarge, "too_large"),
    (.tooManyRedirects, "too_many_redirects"),
    (.emptyBody, "empty_body"),
    (.truncated, "truncated"),
    (.cancelled, "cancelled"),
    (.notCached, "not_cached"),
    (.notAnImage, "not_an_image"),
    (.unsupportedFormat, "unsupported_format"),
    (.tooManyPixels, "too_many_pixels"),
    (.decodeFailed, "decode_failed"),
    (.decodeCrashed, "decode_crashed"),
    (.tooLargeInline, "too_large_inline"),
    (.diskFull, "disk_full"),
    (.unavailable, "unavailable"),
    (.internal, "internal"),
  ]

  private static let byName = Dictionary(uniqueKeysWithValues: names.map { ($0.name, $0.code) })
  private static let byCode = Dictionary(uniqueKeysWithValues: names.map { ($0.code, $0.name) })

  /// The code with that name in the protocol: `not_cached`, for example.
  public init(name: String) { self = Self.byName[name] ?? .other(name) }

  /// The name in the protocol.
  public var name: String { if case .other(let name) = self { name } else { Self.byCode[self] ?? "" } }
}
