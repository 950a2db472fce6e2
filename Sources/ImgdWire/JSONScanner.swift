// The scanner walks over the bytes of one text and never looks back. Every call takes the same
// span: a scanner is only a position in it, so it costs no reference and owns nothing.
//
// It is strict RFC 8259 with the freedoms that the standard leaves to a reader used up: text is
// well-formed UTF-8, there is no NUL (not even escaped, for strings go to C interfaces later),
// keys of one object differ, nesting ends at 16 levels, and numbers fit a double. What a scanner
// has accepted, later code may rely on; so checks on content stand here and nowhere else.
//
// Scalars come out as tokens, which are ranges of the text: whoever wants a String or a number
// asks for it afterwards, and who does not pays nothing. Containers are announced by a token and
// not consumed, so the caller chooses to walk into them or to have them built as a value.

/// A position in a JSON text, moved forward by asking for what should stand there.
struct JSONScanner {
  /// Levels of nesting that a text may have.
  static let deepest = 16

  private(set) var position = 0

  /// Moves over white space and tells the byte that stands behind it, 0 at the end.
  @inline(__always)
  mutating func peek(in text: Span<UInt8>) -> UInt8 {
    while position < text.count {
      let byte = text[position]
      if byte > 0x20 { return byte }
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      position += 1
    }
    return 0
  }

  /// Consumes `byte` if it is what stands behind the white space.
  @inline(__always)
  mutating func consume(_ byte: UInt8, in text: Span<UInt8>) -> Bool {
    guard peek(in: text) == byte, position < text.count else { return false }
    position += 1
    return true
  }

  /// Consumes `byte` or complains that something else stands there.
  @inline(__always)
  mutating func require(
    _ byte: UInt8, _ expected: JSONSyntaxError.Expectation, in text: Span<UInt8>
  ) throws(JSONSyntaxError) {
    guard consume(byte, in: text) else { throw failure(expected) }
  }

  /// The text must end here.
  mutating func requireEnd(in text: Span<UInt8>) throws(JSONSyntaxError) {
    _ = peek(in: text)
    guard position == text.count else { throw failure(.end) }
  }

  /// A key with its colon.
  @inline(__always)
  mutating func key(in text: Span<UInt8>) throws(JSONSyntaxError) -> JSONToken {
    guard peek(in: text) == UInt8(ascii: "\"") else { throw failure(.key) }
    let key = try string(in: text)
    try require(UInt8(ascii: ":"), .colon, in: text)
    return key
  }

  /// The next scalar, or the announcement of a container that stands at the position.
  @inline(__always)
  mutating func token(in text: Span<UInt8>) throws(JSONSyntaxError) -> JSONToken {
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

  /// Moves to where a part of the text that is already known ends.
  @inline(__always)
  mutating func advance(to end: Int) {
    position = end
  }

  /// The complaint that something else should stand at the position.
  func failure(_ expected: JSONSyntaxError.Expectation) -> JSONSyntaxError {
    JSONSyntaxError(offset: position, expected: expected)
  }

  private mutating func literal(
    _ word: StaticString, _ kind: JSONToken.Kind, in text: Span<UInt8>
  ) throws(JSONSyntaxError) -> JSONToken {
    let start = position
    let length = word.utf8CodeUnitCount
    guard length <= text.count - start else { throw failure(.literal) }
    for index in 0..<length {
      // The index is below the length that the static string tells itself.
      guard unsafe text[start + index] == word.utf8Start[index] else { throw failure(.literal) }
    }
    position = start + length
    return JSONToken(kind, start, position)
  }
}
