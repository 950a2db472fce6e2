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

  /// A refusal of a field that a command, or an object at `path`, does not have, with what was probably meant.
  static func unknownField(_ name: String, of owner: String, path: String = "", known: [String]) -> WireError {
    let sent = Excerpt.of(name)
    let advice =
      nearestName(to: name, among: known).map { ": did you mean \"\($0)\"?" }
      ?? "; it has \(known.joined(separator: ", ")), and ignores x_…"
    return WireError(
      .unknownField, "\"\(owner)\" has no field \"\(sent)\"\(advice)", details: ["field": .string(path + sent)])
  }

  static func field(_ field: RequestField, _ message: String, code: ReplyCode = .badRequest) -> WireError {
    WireError(code, message, details: ["field": .string(field.name)])
  }

  /// A refusal of text that C would cut short; `place` names the text, if the field does not.
  static func holdsNUL(_ field: RequestField, at place: String? = nil) -> WireError {
    .field(field, "\"\(place ?? field.name)\" has a NUL character, and takes text without")
  }
}

/// The values that a field takes, as an error message names them.
enum WantedValue {
  case string(ClosedRange<Int>)
  case url
  case flag
  /// A whole number; of a unit, if the field has one.
  case integer(ClosedRange<Int>, of: String?)
  case oneOf([String])
  case receipt
  case id
  case text(String)

  var description: String {
    switch self {
    case .string(let lengths): "a string of \(Self.text(lengths)) bytes"
    case .url: "an http or https URL"
    case .flag: "true or false"
    case .integer(let range, let unit): Self.number(range, unit)
    case .oneOf(let names): alternatives(names.map { "\"\($0)\"" })
    case .receipt: "a UUID like \"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11\""
    case .id: "a whole number of 64 bits or a string of at most \(WireLimits.id) bytes"
    case .text(let text): text
    }
  }

  /// A sentence about a wrong value: what it was, and what was probably meant or would be right.
  func complaint(about name: String, sent: SentValue) -> String {
    switch (self, sent.string) {
    case (.oneOf(let names), let word?):
      if let meant = nearestName(to: word, among: names) {
        return "\"\(name)\" was \(sent.excerpt): did you mean \"\(meant)\"?"
      }
    case (.string, ""?): return "\"\(name)\" is empty; it takes \(description)"
    case (.string, let long?): return "\"\(name)\" has \(long.utf8.count) bytes; it takes \(description)"
    default: break
    }
    return "\"\(name)\" was \(sent.excerpt); it takes \(description)"
  }

  private static func text(_ lengths: ClosedRange<Int>) -> String {
    let least = lengths.lowerBound == 0 ? "at most" : "\(lengths.lowerBound) to"
    return "\(least) \(lengths.upperBound)"
  }

  private static func number(_ range: ClosedRange<Int>, _ unit: String?) -> String {
    let kind = unit.map { "a whole number of \($0)" } ?? "a whole number"
    let end = range.upperBound == .max ? " upwards" : " to \(range.upperBound)"
    return "\(kind) from \(range.lowerBound)\(end)"
  }
}

struct SentValue {
  /// Its source in JSON, short enough for a message.
  let excerpt: String
  let string: String?

  init(_ value: JSONValue) {
    excerpt = Excerpt.of(value.encoded())
    string = value.string
  }

  init(_ token: JSONToken, in line: Span<UInt8>) {
    excerpt = Excerpt.of(line.extracting(token.sourceRange))
    string = token.kind == .string ? token.string(in: line) : nil
  }
}

/// The beginning of a client's text, short enough for a message and without the password of a URL.
package enum Excerpt {
  private static let longest = 80

  static func of(_ text: Span<UInt8>) -> String {
    // The buffer is only read while the span is borrowed.
    of(unsafe text.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) })
  }

  /// At most 80 bytes of a text, cut between characters.
  package static func of(_ text: String) -> String {
    let shown = withoutUserInfo(text)
    guard shown.utf8.count > longest else { return shown }
    let end = shown.utf8.index(shown.startIndex, offsetBy: longest)
    return shown[..<shown.unicodeScalars.index(before: shown.unicodeScalars.index(after: end))] + "…"
  }
}
