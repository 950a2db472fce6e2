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
