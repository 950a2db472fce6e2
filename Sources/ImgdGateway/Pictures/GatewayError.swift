package import ImgdConnection
package import ImgdWire

/// A refusal: an answer with a status and a small object of JSON.
package struct GatewayError: Error, Equatable {
  package let status: Int
  /// One of the codes of the protocol, or one of the gateway's own: `not_found`, `method_not_allowed`,
  /// `not_allowed`, `bad_signature`, `expired`, `range_not_satisfiable`, `precondition_failed`.
  package let code: String
  /// A sentence for people: the wrong value, and what would be right.
  package let message: String
  package let isRetryable: Bool
  /// The query parameter or option that is wrong.
  package var field: String?

  package init(_ status: Int, _ code: String, _ message: String, isRetryable: Bool = false, field: String? = nil) {
    self.status = status
    self.code = code
    self.message = message
    self.isRetryable = isRetryable
    self.field = field
  }

  /// A request that cannot be understood.
  static func badRequest(_ message: String, field: String? = nil) -> GatewayError {
    GatewayError(400, "bad_request", message, field: field)
  }

  /// No answer from the daemon; the reason names its socket, and is not shown to strangers.
  static var unreachable: GatewayError {
    GatewayError(503, "unavailable", "imgd cannot be reached: try again in a moment", isRetryable: true)
  }

  /// Writes the object that an answer has under `error`.
  package func write(to line: inout JSONWriter, details: [JSONValue.Member] = []) {
    line.object("error") { line in
      line.field("code", code)
      line.field("message", message)
      line.field("retryable", isRetryable)
      if let field { line.field("field", field) }
      guard !details.isEmpty else { return }
      line.name("details")
      line.object(details)
    }
  }
}

/// A failure in terms of HTTP: a status, and an object of JSON for programs and people.
package struct ErrorAnswer {
  private let error: GatewayError
  /// How many seconds to wait before the next attempt; nil where waiting does not help.
  private let retryAfter: Int?
  private let details: [JSONValue.Member]
  /// Nil for a request that no cache was asked for (RFC 9211, 2).
  let cacheStatus: CacheStatus?

  var status: Int { error.status }
  /// Whether a picture may stand in for it: the target was right, and the daemon has reported that it ends so.
  private(set) var permitsFallback = false

  var retryFields: HTTPResponse.Fields { retryAfter.map { [("Retry-After", String($0))] } ?? [] }

  /// A refusal of the gateway's own.
  package init(_ error: GatewayError) { self.init(error, cacheStatus: nil) }

  private init(_ error: GatewayError, cacheStatus: CacheStatus?) {
    self.error = error
    self.cacheStatus = cacheStatus
    retryAfter = [429, 503].contains(error.status) ? 1 : nil
    details = []
  }

  /// A failure that the daemon reports.
  package init(_ reply: Reply) {
    let told = reply.object("error")
    let code = told?.text("code").flatMap { ReplyCode(rawValue: $0) } ?? .internal
    let details = told?.object("details")
    let status = ErrorStatus.status(of: code, origin: details?.number("status"))
    // A message with an address of the inner network is not for strangers.
    let message =
      code == .blockedAddress
      ? "the host is at an address that imgd may not connect to" : reply.errorMessage ?? "imgd has failed"
    error = GatewayError(
      status, code.rawValue, message, isRetryable: reply.isRetryable, field: details?.text("field"))
    retryAfter = status == 503 ? Self.seconds(details?.number("retry_after_ms")) : nil
    cacheStatus = CacheStatus(ofFailure: code.rawValue, details)
    permitsFallback = ![400, 414].contains(status)
    self.details = details?.members.filter { Self.shown.contains($0.name) } ?? []
  }

  /// The answer without a connection to the daemon; the reason is not shown to strangers.
  package static var unreachable: ErrorAnswer { ErrorAnswer(failure: .unreachable) }

  /// The answer if the daemon did not answer in time.
  package static var silent: ErrorAnswer {
    ErrorAnswer(failure: GatewayError(504, "timeout", "imgd did not answer in time", isRetryable: true))
  }

  private init(failure: GatewayError) { self.init(failure, cacheStatus: CacheStatus(ofFailure: failure.code)) }

  /// The answer, with further header fields.
  package func response(adding fields: HTTPResponse.Fields = []) -> HTTPResponse {
    var all: HTTPResponse.Fields = [
      ("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"),
    ]
    if let cacheStatus { all.append((CacheStatus.field, cacheStatus.text)) }
    all += retryFields
    var writer = JSONWriter()
    writer.object { error.write(to: &$0, details: details) }
    writer.newline()
    return HTTPResponse(status: error.status, fields: all + fields, body: .bytes(writer.bytes))
  }

  /// The details that strangers may see: no addresses of the inner network, no receipts of others, and nothing that
  /// only later daemons report.
  private static let shown = [
    "status", "phase", "limit", "retry_after_ms", "expected", "received", "cached", "age", "stale",
  ]

  private static func seconds(_ milliseconds: Int?) -> Int {
    guard let milliseconds, milliseconds > 0 else { return 1 }
    return (milliseconds - 1) / 1_000 + 1
  }
}

/// The status of HTTP for each failure of the daemon.
enum ErrorStatus {
  /// The status for a code; `origin` is the status of the origin's answer, if that is the failure.
  static func status(of code: ReplyCode, origin: Int?) -> Int {
    switch code {
    case .badRequest, .badURL, .blockedScheme, .unknownField, .badJSON: 400
    case .blockedAddress, .forbidden: 403
    case .lineTooLong: 414
    case .tooLarge, .notAnImage, .unsupportedFormat, .tooManyPixels, .decodeFailed, .decodeCrashed: 422
    case .dns, .connect, .tls, .truncated, .emptyBody, .tooManyRedirects: 502
    case .tooManyRequests, .queueFull, .shuttingDown, .offline, .unavailable, .diskFull, .cancelled: 503
    case .timeout: 504
    case .httpStatus: status(ofOrigin: origin ?? 0)
    case .internal, .unknownCommand, .duplicateReceipt, .unknownReceipt, .notCached, .tooLargeInline: 500
    }
  }

  /// What an origin says about a picture is true here as well; what it says about imgd's request is not.
  private static func status(ofOrigin status: Int) -> Int {
    switch status {
    case 404, 410: status
    case 401, 403, 451: 403
    case 429: 503
    default: 502
    }
  }
}
