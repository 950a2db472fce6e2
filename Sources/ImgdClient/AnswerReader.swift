/// Reads the JSON of an answer. Whoever sent it, nothing in it makes the reader go wrong: it
/// refuses at the first byte that does not fit, and what is nested too deep.
struct AnswerReader {
  /// Where the text stops being JSON.
  struct Malformed: Error, Equatable {
    let position: Int
  }

  private static let deepest = 32

  let bytes: [UInt8]
  var position = 0

  /// The members of the object that a line is.
  static func object(
    _ line: [UInt8]
  ) throws(Malformed) -> [(name: String, value: AnswerValue)] {
    var reader = AnswerReader(bytes: line)
    let value = try reader.value(depth: 0)
    reader.skipBlanks()
    guard reader.position == line.count, case .object(let members) = value else {
      throw reader.malformed
    }
    return members
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  var malformed: Malformed { Malformed(position: position) }

  /// The byte at the position; zero, which no JSON holds outside its texts, at the end.
  var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

  private mutating func skipBlanks() {
    while [0x20, 0x09, 0x0A, 0x0D].contains(next) { position += 1 }
  }

  mutating func take(_ byte: Unicode.Scalar) -> Bool {
    skipBlanks()
    guard position < bytes.count, bytes[position] == UInt8(ascii: byte) else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(Malformed) -> AnswerValue {
    skipBlanks()
    guard depth <= Self.deepest else { throw malformed }
    switch next {
    case UInt8(ascii: "{"): return .object(try members(depth: depth))
    case UInt8(ascii: "["): return .list(try items(depth: depth))
    case UInt8(ascii: "\""): return .text(try text())
    case UInt8(ascii: "t"): return try word("true", .boolean(true))
    case UInt8(ascii: "f"): return try word("false", .boolean(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func members(
    depth: Int
  ) throws(Malformed) -> [(name: String, value: AnswerValue)] {
    var members: [(name: String, value: AnswerValue)] = []
    guard take("{") else { throw malformed }
    if take("}") { return members }
    repeat {
      skipBlanks()
      let name = try text()
      guard take(":") else { throw malformed }
      members.append((name, try value(depth: depth + 1)))
    } while take(",")
    guard take("}") else { throw malformed }
    return members
  }

  private mutating func items(depth: Int) throws(Malformed) -> [AnswerValue] {
    var items: [AnswerValue] = []
    guard take("[") else { throw malformed }
    if take("]") { return items }
    repeat { items.append(try value(depth: depth + 1)) } while take(",")
    guard take("]") else { throw malformed }
    return items
  }

  private mutating func word(
    _ word: StaticString, _ meaning: AnswerValue
  ) throws(Malformed) -> AnswerValue {
    let expected = Array(word.description.utf8)
    guard bytes[position...].starts(with: expected) else { throw malformed }
    position += expected.count
    return meaning
  }

  private mutating func number() throws(Malformed) -> String {
    let signs = Array("+-.eE".utf8)
    let digits = bytes[position...].prefix { byte in
      signs.contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    let text = String(decoding: digits, as: UTF8.self)
    guard Double(text) != nil else { throw malformed }
    position += digits.count
    return text
  }
}
