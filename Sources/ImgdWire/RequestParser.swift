// A line goes through four gates, each with its own complaint: it must be JSON, an object with a
// readable `id`, a command that exists with no field that it does not know, and every field must
// hold what the command takes. The first gate looks at every byte once, the others only at the
// fields that are there. Nothing has any effect before the last gate is passed.

/// Turns one line into the request that it is, or into the reason why it is none.
package enum RequestParser {
  /// Reads one line without its newline.
  package static func parse(_ line: Span<UInt8>) -> ParsedLine {
    var fields = RequestFields()
    var id = RequestID.none
    do throws(WireError) {
      try scan(line, into: &fields)
      id = try fields.id(in: line)
      let command = try fields.command(in: line)
      try fields.requireKnown(by: command)
      return ParsedLine(id: id, .request(try fields.request(command, in: line)))
    } catch {
      return refusal(error, fields, line)
    }
  }

  @inline(__always)
  private static func scan(
    _ line: Span<UInt8>, into fields: inout RequestFields
  ) throws(WireError) {
    do throws(JSONSyntaxError) {
      guard line.count < UInt32.max else {
        throw JSONSyntaxError(offset: 0, expected: .shorter)
      }
      try fields.scan(line)
    } catch {
      throw explain(error, line)
    }
  }

  /// A line that is JSON but no object is refused for what it is.
  @inline(never)
  private static func explain(_ error: JSONSyntaxError, _ line: Span<UInt8>) -> WireError {
    if error.expected == .value, (try? JSONValue(parsing: line)) != nil {
      let message = "the line was \(Excerpt.of(line)); a request is a JSON object with \"cmd\""
      return WireError(.badRequest, message)
    }
    return WireError(
      .badJSON, "not JSON at byte \(error.offset): expected \(error.expected.rawValue)",
      details: ["offset": .integer(Int64(error.offset))])
  }

  @inline(never)
  private static func refusal(
    _ error: WireError, _ fields: RequestFields, _ line: Span<UInt8>
  ) -> ParsedLine {
    let id = (try? fields.id(in: line)) ?? .none
    let slot = error.code == .badURL ? try? fields.slot(in: line) : nil
    let receipt = (try? fields.receipt(in: line)) ?? nil
    return ParsedLine(id: id, .refused(error), slot: slot, receipt: receipt)
  }
}

extension RequestFields {
  @inline(__always)
  func id(in line: Span<UInt8>) throws(WireError) -> RequestID {
    guard present.contains(.id) else { return .none }
    if token(.id).kind == .string {
      let string = token(.id).string(in: line)
      guard string.utf8.count <= WireLimits.id else { throw wrong(.id, .id, in: line) }
      return .string(string)
    }
    guard let number = wholeNumber(.id, in: line) else { throw wrong(.id, .id, in: line) }
    return .integer(number)
  }

  @inline(__always)
  func command(in line: Span<UInt8>) throws(WireError) -> Request.Command {
    guard present.contains(.cmd) else {
      throw .field(.cmd, "a request needs the field \"cmd\"")
    }
    let token = token(.cmd)
    guard token.kind == .string else {
      throw wrong(.cmd, .oneOf(Request.Command.allCases.map(\.rawValue)), in: line)
    }
    if !token.isEscaped, ShortName(line.extracting(token.range)) == ShortName("fetch") {
      return .fetch
    }
    guard let command = Request.Command.named(token, in: line) else {
      throw unknownCommand(in: line)
    }
    return command
  }

  @inline(never)
  private func unknownCommand(in line: Span<UInt8>) -> WireError {
    let sent = Excerpt.of(line.extracting(token(.cmd).sourceRange))
    let wanted = WantedValue.oneOf(Request.Command.allCases.map(\.rawValue))
    return .field(
      .cmd, "there is no command \(sent); \"cmd\" takes \(wanted.description)",
      code: .unknownCommand)
  }

  /// Refuses the fields that the command does not know.
  @inline(__always)
  func requireKnown(by command: Request.Command) throws(WireError) {
    if command == .fetch, unknownName == nil, present.isSubset(of: .plainFetch) { return }
    let foreign = present.subtracting(command.fields).subtracting(.frame)
    guard unknownName == nil, foreign.isEmpty else {
      throw unknownField(unknownName ?? foreign.fields.first?.name ?? "", of: command)
    }
  }

  @inline(never)
  private func unknownField(_ name: String, of command: Request.Command) -> WireError {
    let known = command.fields.union(.frame).fields.map(\.name).joined(separator: ", ")
    let sent = Excerpt.of(name)
    return WireError(
      .unknownField,
      "\"\(command.rawValue)\" has no field \"\(sent)\"; it has \(known), and ignores x_…",
      details: ["field": .string(sent)])
  }
}
