/// One member of a request: its name, and how its value is read.
struct Field {
  let name: String
  let token: JSONToken
  let start: Int

  init(_ member: JSONMember, in line: Span<UInt8>) {
    name = member.key.string(in: line)
    token = member.value
    start = member.key.start
  }

  /// Whether every command has it, or nobody looks at it: `x_` fields are the client's own.
  var isCommon: Bool { name == "cmd" || name == "id" || name.hasPrefix("x_") }

  // MARK: Values

  func string(_ line: Span<UInt8>, atMost limit: Int? = nil) throws(WireError) -> String {
    guard token.kind == .string else { throw refused(line, "a string") }
    let text = token.string(in: line)
    guard let limit, text.utf8.count > limit else { return text }
    throw refused(line, "a string of at most \(limit) bytes")
  }

  /// A string that names something, and so is not empty.
  func name(_ line: Span<UInt8>, atMost limit: Int) throws(WireError) -> String {
    let text = try string(line, atMost: limit)
    guard !text.isEmpty else { throw refused(line, "a string of 1 to \(limit) bytes") }
    return text
  }

  func flag(_ line: Span<UInt8>) throws(WireError) -> Bool {
    switch token.kind {
    case .true: return true
    case .false: return false
    default: throw refused(line, "true or false")
    }
  }

  func integer(_ line: Span<UInt8>, in range: ClosedRange<Int>) throws(WireError) -> Int {
    guard let value = token.integer(in: line), range ~= Int(value) else {
      let span =
        range.upperBound == .max
        ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
      throw refused(line, "a whole number \(span)")
    }
    return Int(value)
  }

  func choice<Choice: RawRepresentable & CaseIterable>(
    _ line: Span<UInt8>
  ) throws(WireError) -> Choice where Choice.RawValue == String {
    guard token.kind == .string, let choice = Choice(rawValue: token.string(in: line)) else {
      throw refused(line, "one of \(listed(Choice.allCases.map(\.rawValue)))")
    }
    return choice
  }

  func priority(_ line: Span<UInt8>) throws(WireError) -> Priority {
    let name = token.kind == .string ? token.string(in: line) : ""
    guard let priority = Priority.allCases.first(where: { $0.wireName == name }) else {
      throw refused(line, "one of \(listed(Priority.allCases.map(\.wireName)))")
    }
    return priority
  }

  func receipt(_ line: Span<UInt8>) throws(WireError) -> ReceiptID {
    guard token.kind == .string, let receipt = ReceiptID(token.string(in: line)) else {
      throw refused(line, "a UUID such as 5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11")
    }
    return receipt
  }

  func strings(
    _ line: Span<UInt8>, atMost count: Int, bytes: Int
  ) throws(WireError) -> [String] {
    let expected = "an array of at most \(count) strings of 1 to \(bytes) bytes"
    guard token.kind == .array else { throw refused(line, expected) }
    var tokens: [JSONToken] = []
    var scanner = JSONScanner(at: token.start)
    try? scanner.scanElements(line, depth: 0) { tokens.append($0) }
    let texts = tokens.filter { $0.kind == .string }.map { $0.string(in: line) }
    guard texts.count == tokens.count, texts.count <= count,
      texts.allSatisfy({ 1...bytes ~= $0.utf8.count })
    else { throw refused(line, expected) }
    return texts
  }

  /// The members of a value that is an object.
  func members(_ line: Span<UInt8>) throws(WireError) -> [Field] {
    guard token.kind == .object else { throw refused(line, "an object") }
    var fields: [Field] = []
    var scanner = JSONScanner(at: token.start)
    try? scanner.scanMembers(line, depth: 0) { fields.append(Field($0, in: line)) }
    return fields
  }

  // MARK: Refusals

  func refused(_ line: Span<UInt8>, _ expected: String) -> WireError {
    WireError(
      .badRequest, "\"\(name)\" is \(token.excerpt(in: line)); it should be \(expected)",
      details: [("field", .string(name))])
  }

  func unknown(to command: Command) -> WireError {
    let known = command.fieldNames
    let offer =
      known.isEmpty ? "it has no fields of its own" : "it has \(listed(known, joinedBy: "and"))"
    return WireError(
      .unknownField, "\(command.rawValue) has no field \"\(cut(name))\": \(offer)",
      details: [("field", .string(cut(name)))])
  }
}

/// Names in a row, as people write them.
func listed(_ names: [String], joinedBy word: String = "or") -> String {
  guard names.count > 1, let last = names.last else { return names.first ?? "" }
  return names.dropLast().joined(separator: ", ") + " \(word) " + last
}

/// A name for a message, not longer than a message should be.
func cut(_ text: String) -> String {
  text.utf8.count <= 80 ? text : String(decoding: text.utf8.prefix(80), as: UTF8.self) + "…"
}

extension WireError {
  static let notAnObject = WireError(
    .badRequest, "a request is a JSON object, such as {\"cmd\":\"ping\"}")

  static let noCommand = WireError(
    .badRequest,
    "\"cmd\" is missing: it should be one of \(listed(Command.allCases.map(\.rawValue)))",
    details: [("field", .string("cmd"))])

  static let oneTarget = WireError(
    .badRequest, "cancel takes exactly one of receipt, slot, tag or \"all\":true")

  static func notJSON(_ problem: JSONProblem) -> WireError {
    WireError(
      .badJSON, "not JSON at byte \(problem.offset): expected \(problem.expected)",
      details: [("offset", .integer(Int64(problem.offset)))])
  }

  static func unknownCommand(_ name: String) -> WireError {
    WireError(
      .unknownCommand,
      "there is no command \"\(cut(name))\": "
        + "there are \(listed(Command.allCases.map(\.rawValue), joinedBy: "and"))")
  }

  static func missing(_ field: String, of command: Command) -> WireError {
    WireError(
      .badRequest, "\(command.rawValue) needs \"\(field)\"", details: [("field", .string(field))])
  }

  static func badHeader(_ name: String, _ problem: String) -> WireError {
    WireError(
      .badRequest, "\"headers\": \"\(cut(name))\" \(problem)",
      details: [("field", .string("headers"))])
  }
}
