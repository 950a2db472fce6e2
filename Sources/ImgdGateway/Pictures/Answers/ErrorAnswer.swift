package import ImgdConnection
internal import ImgdWire

/// A failure as HTTP has it: a status, and an object of JSON for programs and people.
package struct ErrorAnswer {
  private let error: GatewayError
  /// How many seconds to wait before the next attempt; nil where waiting is no help.
  private let retryAfter: Int?
  /// The members of `details`.
  private let details: [JSONValue.Member]

  /// A refusal of the gateway's own.
  package init(_ error: GatewayError) {
    self.init(error, retryAfter: [429, 503].contains(error.status) ? 1 : nil)
  }

  private init(
    _ error: GatewayError, retryAfter: Int?, details: [JSONValue.Member] = []
  ) {
    self.error = error
    self.retryAfter = retryAfter
    self.details = details
  }

  /// A failure that the daemon tells.
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
      details: Self.shown(details))
  }

  /// No connection to the daemon; why that is so is nothing for strangers.
  package static var unreachable: ErrorAnswer {
    ErrorAnswer(
      GatewayError(
        503, "unavailable", "imgd cannot be reached: try again in a moment", isRetryable: true))
  }

  /// The daemon did not answer in time.
  package static var silent: ErrorAnswer {
    ErrorAnswer(GatewayError(504, "timeout", "imgd did not answer in time", isRetryable: true))
  }

  /// The answer, with further header fields.
  package func response(
    adding fields: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    var all: [(name: String, value: String)] = [
      ("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff"),
      ("Cache-Control", "no-store"),
    ]
    if let retryAfter { all.append(("Retry-After", String(retryAfter))) }
    return HTTPResponse(status: error.status, fields: all + fields, body: .bytes(json))
  }

  private var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.object("error") { writer in
      writer.field("code", error.code)
      writer.field("message", error.message)
      writer.field("retryable", error.isRetryable)
      if let field = error.field { writer.field("field", field) }
      if !details.isEmpty {
        writer.name("details")
        writer.object(details)
      }
    }
    writer.endObject()
    writer.newline()
    return writer.bytes
  }

  // MARK: What strangers hear

  /// In place of a message that names an address of the inner network.
  private static func message(_ code: ReplyCode) -> String? {
    code == .blockedAddress ? "the host is at an address that imgd may not connect to" : nil
  }

  private static func shown(_ details: Reply?) -> [JSONValue.Member] {
    details?.members.filter { $0.name != "address" && $0.name != "field" } ?? []
  }

  private static func seconds(_ milliseconds: Int?) -> Int {
    guard let milliseconds, milliseconds > 0 else { return 1 }
    return (milliseconds - 1) / 1_000 + 1
  }
}
