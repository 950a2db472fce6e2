/// A JSON text as a tree: for clients, error details and tests, not for the path of a hit.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  /// One name of an object with its value.
  package struct Member: Equatable, Sendable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// Reads one text strictly; white space around it is allowed. Looking for double keys takes a third of the time.
  package init(parsing text: Span<UInt8>, refusingDoubleKeys: Bool = true) throws(JSONSyntaxError) {
    guard text.count < UInt32.max else { throw JSONSyntaxError(offset: 0, expected: .shorter) }
    var scanner = JSONScanner()
    scanner.refusesDoubleKeys = refusingDoubleKeys
    self = try scanner.value(in: text, depth: 0)
    try scanner.requireEnd(in: text)
  }

  /// Reads one text strictly from a string.
  package init(parsing text: String) throws(JSONSyntaxError) { try self.init(parsing: Array(text.utf8).span) }
}

extension JSONValue {
  /// The value of a key; nil when there is none or this is not an object.
  package subscript(_ key: String) -> JSONValue? { object?.first { $0.name == key }?.value }

  /// The element at an index; nil when there is none or this is not an array.
  package subscript(_ index: Int) -> JSONValue? {
    guard let array, array.indices.contains(index) else { return nil }
    return array[index]
  }

  package var object: [Member]? { if case .object(let members) = self { members } else { nil } }

  package var array: [JSONValue]? { if case .array(let items) = self { items } else { nil } }

  package var string: String? { if case .string(let string) = self { string } else { nil } }

  package var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// The number if it is whole and fits: `1.0` and `1e3` are whole.
  package var integer: Int64? {
    switch self {
    case .integer(let integer): integer
    case .number(let number): Int64(exactly: number)
    default: nil
    }
  }

  /// The number, rounded if a double cannot hold it exactly.
  package var double: Double? {
    switch self {
    case .integer(let integer): Double(integer)
    case .number(let number): number
    default: nil
    }
  }
}

extension JSONValue {
  /// The text of the tree, on one line.
  package func encoded() -> String {
    var writer = JSONWriter()
    writer.value(self)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(elements.map { Member($0, $1) }) }
}
