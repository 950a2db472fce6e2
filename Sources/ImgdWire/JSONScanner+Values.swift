extension JSONScanner {
  /// The value at the position as a tree; `depth` counts the containers it stands in.
  mutating func value(in text: Span<UInt8>, depth: Int) throws(JSONSyntaxError) -> JSONValue {
    let token = try token(in: text)
    switch token.kind {
    case .string: return .string(token.string(in: text))
    case .integer:
      return token.integer(in: text).map(JSONValue.integer) ?? .number(token.double(in: text))
    case .number: return .number(token.double(in: text))
    case .true: return .bool(true)
    case .false: return .bool(false)
    case .null: return .null
    case .object: return try object(in: text, depth: depth + 1)
    case .array: return try array(in: text, depth: depth + 1)
    }
  }

  private mutating func array(
    in text: Span<UInt8>, depth: Int
  ) throws(JSONSyntaxError) -> JSONValue {
    guard depth <= Self.deepest else { throw failure(.shallower) }
    try require(UInt8(ascii: "["), .value, in: text)
    var items: [JSONValue] = []
    if consume(UInt8(ascii: "]"), in: text) { return .array(items) }
    repeat {
      items.append(try value(in: text, depth: depth))
    } while consume(UInt8(ascii: ","), in: text)
    try require(UInt8(ascii: "]"), .commaOrBracket, in: text)
    return .array(items)
  }

  private mutating func object(
    in text: Span<UInt8>, depth: Int
  ) throws(JSONSyntaxError) -> JSONValue {
    guard depth <= Self.deepest else { throw failure(.shallower) }
    try require(UInt8(ascii: "{"), .value, in: text)
    var members: [JSONValue.Member] = []
    var keys = KeySet()
    if consume(UInt8(ascii: "}"), in: text) { return .object(members) }
    repeat {
      let name = try key(in: text).string(in: text, newTo: &keys)
      members.append(JSONValue.Member(name, try value(in: text, depth: depth)))
    } while consume(UInt8(ascii: ","), in: text)
    try require(UInt8(ascii: "}"), .commaOrBrace, in: text)
    return .object(members)
  }
}

extension JSONToken {
  /// The key's value, which the object must not have had before.
  func string(
    in text: Span<UInt8>, newTo keys: inout KeySet
  ) throws(JSONSyntaxError) -> String {
    let name = string(in: text)
    guard keys.insert(name) else {
      throw JSONSyntaxError(offset: sourceRange.lowerBound, expected: .otherKey)
    }
    return name
  }
}
