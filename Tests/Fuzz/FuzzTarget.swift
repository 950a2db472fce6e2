/// A parser, or several that read the same, with the properties that hold for any bytes.
struct FuzzTarget: Sendable {
  let name: String
  /// The sources whose lines it is to reach, below Sources.
  let sources: [String]
  /// The most bytes of an input.
  let longest: Int
  /// Traps where a property does not hold. Where several take their time, the length of an input chooses one.
  let examine: @Sendable ([UInt8]) -> Void
  /// The verdict on an input, in words that an oracle in another program can compare with its own.
  let show: (@Sendable ([UInt8]) -> String)?

  init(
    _ name: String, of sources: [String], longest: Int = 512, show: (@Sendable ([UInt8]) -> String)? = nil,
    _ examine: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.name = name
    self.sources = sources
    self.longest = longest
    self.show = show
    self.examine = examine
  }

  var modules: Set<String> { Set(sources.map { source in String(source.prefix { $0 != "/" }) }) }

  static let all = [
    lines, json, put, replies, pictures, fields, dates, freshness, vary, urls, addresses, configuration, quantities,
    record, row, handover, decoder, fleetValues, fleetLog, fleetReplies, originHeads, heads, conditions, targets,
    visitors,
  ]
}

/// An input that chooses: its first bytes are choices, what is left is text. At its end every choice is the first.
struct Choices {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func flag() -> Bool { byte() & 1 == 1 }

  /// A number of up to eight bytes, the lowest first.
  mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
    var number: Number = 0
    for place in 0..<Number.bitWidth / 8 { number |= Number(truncatingIfNeeded: byte()) << (8 * place) }
    return number
  }

  mutating func pick<Item>(_ items: [Item]) -> Item { items[Int(byte()) % items.count] }

  /// So many bytes, or fewer at the end.
  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// The bytes up to a newline, which is left out.
  mutating func line() -> [UInt8] {
    let line = rest.prefix { $0 != 0x0A }
    rest = rest.dropFirst(line.count + 1)
    return Array(line)
  }

  /// The lines up to the end, each as text with what is not UTF-8 replaced.
  mutating func lines() -> [String] {
    var lines: [String] = []
    while !isAtEnd { lines.append(String(decoding: line(), as: UTF8.self)) }
    return lines
  }
}

/// Says which property does not hold, also where the optimiser leaves no message in a precondition.
func expect(
  _ holds: @autoclosure () -> Bool, _ property: @autoclosure () -> String, line: UInt = #line,
  file: StaticString = #fileID
) {
  guard !holds() else { return }
  fatalError("\(file):\(line): it does not hold that \(property())")
}

/// What several targets compare, and how they show it.
enum FuzzKit {
  /// Whether two texts have the same bytes: `String` also takes two spellings of one accent as equal.
  static func same(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    left.utf8.elementsEqual(right.utf8)
  }

  static func hex(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for byte in bytes { text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    return text
  }
}
