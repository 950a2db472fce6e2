internal import ImgdText

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

/// A value as a client has sent it.
struct SentValue {
  /// Its source in JSON, short enough for a message.
  let excerpt: String
  /// Its text, if it is a string.
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
