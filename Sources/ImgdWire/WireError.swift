/// The error of a request: a stable code, a sentence for people, details for programs.
package struct WireError: Error, Equatable, Sendable {
  package let code: ReplyCode
  /// Names the value that was wrong and what would be right.
  package let message: String
  package let details: [JSONValue.Member]
  package let isRetryable: Bool

  /// `retryable` overrides the default of the code.
  package init(
    _ code: ReplyCode, _ message: String, details: KeyValuePairs<String, JSONValue> = [:],
    retryable: Bool? = nil
  ) {
    self.init(
      code, message, details: details.map { JSONValue.Member($0.key, $0.value) },
      retryable: retryable)
  }

  package init(
    _ code: ReplyCode, _ message: String, details: [JSONValue.Member], retryable: Bool? = nil
  ) {
    self.code = code
    self.message = message
    self.details = details
    isRetryable = retryable ?? code.isRetryable
  }

  /// A refusal that names one field.
  static func field(
    _ field: RequestField, _ message: String, code: ReplyCode = .badRequest
  ) -> WireError {
    WireError(code, message, details: ["field": .string(field.name)])
  }
}
