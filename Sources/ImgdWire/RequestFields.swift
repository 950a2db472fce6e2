/// The fields of one line, found in one pass and not yet understood.
///
/// What a field means depends on the command, and the command may stand last: so the pass only
/// checks the grammar and remembers where each value lies. Every field has its own place, so a
/// field that comes twice is noticed without searching.
struct RequestFields {
  private(set) var present = FieldSet()
  private var tokens = InlineArray<33, JSONToken>(repeating: JSONToken(.null, 0, 0))
  /// What few lines have, out of the way of all others.
  private var rarities: Rarities?

  private final class Rarities {
    /// The values that are arrays and objects.
    var containers: [(field: RequestField, value: JSONValue)] = []
    /// The names that are no field, kept because they may not come twice either.
    var strangers = KeySet()
    /// The first name that is no field and does not ask to be ignored.
    var unknownName: String?
  }

  var unknownName: String? {
    @inline(__always) get { rarities?.unknownName }
  }

  /// Reads the object that `line` is; what was read before a failure stays readable.
  mutating func scan(_ line: Span<UInt8>) throws(JSONSyntaxError) {
    var scanner = JSONScanner()
    try scanner.require(UInt8(ascii: "{"), .value, in: line)
    if !scanner.consume(UInt8(ascii: "}"), in: line) {
      repeat {
        try scanField(&scanner, line)
      } while scanner.consume(UInt8(ascii: ","), in: line)
      try scanner.require(UInt8(ascii: "}"), .commaOrBrace, in: line)
    }
    try scanner.requireEnd(in: line)
  }

  @inline(__always)
  func token(_ field: RequestField) -> JSONToken {
    tokens[Int(field.rawValue)]
  }

  /// The tree of a field whose value is an array or an object.
  func container(_ field: RequestField) -> JSONValue? {
    rarities?.containers.first { $0.field == field }?.value
  }

  @inline(__always)
  private mutating func scanField(
    _ scanner: inout JSONScanner, _ line: Span<UInt8>
  ) throws(JSONSyntaxError) {
    let key = try scanner.key(in: line)
    guard !key.isEscaped, let name = ShortName(line.extracting(key.range)),
      let field = RequestField.named(name)
    else { return try scanStranger(key, &scanner, line) }
    try scanValue(of: field, named: key, &scanner, line)
  }

  @inline(__always)
  private mutating func scanValue(
    of field: RequestField, named key: JSONToken, _ scanner: inout JSONScanner,
    _ line: Span<UInt8>
  ) throws(JSONSyntaxError) {
    guard !present.contains(field) else {
      throw JSONSyntaxError(offset: key.sourceRange.lowerBound, expected: .otherKey)
    }
    var token = try scanner.token(in: line)
    if token.kind == .object || token.kind == .array {
      let value = try scanner.value(in: line, depth: 1)
      madeRarities().containers.append((field, value))
      token.end = UInt32(truncatingIfNeeded: scanner.position)
    }
    tokens[Int(field.rawValue)] = token
    present.insert(FieldSet(field))
  }

  /// A name that is no field as it stands: an escaped spelling of one, or a stranger.
  @inline(never)
  private mutating func scanStranger(
    _ key: JSONToken, _ scanner: inout JSONScanner, _ line: Span<UInt8>
  ) throws(JSONSyntaxError) {
    let plain = key.unescaped(in: line)
    if let name = ShortName(plain.span), let field = RequestField.named(name) {
      return try scanValue(of: field, named: key, &scanner, line)
    }
    let rarities = madeRarities()
    let name = try key.string(in: line, newTo: &rarities.strangers)
    if rarities.unknownName == nil, !name.utf8.starts(with: "x_".utf8) {
      rarities.unknownName = name
    }
    _ = try scanner.value(in: line, depth: 1)
  }

  private mutating func madeRarities() -> Rarities {
    if let rarities { return rarities }
    let rarities = Rarities()
    self.rarities = rarities
    return rarities
  }
}
