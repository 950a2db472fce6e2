/// The fields of one line, found in one pass, and read by type afterwards. The meaning of a field depends on the
/// command, and the command may come last: so the pass only checks the grammar and notes where each value lies. Every
/// field has its own place, so a field that comes twice is noticed without searching.
struct RequestFields {
  private(set) var present = FieldSet()
  /// As many as there are fields.
  private var tokens = InlineArray<43, JSONToken>(repeating: JSONToken(.null, 0, 0))
  /// Contents that few lines have, in a box that the other lines do without.
  private var rarities: Rarities?

  private final class Rarities {
    var containers: [(field: RequestField, value: JSONValue)] = []
    /// The names that are no field, kept because they may not come twice either.
    var unknownNames = KeySet()
    /// The first name that is no field and does not begin with `x_`.
    var unknownName: String?
  }

  var unknownName: String? { @inline(__always) get { rarities?.unknownName } }

  /// Reads the object that `line` is; fields before a failure stay readable.
  mutating func scan(_ line: Span<UInt8>) throws(JSONSyntaxError) {
    var scanner = JSONScanner()
    try scanner.require(UInt8(ascii: "{"), .value, in: line)
    if !scanner.consume(UInt8(ascii: "}"), in: line) {
      repeat { try scanField(&scanner, line) } while scanner.consume(UInt8(ascii: ","), in: line)
      try scanner.require(UInt8(ascii: "}"), .commaOrBrace, in: line)
    }
    try scanner.requireEnd(in: line)
  }

  @inline(__always) func token(_ field: RequestField) -> JSONToken { tokens[Int(field.rawValue)] }

  func container(_ field: RequestField) -> JSONValue? { rarities?.containers.first { $0.field == field }?.value }

  @inline(__always) private mutating func scanField(_ scanner: inout JSONScanner, _ line: Span<UInt8>)
    throws(JSONSyntaxError)
  {
    let key = try scanner.key(in: line)
    guard !key.isEscaped, let name = ShortName(line.extracting(key.range)), let field = RequestField.named(name) else {
      return try scanUnusualKey(key, &scanner, line)
    }
    try scanValue(of: field, named: key, &scanner, line)
  }

  @inline(__always) private mutating func scanValue(
    of field: RequestField, named key: JSONToken, _ scanner: inout JSONScanner, _ line: Span<UInt8>
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

  /// A key that is no field name: an escaped spelling of one, or an unknown name.
  @inline(never) private mutating func scanUnusualKey(
    _ key: JSONToken, _ scanner: inout JSONScanner, _ line: Span<UInt8>
  ) throws(JSONSyntaxError) {
    let plain = key.unescaped(in: line)
    if let name = ShortName(plain.span), let field = RequestField.named(name) {
      return try scanValue(of: field, named: key, &scanner, line)
    }
    let rarities = madeRarities()
    let name = try rarities.unknownNames.insert(key, in: line)
    if rarities.unknownName == nil, !name.utf8.starts(with: "x_".utf8) { rarities.unknownName = name }
    _ = try scanner.value(in: line, depth: 1)
  }

  private mutating func madeRarities() -> Rarities {
    if let rarities { return rarities }
    let rarities = Rarities()
    self.rarities = rarities
    return rarities
  }

  @inline(__always) func string(_ field: RequestField, _ lengths: ClosedRange<Int>, in line: Span<UInt8>)
    throws(WireError) -> String?
  {
    guard present.contains(field) else { return nil }
    let token = token(field)
    guard token.kind == .string else { throw wrong(field, .string(lengths), in: line) }
    let string = token.string(in: line)
    guard !token.isEscaped || !string.utf8.contains(0) else { throw .holdsNUL(field) }
    guard lengths.contains(string.utf8.count) else { throw wrong(field, .string(lengths), in: line) }
    return string
  }

  @inline(__always) func flag(_ field: RequestField, default absent: Bool, in line: Span<UInt8>) throws(WireError)
    -> Bool
  {
    guard present.contains(field) else { return absent }
    switch token(field).kind {
    case .true: return true
    case .false: return false
    default: throw wrong(field, .flag, in: line)
    }
  }

  func integer(_ field: RequestField, _ range: ClosedRange<Int>, in line: Span<UInt8>) throws(WireError) -> Int? {
    guard present.contains(field) else { return nil }
    guard let integer = wholeNumber(field, in: line), let number = Int(exactly: integer), range.contains(number) else {
      throw wrong(field, .integer(range, of: field.unit), in: line)
    }
    return number
  }

  @inline(__always) func word<Value: WireNamed>(_ field: RequestField, default absent: Value, in line: Span<UInt8>)
    throws(WireError) -> Value
  {
    guard present.contains(field) else { return absent }
    let token = token(field)
    guard token.kind == .string, let value = Value.named(token, in: line) else {
      throw wrong(field, .oneOf(Value.allCases.map { $0.rawValue }), in: line)
    }
    return value
  }

  func receipt(in line: Span<UInt8>) throws(WireError) -> ReceiptID? {
    guard present.contains(.receipt) else { return nil }
    let token = token(.receipt)
    guard token.kind == .string, let receipt = ReceiptID(token.unescaped(in: line).span) else {
      throw wrong(.receipt, .receipt, in: line)
    }
    return receipt
  }

  /// The number of a field if it is whole, also when it is written as `1.0` or `1e3`.
  func wholeNumber(_ field: RequestField, in line: Span<UInt8>) -> Int64? {
    let token = token(field)
    return switch token.kind {
    case .integer: token.integer(in: line)
    case .number: Int64(exactly: token.double(in: line))
    default: nil
    }
  }

  /// The value of a field that the command cannot do without.
  func required<Value>(_ value: Value?, _ field: RequestField, of command: Request.Command) throws(WireError) -> Value {
    guard let value else { throw .field(field, "\"\(command.rawValue)\" needs the field \"\(field.name)\"") }
    return value
  }

  /// The refusal of a value, which is shown as it was sent.
  @inline(never) func wrong(_ field: RequestField, _ wanted: WantedValue, in line: Span<UInt8>) -> WireError {
    .field(field, wanted.complaint(about: field.name, sent: SentValue(token(field), in: line)))
  }

  @inline(__always) func id(in line: Span<UInt8>) throws(WireError) -> RequestID {
    guard present.contains(.id) else { return .none }
    if token(.id).kind == .string {
      let string = token(.id).string(in: line)
      guard string.utf8.count <= WireLimits.id else { throw wrong(.id, .id, in: line) }
      return .string(string)
    }
    guard let number = wholeNumber(.id, in: line) else { throw wrong(.id, .id, in: line) }
    return .integer(number)
  }

  @inline(__always) func url(in line: Span<UInt8>) throws(WireError) -> String? {
    guard present.contains(.url) else { return nil }
    let token = token(.url)
    guard token.kind == .string else { throw wrong(.url, .url, in: line) }
    let url = token.string(in: line)
    guard !token.isEscaped || !url.utf8.contains(0) else { throw .holdsNUL(.url) }
    let length = url.utf8.count
    guard length > 0, length <= WireLimits.url else { throw badURL(length) }
    return url
  }

  @inline(never) private func badURL(_ length: Int) -> WireError {
    let fault = length == 0 ? "is empty" : "has \(length) bytes"
    let wanted = "\(WantedValue.url.description) of at most \(WireLimits.url) bytes"
    return .field(.url, "\"url\" \(fault); it takes \(wanted)", code: .badURL)
  }

  @inline(__always) func identifier(in line: Span<UInt8>) throws(WireError) -> String? {
    try string(.identifier, 0...WireLimits.identifier, in: line)
  }

  func tags(in line: Span<UInt8>) throws(WireError) -> [String] {
    guard present.contains(.tags) else { return [] }
    guard let items = container(.tags)?.array, items.count <= WireLimits.tags else {
      let wanted = "an array of at most \(WireLimits.tags) strings of 1 to \(WireLimits.tag) bytes"
      throw wrong(.tags, .text(wanted), in: line)
    }
    var tags: [String] = []
    for item in items {
      guard let tag = item.string, 1...WireLimits.tag ~= tag.utf8.count else {
        let wanted = WantedValue.string(1...WireLimits.tag)
        throw .field(.tags, wanted.complaint(about: "tags[\(tags.count)]", sent: SentValue(item)))
      }
      guard !tag.utf8.contains(0) else { throw .holdsNUL(.tags, at: "tags[\(tags.count)]") }
      tags.append(tag)
    }
    return tags
  }

  func slot(in line: Span<UInt8>) throws(WireError) -> String? { try string(.slot, 1...WireLimits.slot, in: line) }
}
