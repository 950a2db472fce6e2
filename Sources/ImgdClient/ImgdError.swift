internal import ImgdConnection

/// The daemon's refusal of a request, or its failure to carry it out.
public struct ImgdError: Error, Sendable, CustomStringConvertible {
  /// Further facts; each is nil where the error has none of its kind.
  public struct Details: Sendable {
    /// The origin's HTTP status.
    public let status: Int?
    /// The step that took too long: `queue` or `first_byte`, for example.
    public let phase: String?
    /// The field of the request that is wrong.
    public let field: String?
    /// The limit that was passed.
    public let limit: Int?
    /// The address to which the daemon may not connect.
    public let address: String?
    /// How long the origin asks to be left alone.
    public let retryAfter: Duration?
    /// Whether the daemon remembered the error, and asked nobody.
    public let isCached: Bool
    /// All details as JSON text.
    public let json: String

    init(_ details: Reply?) {
      status = details?.number("status")
      phase = details?.text("phase")
      field = details?.text("field")
      limit = details?.number("limit")
      address = details?.text("address")
      retryAfter = details?.number("retry_after_ms").map { .milliseconds($0) }
      isCached = details?.flag("cached") ?? false
      json = details?.json ?? "{}"
    }
  }

  /// The stable name of the error.
  public let code: ErrorCode
  /// A sentence for people: the wrong value, and what would be right.
  public let message: String
  /// Whether the same request may succeed later.
  public let isRetryable: Bool
  /// Further facts.
  public let details: Details

  /// The message and its code.
  public var description: String { "\(message) (\(code.name))" }

  init(_ reply: Reply) {
    let error = reply.object("error")
    code = ErrorCode(name: error?.text("code") ?? "")
    message = error?.text("message") ?? ""
    isRetryable = error?.flag("retryable") ?? false
    details = Details(error?.object("details"))
  }

  /// An error that this library itself finds.
  init(_ code: ErrorCode, _ message: String) {
    self.code = code
    self.message = message
    isRetryable = false
    details = Details(nil)
  }
}

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
  /// No route leads to the origin, and the fetch does not wait for one; `details.host`.
  case offline
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
    (.offline, "offline"),
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

/// The reason why no answer came from the daemon.
public enum ConnectionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// There is no socket: the daemon does not run, or listens on another path.
  case noSocket(path: String)
  /// Nobody listens on the socket: the daemon does not run.
  case notListening(path: String)
  /// The user may not use the socket; the remedy says who may.
  case notPermitted(path: String, remedy: String)
  /// The daemon closed the connection before it answered: it may or may not have carried out the request.
  case closed(path: String)
  /// The other end does not speak imgd's protocol.
  case unexpected(path: String, what: String)
  /// The connection failed in another way.
  case failed(path: String, reason: String)
  /// `close` was called.
  case clientClosed

  init(_ problem: ConnectionProblem) {
    self =
      switch problem {
      case .noSocket(let path): .noSocket(path: path)
      case .notListening(let path): .notListening(path: path)
      case .notPermitted(let path, let remedy): .notPermitted(path: path, remedy: remedy)
      case .closed(let path), .silent(let path): .closed(path: path)
      case .strange(let path, let what): .unexpected(path: path, what: what)
      case .failed(let path, let reason): .failed(path: path, reason: reason)
      }
  }

  private var problem: ConnectionProblem? {
    switch self {
    case .noSocket(let path): .noSocket(path: path)
    case .notListening(let path): .notListening(path: path)
    case .notPermitted(let path, let remedy): .notPermitted(path: path, remedy: remedy)
    case .closed(let path): .closed(path: path)
    case .unexpected(let path, let what): .strange(path: path, what: what)
    case .failed(let path, let reason): .failed(path: path, reason: reason)
    case .clientClosed: nil
    }
  }

  /// A sentence for people, with the remedy where there is one.
  public var description: String { problem?.description ?? "the client was closed by this program" }
}
