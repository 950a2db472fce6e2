package import ImgdConnection
internal import ImgdWire

/// A failure in terms of HTTP: a status, and an object of JSON for programs and people.
package struct ErrorAnswer {
  private let error: GatewayError
  /// How many seconds to wait before the next attempt; nil where waiting does not help.
  private let retryAfter: Int?
  /// The members of `details`.
  private let details: [JSONValue.Member]

  /// A refusal of the gateway's own.
  package init(_ error: GatewayError) { self.init(error, retryAfter: [429, 503].contains(error.status) ? 1 : nil) }

  private init(_ error: GatewayError, retryAfter: Int?, details: [JSONValue.Member] = []) {
    self.error = error
    self.retryAfter = retryAfter
    self.details = details
  }

  /// A failure that the daemon reports.
  package init(_ reply: Reply) {
    let told = reply.object("error")
    let code = told?.text("code").flatMap { ReplyCode(rawValue: $0) } ?? .internal
    let details = told?.object("details")
    let status = ErrorStatus.status(of: code, origin: details?.number("status"))
    self.init(
      GatewayError(
        status, code.rawValue, Self.message(code) ?? reply.errorMessage ?? "imgd has failed",
        isRetryable: reply.isRetryable, field: details?.text("field")),
      retryAfter: status == 503 ? Self.seconds(details?.number("retry_after_ms")) : nil,
      details: details?.members.filter { Self.shown.contains($0.name) } ?? [])
  }

  /// The answer without a connection to the daemon; the reason is not shown to strangers.
  package static var unreachable: ErrorAnswer { ErrorAnswer(.unreachable) }

  /// The answer if the daemon did not answer in time.
  package static var silent: ErrorAnswer {
    ErrorAnswer(GatewayError(504, "timeout", "imgd did not answer in time", isRetryable: true))
  }

  /// The answer, with further header fields.
  package func response(adding fields: [(name: String, value: String)] = []) -> HTTPResponse {
    var all: [(name: String, value: String)] = [
      ("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"),
    ]
    if let retryAfter { all.append(("Retry-After", String(retryAfter))) }
    return HTTPResponse(status: error.status, fields: all + fields, body: .bytes(json))
  }

  private var json: [UInt8] {
    var writer = JSONWriter()
    writer.object { error.write(to: &$0, details: details) }
    writer.newline()
    return writer.bytes
  }

  // MARK: What strangers hear

  /// The message that replaces one with an address of the inner network; nil for any other code.
  private static func message(_ code: ReplyCode) -> String? {
    code == .blockedAddress ? "the host is at an address that imgd may not connect to" : nil
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

extension GatewayError {
  /// No answer from the daemon; the reason names its socket, and is not shown to strangers.
  static var unreachable: GatewayError {
    GatewayError(503, "unavailable", "imgd cannot be reached: try again in a moment", isRetryable: true)
  }
}
