import ImgdWire

/// One line of the daemon's, read: the answer to a command, or an event on the way.
package struct Reply {
  private let content: JSONValue

  /// Reads a line; what is no object does not come from imgd.
  package init(_ line: [UInt8], from path: String) throws(ConnectionProblem) {
    do throws(JSONSyntaxError) {
      content = try JSONValue(parsing: line.span)
    } catch {
      throw .strange(path: path, what: "its answer is not JSON at byte \(error.offset)")
    }
    if content.object == nil { throw .strange(path: path, what: "its answer is no JSON object") }
  }

  private init(content: JSONValue) {
    self.content = content
  }

  /// The names of the fields, in the order in which they came.
  package var fields: [String] { content.object?.map(\.name) ?? [] }

  /// Whether the command went well; nil in an event, which ends nothing.
  package var succeeded: Bool? { content["ok"]?.bool }

  /// The number that the request carried.
  package var id: Int? { number("id") }

  /// What kind of news this is, where it is news.
  package var event: String? { text("event") }

  /// The stable name of what went wrong.
  package var errorCode: String? { object("error")?.text("code") }

  /// What went wrong, for people.
  package var errorMessage: String? { object("error")?.text("message") }

  /// A field that is a text.
  package func text(_ field: String) -> String? {
    content[field]?.string
  }

  /// A field that is a whole number.
  package func number(_ field: String) -> Int? {
    content[field]?.integer.map(Int.init)
  }

  /// A field that is an object.
  package func object(_ field: String) -> Reply? {
    content[field].flatMap(Self.object)
  }

  /// A field that is a list, with the objects in it.
  package func objects(_ field: String) -> [Reply]? {
    content[field]?.array?.compactMap(Self.object)
  }

  /// A field that is a list, with the texts in it.
  package func texts(_ field: String) -> [String]? {
    content[field]?.array?.compactMap(\.string)
  }

  /// A field as people read it; a dash where there is nothing.
  package func display(_ field: String) -> String {
    content[field]?.display ?? "-"
  }

  private static func object(_ value: JSONValue) -> Reply? {
    value.object == nil ? nil : Reply(content: value)
  }
}

extension JSONValue {
  fileprivate var display: String {
    switch self {
    case .null: "-"
    case .bool(let value): value ? "yes" : "no"
    case .integer(let value): String(value)
    case .number(let value): String(value)
    case .string(let text): text
    case .array(let items): items.map(\.display).joined(separator: " ")
    case .object(let members):
      members.map { "\($0.name)=\($0.value.display)" }.joined(separator: " ")
    }
  }
}
