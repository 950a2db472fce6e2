// Strict JSON (RFC 8259), read in place.
//
// The scanner goes over the bytes of one line and answers where things are; it builds nothing. What
// a value says is decoded later, and only of the values that somebody wants. Everything is checked
// on the way: UTF-8, escapes and surrogates, the grammar of numbers, depth, and that no object has
// a key twice, so that what comes after need not ask again.

/// Why a line is not JSON, and where.
package struct JSONProblem: Error, Equatable {
  /// The byte, counted from 0, at which it stopped being JSON.
  package let offset: Int
  package let expected: String
}

/// Where a value lies in the line, and what kind it is.
struct JSONToken {
  enum Kind: UInt8 {
    case null
    case `true`
    case `false`
    case integer
    case number
    case string
    case array
    case object
  }

  let kind: Kind
  let start: Int
  /// One behind the last byte.
  let end: Int
  /// For a string: whether it has escapes. Its quotes are at `start` and `end - 1`.
  var hasEscapes = false
}

/// A key and its value.
struct JSONMember {
  let key: JSONToken
  let value: JSONToken
}

struct JSONScanner {
  static let deepest = 16

  private(set) var position: Int

  init(at position: Int = 0) {
    self.position = position
  }

  private func problem(_ expected: String) -> JSONProblem {
    JSONProblem(offset: position, expected: expected)
  }

  @inline(__always)
  func peek(_ bytes: Span<UInt8>) -> UInt8 {
    // No byte of JSON is 0, so 0 can stand for the end.
    position < bytes.count ? bytes[position] : 0
  }

  @inline(__always)
  mutating func skipSpace(_ bytes: Span<UInt8>) {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  /// Nothing but white space may follow.
  mutating func expectEnd(_ bytes: Span<UInt8>) throws(JSONProblem) {
    skipSpace(bytes)
    guard position == bytes.count else { throw problem("the end of the line") }
  }

  // MARK: Values

  /// Goes over the value that begins here.
  mutating func scanValue(
    _ bytes: Span<UInt8>, depth: Int = 0
  ) throws(JSONProblem) -> JSONToken {
    switch peek(bytes) {
    case UInt8(ascii: "\""): return try scanString(bytes)
    case UInt8(ascii: "{"): return try scanNestedObject(bytes, depth: depth + 1)
    case UInt8(ascii: "["): return try scanArray(bytes, depth: depth + 1)
    case UInt8(ascii: "t"): return try scanWord(bytes, "true", .true)
    case UInt8(ascii: "f"): return try scanWord(bytes, "false", .false)
    case UInt8(ascii: "n"): return try scanWord(bytes, "null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try scanNumber(bytes)
    default: throw problem("a value")
    }
  }

  private mutating func scanWord(
    _ bytes: Span<UInt8>, _ word: StaticString, _ kind: JSONToken.Kind
  ) throws(JSONProblem) -> JSONToken {
    let start = position
    let end = start + word.utf8CodeUnitCount
    guard end <= bytes.count else { throw problem("\(word)") }
    for offset in 0..<word.utf8CodeUnitCount {
      guard unsafe bytes[start + offset] == word.utf8Start[offset] else {
        throw problem("\(word)")
      }
    }
    position = end
    return JSONToken(kind: kind, start: start, end: end)
  }

  // MARK: Objects and arrays

  /// Goes over the members of the object that begins here, handing out each.
  mutating func scanMembers(
    _ bytes: Span<UInt8>, depth: Int, _ member: (JSONMember) throws(JSONProblem) -> Void
  ) throws(JSONProblem) {
    guard depth <= Self.deepest else { throw problem("at most \(Self.deepest) levels") }
    position += 1
    skipSpace(bytes)
    if peek(bytes) == UInt8(ascii: "}") { return position += 1 }
    while true {
      skipSpace(bytes)
      guard peek(bytes) == UInt8(ascii: "\"") else { throw problem("a key in quotes") }
      let key = try scanString(bytes)
      skipSpace(bytes)
      guard peek(bytes) == UInt8(ascii: ":") else { throw problem("a colon") }
      position += 1
      skipSpace(bytes)
      try member(JSONMember(key: key, value: try scanValue(bytes, depth: depth)))
      skipSpace(bytes)
      switch peek(bytes) {
      case UInt8(ascii: ","): position += 1
      case UInt8(ascii: "}"): return position += 1
      default: throw problem("a comma or a closing brace")
      }
    }
  }

  private mutating func scanNestedObject(
    _ bytes: Span<UInt8>, depth: Int
  ) throws(JSONProblem) -> JSONToken {
    let start = position
    var keys = JSONKeys()
    try scanMembers(bytes, depth: depth) { member throws(JSONProblem) in
      try keys.add(member.key, of: bytes)
    }
    return JSONToken(kind: .object, start: start, end: position)
  }

  private mutating func scanArray(
    _ bytes: Span<UInt8>, depth: Int
  ) throws(JSONProblem) -> JSONToken {
    let start = position
    try scanElements(bytes, depth: depth) { _ in }
    return JSONToken(kind: .array, start: start, end: position)
  }

  /// Goes over the elements of the array that begins here, handing out each.
  mutating func scanElements(
    _ bytes: Span<UInt8>, depth: Int, _ element: (JSONToken) -> Void
  ) throws(JSONProblem) {
    guard depth <= Self.deepest else { throw problem("at most \(Self.deepest) levels") }
    position += 1
    skipSpace(bytes)
    if peek(bytes) == UInt8(ascii: "]") { return position += 1 }
    while true {
      skipSpace(bytes)
      element(try scanValue(bytes, depth: depth))
      skipSpace(bytes)
      switch peek(bytes) {
      case UInt8(ascii: ","): position += 1
      case UInt8(ascii: "]"): return position += 1
      default: throw problem("a comma or a closing bracket")
      }
    }
  }

  // MARK: Numbers

  private mutating func scanNumber(_ bytes: Span<UInt8>) throws(JSONProblem) -> JSONToken {
    let start = position
    var kind = JSONToken.Kind.integer
    if peek(bytes) == UInt8(ascii: "-") { position += 1 }
    if peek(bytes) == UInt8(ascii: "0") { position += 1 } else { try scanDigits(bytes) }
    if peek(bytes) == UInt8(ascii: ".") {
      kind = .number
      position += 1
      try scanDigits(bytes)
    }
    if peek(bytes) | 0x20 == UInt8(ascii: "e") {
      kind = .number
      position += 1
      if peek(bytes) == UInt8(ascii: "+") || peek(bytes) == UInt8(ascii: "-") { position += 1 }
      try scanDigits(bytes)
    }
    return JSONToken(kind: kind, start: start, end: position)
  }

  private mutating func scanDigits(_ bytes: Span<UInt8>) throws(JSONProblem) {
    let start = position
    while UInt8(ascii: "0")...UInt8(ascii: "9") ~= peek(bytes) { position += 1 }
    guard position > start else { throw problem("a digit") }
  }

  // MARK: Strings

  mutating func scanString(_ bytes: Span<UInt8>) throws(JSONProblem) -> JSONToken {
    let start = position
    var hasEscapes = false
    position += 1
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return JSONToken(kind: .string, start: start, end: position, hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        try scanEscape(bytes)
      case 0x20..<0x80: position += 1
      case 0x80...: try scanMultibyte(bytes)
      default: throw problem("no control character in a string")
      }
    }
    throw problem("a closing quote")
  }

  private mutating func scanEscape(_ bytes: Span<UInt8>) throws(JSONProblem) {
    position += 1
    switch peek(bytes) {
    case UInt8(ascii: "u"): try scanUnicodeEscape(bytes)
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    default: throw problem("an escape of JSON")
    }
  }

  private mutating func scanUnicodeEscape(_ bytes: Span<UInt8>) throws(JSONProblem) {
    let unit = try scanCodeUnit(bytes)
    guard unit != 0 else { throw problem("no NUL in a string") }
    guard 0xDC00...0xDFFF ~= unit || 0xD800...0xDBFF ~= unit else { return }
    guard unit < 0xDC00, peek(bytes) == UInt8(ascii: "\\") else {
      throw problem("both halves of a surrogate pair")
    }
    position += 1
    guard peek(bytes) == UInt8(ascii: "u"), 0xDC00...0xDFFF ~= (try scanCodeUnit(bytes)) else {
      throw problem("both halves of a surrogate pair")
    }
  }

  /// From the `u` over its four digits.
  private mutating func scanCodeUnit(_ bytes: Span<UInt8>) throws(JSONProblem) -> UInt32 {
    position += 1
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = hexDigit(peek(bytes)) else { throw problem("four hexadecimal digits") }
      unit = unit << 4 | digit
      position += 1
    }
    return unit
  }

  /// Over one character of two to four bytes, in its shortest form.
  private mutating func scanMultibyte(_ bytes: Span<UInt8>) throws(JSONProblem) {
    let first = bytes[position]
    let second: ClosedRange<UInt8>
    let length: Int
    switch first {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: throw problem("UTF-8")
    }
    for offset in 1..<length {
      let allowed = offset == 1 ? second : 0x80...0xBF
      guard position + offset < bytes.count, allowed ~= bytes[position + offset] else {
        throw problem("UTF-8")
      }
    }
    position += length
  }
}

@inline(__always)
func hexDigit(_ byte: UInt8) -> UInt32? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
  case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
  case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
  default: nil
  }
}

/// The keys of one object, each once.
struct JSONKeys {
  private var seen: Set<String> = []

  mutating func add(_ key: JSONToken, of bytes: Span<UInt8>) throws(JSONProblem) {
    guard seen.insert(key.string(in: bytes)).inserted else {
      throw JSONProblem(offset: key.start, expected: "each key once")
    }
  }
}
