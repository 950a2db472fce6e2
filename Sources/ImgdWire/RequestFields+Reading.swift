/// Fields read as what a command takes them for; absent ones are nil or the default.
extension RequestFields {
  @inline(__always)
  func string(
    _ field: RequestField, _ lengths: ClosedRange<Int>, in line: Span<UInt8>
  ) throws(WireError) -> String? {
    guard present.contains(field) else { return nil }
    let token = token(field)
    guard token.kind == .string else { throw wrong(field, .string(lengths), in: line) }
    let string = token.string(in: line)
    guard lengths.contains(string.utf8.count) else {
      throw wrong(field, .string(lengths), in: line)
    }
    return string
  }

  @inline(__always)
  func flag(
    _ field: RequestField, default absent: Bool, in line: Span<UInt8>
  ) throws(WireError) -> Bool {
    guard present.contains(field) else { return absent }
    switch token(field).kind {
    case .true: return true
    case .false: return false
    default: throw wrong(field, .flag, in: line)
    }
  }

  func integer(
    _ field: RequestField, _ range: ClosedRange<Int>, in line: Span<UInt8>
  ) throws(WireError) -> Int? {
    guard present.contains(field) else { return nil }
    guard let integer = wholeNumber(field, in: line), let number = Int(exactly: integer),
      range.contains(number)
    else { throw wrong(field, .integer(range), in: line) }
    return number
  }

  @inline(__always)
  func word<Value: WireNamed>(
    _ field: RequestField, default absent: Value, in line: Span<UInt8>
  ) throws(WireError) -> Value {
    guard present.contains(field) else { return absent }
    let token = token(field)
    guard token.kind == .string, let value = Value.named(token, in: line) else {
      throw wrong(field, .oneOf(Value.allCases.map(\.rawValue)), in: line)
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

  /// The number of a field where it is whole, also when it is written as `1.0` or `1e3`.
  func wholeNumber(_ field: RequestField, in line: Span<UInt8>) -> Int64? {
    let token = token(field)
    return switch token.kind {
    case .integer: token.integer(in: line)
    case .number: Int64(exactly: token.double(in: line))
    default: nil
    }
  }

  /// The value that a required field turned out to have.
  func required<Value>(
    _ value: Value?, _ field: RequestField, of command: Request.Command
  ) throws(WireError) -> Value {
    guard let value else {
      throw .field(field, "\"\(command.rawValue)\" needs the field \"\(field.name)\"")
    }
    return value
  }

  /// The complaint about a value, which is shown as it was sent.
  @inline(never)
  func wrong(
    _ field: RequestField, _ wanted: WantedValue, in line: Span<UInt8>
  ) -> WireError {
    let sent = Excerpt.of(line.extracting(token(field).sourceRange))
    return .field(field, "\"\(field.name)\" was \(sent); it takes \(wanted.description)")
  }
}

extension WireNamed {
  @inline(__always)
  static func named(_ token: JSONToken, in line: Span<UInt8>) -> Self? {
    if token.isEscaped { return Self(rawValue: token.string(in: line)) }
    return ShortName(line.extracting(token.range)).flatMap { table[$0] }
  }
}
