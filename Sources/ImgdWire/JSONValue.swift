/// JSON as a tree, for those who read answers; the daemon's own way does without.
package enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  /// The members in the order in which they stand.
  case object([(key: String, value: JSONValue)])

  package init(parsing bytes: [UInt8]) throws(JSONProblem) {
    let span = bytes.span
    var scanner = JSONScanner()
    scanner.skipSpace(span)
    let token = try scanner.scanValue(span)
    try scanner.expectEnd(span)
    self = Self.build(token, of: span)
  }

  package init(parsing text: String) throws(JSONProblem) {
    try self.init(parsing: Array(text.utf8))
  }

  package static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.integer(let one), .integer(let other)): one == other
    case (.number(let one), .number(let other)): one == other
    case (.string(let one), .string(let other)): one == other
    case (.array(let one), .array(let other)): one == other
    case (.object(let one), .object(let other)):
      one.count == other.count && one.allSatisfy { member in right[member.key] == member.value }
    default: false
    }
  }

  // MARK: Looking in

  package subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  package subscript(index: Int) -> JSONValue? {
    guard case .array(let elements) = self, elements.indices ~= index else { return nil }
    return elements[index]
  }

  package var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  package var integer: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  package var double: Double? {
    switch self {
    case .number(let value): value
    case .integer(let value): Double(value)
    default: nil
    }
  }

  package var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  package var array: [JSONValue]? {
    if case .array(let value) = self { value } else { nil }
  }

  package var members: [(key: String, value: JSONValue)]? {
    if case .object(let value) = self { value } else { nil }
  }

  // MARK: Building

  /// Depth is bounded by the scanner, which has been over it.
  private static func build(_ token: JSONToken, of bytes: Span<UInt8>) -> JSONValue {
    switch token.kind {
    case .null: .null
    case .true: .bool(true)
    case .false: .bool(false)
    case .string: .string(token.string(in: bytes))
    case .integer, .number: number(token, of: bytes)
    case .array: array(token, of: bytes)
    case .object: object(token, of: bytes)
    }
  }

  private static func number(_ token: JSONToken, of bytes: Span<UInt8>) -> JSONValue {
    if token.kind == .integer, let value = token.integer(in: bytes) { return .integer(value) }
    return token.number(in: bytes).map { .number($0) } ?? .null
  }

  private static func array(_ token: JSONToken, of bytes: Span<UInt8>) -> JSONValue {
    var elements: [JSONToken] = []
    var scanner = JSONScanner(at: token.start)
    try? scanner.scanElements(bytes, depth: 0) { elements.append($0) }
    return .array(elements.map { build($0, of: bytes) })
  }

  private static func object(_ token: JSONToken, of bytes: Span<UInt8>) -> JSONValue {
    var members: [JSONMember] = []
    var scanner = JSONScanner(at: token.start)
    try? scanner.scanMembers(bytes, depth: 0) { members.append($0) }
    return .object(
      members.map { (key: $0.key.string(in: bytes), value: build($0.value, of: bytes)) })
  }
}
