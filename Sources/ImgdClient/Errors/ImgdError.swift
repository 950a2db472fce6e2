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
