internal import ImgdText

/// The error of a request: a stable code, a sentence for people, details for programs.
package struct WireError: Error, Equatable, Sendable {
  package let code: ReplyCode
  /// Names the value that was wrong and what would be right.
  package let message: String
  package let details: [JSONValue.Member]
  package let isRetryable: Bool

  /// `retryable` overrides the default of the code.
  package init(
    _ code: ReplyCode, _ message: String, details: KeyValuePairs<String, JSONValue> = [:], retryable: Bool? = nil
  ) { self.init(code, message, details: details.map { JSONValue.Member($0.key, $0.value) }, retryable: retryable) }

  package init(_ code: ReplyCode, _ message: String, details: [JSONValue.Member], retryable: Bool? = nil) {
    self.code = code
    self.message = message
    self.details = details
    isRetryable = retryable ?? code.isRetryable
  }

  /// A refusal of a field that a command, or an object at `path`, does not have: with the name that was
  /// probably meant, or all names.
  static func unknownField(_ name: String, of owner: String, path: String = "", known: [String]) -> WireError {
    let sent = Excerpt.of(name)
    let advice =
      nearestName(to: name, among: known).map { ": did you mean \"\($0)\"?" }
      ?? "; it has \(known.joined(separator: ", ")), and ignores x_…"
    return WireError(
      .unknownField, "\"\(owner)\" has no field \"\(sent)\"\(advice)", details: ["field": .string(path + sent)])
  }

  /// A refusal that names one field.
  static func field(_ field: RequestField, _ message: String, code: ReplyCode = .badRequest) -> WireError {
    WireError(code, message, details: ["field": .string(field.name)])
  }

  /// A refusal of text that C would cut short; `place` names the text, if the field does not.
  static func holdsNUL(_ field: RequestField, at place: String? = nil) -> WireError {
    .field(field, "\"\(place ?? field.name)\" has a NUL character, and takes text without")
  }
}
