package import ImgdWire

/// A parsed line from the daemon: the answer to a command, or an event before it.
package struct Reply: Sendable {
  private let content: JSONValue

  /// Parses a line; a line that is not a JSON object does not come from imgd.
  package init(_ line: [UInt8], from path: String) throws(ConnectionProblem) {
    do throws(JSONSyntaxError) { content = try JSONValue(parsing: line.span, refusingDoubleKeys: false) } catch {
      throw .strange(path: path, what: "its answer is not JSON at byte \(error.offset)")
    }
    if content.object == nil { throw .strange(path: path, what: "its answer is not a JSON object") }
  }

  private init(content: JSONValue) { self.content = content }

  /// The names of the fields, in the order of the line.
  package var fields: [String] { content.object?.map { $0.name } ?? [] }

  /// The fields with their values, in the same order.
  package var members: [JSONValue.Member] { content.object ?? [] }

  /// Whether the command succeeded; nil in an event, which does not end a command.
  package var succeeded: Bool? { content["ok"]?.bool }

  /// The `id` of the request, if it is a number.
  package var id: Int? { number("id") }

  /// The kind of event, if the line is one.
  package var event: String? { text("event") }

  /// The stable name of the error.
  package var errorCode: String? { object("error")?.text("code") }

  /// Whether the same request may succeed later.
  package var isRetryable: Bool { object("error")?.content["retryable"]?.bool ?? false }

  /// The error's sentence for people.
  package var errorMessage: String? { object("error")?.text("message") }

  /// A field that is a string.
  package func text(_ field: String) -> String? { content[field]?.string }

  /// A field that is a whole number.
  package func number(_ field: String) -> Int? { content[field]?.integer.map(Int.init) }

  /// A field that is a number, whole or not.
  package func fraction(_ field: String) -> Double? { content[field]?.double }

  /// A field that is true or false.
  package func flag(_ field: String) -> Bool? { content[field]?.bool }

  /// The whole line as JSON text.
  package var json: String { content.encoded() }

  /// A field that is an object.
  package func object(_ field: String) -> Reply? { content[field].flatMap(Self.object) }

  /// The objects in a field that is an array.
  package func objects(_ field: String) -> [Reply]? { content[field]?.array?.compactMap(Self.object) }

  /// The strings in a field that is an array.
  package func texts(_ field: String) -> [String]? { content[field]?.array?.compactMap { $0.string } }

  /// The whole numbers in a field that is an array.
  package func numbers(_ field: String) -> [Int]? { content[field]?.array?.compactMap { $0.integer.map(Int.init) } }

  /// A field as text for people; a dash if the field is missing.
  package func display(_ field: String) -> String { content[field]?.display ?? "-" }

  private static func object(_ value: JSONValue) -> Reply? { value.object == nil ? nil : Reply(content: value) }
}

extension JSONValue {
  fileprivate var display: String {
    switch self {
    case .null: "-"
    case .bool(let value): value ? "yes" : "no"
    case .integer(let value): String(value)
    case .number(let value): String(value)
    case .string(let text): text
    case .array(let items): items.map { $0.display }.joined(separator: " ")
    case .object(let members): members.map { "\($0.name)=\($0.value.display)" }.joined(separator: " ")
    }
  }
}
