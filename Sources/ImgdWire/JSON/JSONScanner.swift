// The scanner walks over the bytes of one text and never looks back. Every call takes the same
// span: a scanner is only a position in it, so it costs no reference and owns nothing.
//
// It is strict RFC 8259 and uses the freedoms that the standard leaves to a reader: text is
// well-formed UTF-8, the keys of one object differ, nesting ends at 16 levels, and numbers fit a double.
// Later code relies on these checks and does not repeat them. A string may hold an escaped NUL: whether
// it may go further is for the reader of its field to say, since C interfaces end a text there.
//
// Scalars come out as tokens, which are ranges of the text: a String or a number is made only for a
// caller that asks for it. Containers are announced by a token and not consumed, so the caller
// walks into them or has them built as a value.

/// A position in a JSON text, moved forward by asking for what should be there.
struct JSONScanner {
  /// Levels of nesting that a text may have.
  static let deepest = 16

  private(set) var position = 0
  /// Whether an object with a key twice is refused: not where the text comes from a program that writes none.
  var refusesDoubleKeys = true

  /// Moves over white space and returns the byte after it, 0 at the end.
  @inline(__always) mutating func peek(in text: Span<UInt8>) -> UInt8 {
    while position < text.count {
      let byte = text[position]
      if byte > 0x20 { return byte }
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      position += 1
    }
    return 0
  }

  /// Consumes `byte` if it comes next after white space.
  @inline(__always) mutating func consume(_ byte: UInt8, in text: Span<UInt8>) -> Bool {
    guard peek(in: text) == byte, position < text.count else { return false }
    position += 1
    return true
  }

  @inline(__always) mutating func require(_ byte: UInt8, _ expected: JSONSyntaxError.Expectation, in text: Span<UInt8>)
    throws(JSONSyntaxError)
  {
    guard consume(byte, in: text) else { throw failure(expected) }
  }

  mutating func requireEnd(in text: Span<UInt8>) throws(JSONSyntaxError) {
    _ = peek(in: text)
    guard position == text.count else { throw failure(.end) }
  }

  /// A key with its colon.
  @inline(__always) mutating func key(in text: Span<UInt8>) throws(JSONSyntaxError) -> JSONToken {
    guard peek(in: text) == UInt8(ascii: "\"") else { throw failure(.key) }
    let key = try string(in: text)
    try require(UInt8(ascii: ":"), .colon, in: text)
    return key
  }

  /// The next scalar, or the announcement of a container that begins at the position.
  @inline(__always) mutating func token(in text: Span<UInt8>) throws(JSONSyntaxError) -> JSONToken {
    switch peek(in: text) {
    case UInt8(ascii: "\""): try string(in: text)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(in: text)
    case UInt8(ascii: "{"): JSONToken(.object, position, position)
    case UInt8(ascii: "["): JSONToken(.array, position, position)
    case UInt8(ascii: "t"): try literal("true", .true, in: text)
    case UInt8(ascii: "f"): try literal("false", .false, in: text)
    case UInt8(ascii: "n"): try literal("null", .null, in: text)
    default: throw failure(.value)
    }
  }

  private func failure(_ expected: JSONSyntaxError.Expectation) -> JSONSyntaxError {
    JSONSyntaxError(offset: position, expected: expected)
  }

  private mutating func literal(_ word: StaticString, _ kind: JSONToken.Kind, in text: Span<UInt8>)
    throws(JSONSyntaxError) -> JSONToken
  {
    let start = position
    let length = word.utf8CodeUnitCount
    guard length <= text.count - start else { throw failure(.literal) }
    for index in 0..<length {
      // The index is below the static string's own length.
      guard unsafe text[start + index] == word.utf8Start[index] else { throw failure(.literal) }
    }
    position = start + length
    return JSONToken(kind, start, position)
  }

  // MARK: Strings

  /// A string, whose opening quote is at the position.
  @inline(__always) private mutating func string(in text: Span<UInt8>) throws(JSONSyntaxError) -> JSONToken {
    let start = position + 1
    var index = start
    while index + 8 <= text.count, PlainText.isPlain(text, at: index) { index += 8 }
    while index < text.count {
      let byte = text[index]
      if byte == UInt8(ascii: "\"") {
        position = index + 1
        return JSONToken(.string, start, index)
      }
      if byte == UInt8(ascii: "\\") || byte < 0x20 || byte >= 0x80 { break }
      index += 1
    }
    return try unusualString(from: start, at: index, in: text)
  }

  /// The rest of a string that holds something other than plain ASCII.
  @inline(never) private mutating func unusualString(from start: Int, at first: Int, in text: Span<UInt8>)
    throws(JSONSyntaxError) -> JSONToken
  {
    var rest = JSONStringScanner(position: first)
    let token = try rest.token(from: start, in: text)
    position = rest.position
    return token
  }

  // MARK: Numbers

  /// A number, whose sign or first digit is at the position.
  @inline(__always) private mutating func number(in text: Span<UInt8>) throws(JSONSyntaxError) -> JSONToken {
    let start = position
    var kind = JSONToken.Kind.integer
    if text[position] == UInt8(ascii: "-") { position = position + 1 }
    try wholePart(in: text)
    if position < text.count, isFractionOrExponent(text[position]) {
      kind = .number
      try fractionAndExponent(in: text)
    }
    let token = JSONToken(kind, start, position)
    // Every number of up to 300 digits fits a double.
    if kind == .number || position - start > 300 {
      guard token.double(in: text).isFinite else { throw JSONSyntaxError(offset: start, expected: .finite) }
    }
    return token
  }

  @inline(__always) private mutating func wholePart(in text: Span<UInt8>) throws(JSONSyntaxError) {
    let start = position
    try digits(in: text)
    if text[start] == UInt8(ascii: "0"), position > start + 1 {
      throw JSONSyntaxError(offset: start + 1, expected: .noLeadingZero)
    }
  }

  private mutating func fractionAndExponent(in text: Span<UInt8>) throws(JSONSyntaxError) {
    if text[position] == UInt8(ascii: ".") {
      position = position + 1
      try digits(in: text)
    }
    guard position < text.count, text[position] | 0x20 == UInt8(ascii: "e") else { return }
    position = position + 1
    if position < text.count, isSign(text[position]) { position = position + 1 }
    try digits(in: text)
  }

  /// One digit or more.
  @inline(__always) private mutating func digits(in text: Span<UInt8>) throws(JSONSyntaxError) {
    var index = position
    while index < text.count, isDigit(text[index]) { index += 1 }
    guard index > position else { throw failure(.digit) }
    position = index
  }

  @inline(__always) private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  private func isSign(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") }

  @inline(__always) private func isFractionOrExponent(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
  }

  // MARK: Trees

  /// The value at the position as a tree; `depth` counts the containers around it.
  mutating func value(in text: Span<UInt8>, depth: Int) throws(JSONSyntaxError) -> JSONValue {
    let token = try token(in: text)
    switch token.kind {
    case .string: return .string(token.string(in: text))
    case .integer: return token.integer(in: text).map(JSONValue.integer) ?? .number(token.double(in: text))
    case .number: return .number(token.double(in: text))
    case .true: return .bool(true)
    case .false: return .bool(false)
    case .null: return .null
    case .object: return try object(in: text, depth: depth + 1)
    case .array: return try array(in: text, depth: depth + 1)
    }
  }

  private mutating func array(in text: Span<UInt8>, depth: Int) throws(JSONSyntaxError) -> JSONValue {
    guard depth <= Self.deepest else { throw failure(.shallower) }
    try require(UInt8(ascii: "["), .value, in: text)
    var items: [JSONValue] = []
    if consume(UInt8(ascii: "]"), in: text) { return .array(items) }
    repeat { items.append(try value(in: text, depth: depth)) } while consume(UInt8(ascii: ","), in: text)
    try require(UInt8(ascii: "]"), .commaOrBracket, in: text)
    return .array(items)
  }

  private mutating func object(in text: Span<UInt8>, depth: Int) throws(JSONSyntaxError) -> JSONValue {
    guard depth <= Self.deepest else { throw failure(.shallower) }
    try require(UInt8(ascii: "{"), .value, in: text)
    var members: [JSONValue.Member] = []
    var keys = KeySet()
    if consume(UInt8(ascii: "}"), in: text) { return .object(members) }
    repeat {
      let key = try key(in: text)
      let name = refusesDoubleKeys ? try keys.insert(key, in: text) : key.string(in: text)
      members.append(JSONValue.Member(name, try value(in: text, depth: depth)))
    } while consume(UInt8(ascii: ","), in: text)
    try require(UInt8(ascii: "}"), .commaOrBrace, in: text)
    return .object(members)
  }
}

/// A scalar that the scanner has accepted, as a range of the text. A string's range lies between its quotes.
struct JSONToken {
  enum Kind: UInt8 { case string, integer, number, `true`, `false`, null, object, array }

  let kind: Kind
  /// The string holds escapes, so its bytes in the text are not its value.
  let isEscaped: Bool
  let start: UInt32
  var end: UInt32

  /// The offsets fit, because the scanner refuses longer texts.
  @inline(__always) init(_ kind: Kind, _ start: Int, _ end: Int, isEscaped: Bool = false) {
    self.kind = kind
    self.isEscaped = isEscaped
    self.start = UInt32(truncatingIfNeeded: start)
    self.end = UInt32(truncatingIfNeeded: end)
  }

  @inline(__always) var range: Range<Int> { Int(start)..<Int(max(start, end)) }

  /// The range with the quotes of a string.
  var sourceRange: Range<Int> { kind == .string ? Int(start) - 1..<Int(end) + 1 : range }

  @inline(__always) func string(in text: Span<UInt8>) -> String {
    if isEscaped { return String(decoding: unescaped(in: text), as: UTF8.self) }
    // The scanner has validated the range.
    let valid = unsafe UTF8Span(unchecked: text.extracting(range), isKnownASCII: false)
    return String(copying: valid)
  }

  /// The bytes of the string's value.
  func unescaped(in text: Span<UInt8>) -> [UInt8] { JSONEscapes.decode(text.extracting(range)) }

  /// The whole number's value; nil when it needs more than 64 bits.
  @inline(__always) func integer(in text: Span<UInt8>) -> Int64? {
    var index = Int(start)
    let isNegative = text[index] == UInt8(ascii: "-")
    if isNegative { index += 1 }
    var value: Int64 = 0
    while index < Int(end) {
      let digit = Int64(text[index] &- UInt8(ascii: "0"))
      let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, tooFar) = product.subtractingReportingOverflow(digit)
      if tooLarge || tooFar { return nil }
      value = sum
      index += 1
    }
    // The sum is negative, because only there the smallest number fits.
    if isNegative { return value }
    let (positive, overflow) = Int64(0).subtractingReportingOverflow(value)
    return overflow ? nil : positive
  }

  /// The number's value as a double; infinite where it is out of range.
  func double(in text: Span<UInt8>) -> Double {
    let valid = unsafe UTF8Span(unchecked: text.extracting(range), isKnownASCII: true)
    return Double(String(copying: valid)) ?? .infinity
  }
}

/// The place where a text stops being JSON, and what the grammar expects there.
package struct JSONSyntaxError: Error, Equatable, Sendable {
  package let offset: Int
  package let expected: Expectation

  /// The raw value completes the sentence "expected …".
  package enum Expectation: String, Sendable {
    case value = "a value"
    case key = "a key in double quotes"
    case otherKey = "a key that this object does not have yet"
    case colon = "':' after a key"
    case commaOrBrace = "',' or '}'"
    case commaOrBracket = "',' or ']'"
    case end = "nothing after the value"
    case shallower = "at most 16 levels of nesting"
    case literal = "true, false or null"
    case digit = "a digit"
    case noLeadingZero = "no digit after a leading zero"
    case finite = "a number that a double can hold"
    case closingQuote = "'\"' that ends the string"
    case noControl = "control characters written as escapes"
    case escape = "one of \"\\/bfnrtu after a backslash"
    case hexadecimal = "four hexadecimal digits after \\u"
    case surrogatePair = "a whole surrogate pair"
    case utf8 = "well-formed UTF-8"
    case shorter = "a text of less than 4 GiB"
  }
}

/// The keys that one object has had so far. Keys are compared as bytes, because two spellings of "é" are equal as
/// Swift strings and different as JSON keys. Few keys are compared one by one, many go into a hash set, so that ten
/// thousand keys do not cost ten million comparisons.
struct KeySet {
  private static let fewest = 8

  private var few: [String] = []
  private var many: Set<[UInt8]> = []

  mutating func insert(_ key: String) -> Bool {
    if many.isEmpty, few.count < Self.fewest {
      guard !few.contains(where: { $0.utf8.elementsEqual(key.utf8) }) else { return false }
      few.append(key)
      return true
    }
    if many.isEmpty { many = Set(few.map { Array($0.utf8) }) }
    return many.insert(Array(key.utf8)).inserted
  }

  /// Adds the key that `token` holds, and returns its value; a key that was there already fails.
  mutating func insert(_ token: JSONToken, in text: Span<UInt8>) throws(JSONSyntaxError) -> String {
    let name = token.string(in: text)
    guard insert(name) else { throw JSONSyntaxError(offset: token.sourceRange.lowerBound, expected: .otherKey) }
    return name
  }
}
