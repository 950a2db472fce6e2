// A line is checked in four steps, each with its own errors: it must be JSON; an object with a
// readable `id`; name a command that exists, with no field that the command does not have; and every
// field must hold a value that the command takes. The first step looks at every byte once, the others
// only at the fields that are there. Nothing has any effect before the last check.

internal import ImgdText

/// Turns one line into a request, or into the reason why it is not one.
package enum RequestParser {
  /// Reads one line without its newline.
  package static func parse(_ line: Span<UInt8>) -> ParsedLine {
    var fields = RequestFields()
    var id = RequestID.none
    do throws(WireError) {
      try scan(line, into: &fields)
      id = try fields.id(in: line)
      let command = try command(fields, in: line)
      try requireKnown(fields, by: command)
      return ParsedLine(id: id, .request(try CommandParser.request(command, fields, in: line)))
    } catch { return refusal(error, fields, line) }
  }

  @inline(__always) private static func scan(_ line: Span<UInt8>, into fields: inout RequestFields) throws(WireError) {
    do throws(JSONSyntaxError) {
      guard line.count < UInt32.max else { throw JSONSyntaxError(offset: 0, expected: .shorter) }
      try fields.scan(line)
    } catch { throw explain(error, line) }
  }

  /// A line that is JSON but no object is refused as a bad request, not as bad JSON.
  @inline(never) private static func explain(_ error: JSONSyntaxError, _ line: Span<UInt8>) -> WireError {
    if error.expected == .value, (try? JSONValue(parsing: line)) != nil {
      return WireError(
        .badRequest, "the line was \(Excerpt.of(line)); a request is a JSON object such as {\"cmd\":\"hello\"}")
    }
    let message = PlainWords(line)?.advice ?? "not JSON at byte \(error.offset): expected \(error.expected.rawValue)"
    return WireError(.badJSON, message, details: ["offset": .integer(Int64(error.offset))])
  }

  @inline(never) private static func refusal(_ error: WireError, _ fields: RequestFields, _ line: Span<UInt8>)
    -> ParsedLine
  {
    let id = (try? fields.id(in: line)) ?? .none
    let slot = error.code == .badURL ? try? fields.slot(in: line) : nil
    let receipt = (try? fields.receipt(in: line)) ?? nil
    let isFetch = (try? command(fields, in: line)) == .fetch
    let url = isFetch ? (try? fields.url(in: line)) ?? nil : nil
    return ParsedLine(id: id, .refused(error), slot: slot, receipt: receipt, url: url)
  }

  @inline(__always) private static func command(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError)
    -> Request.Command
  {
    guard fields.present.contains(.cmd) else {
      throw .field(.cmd, "a request needs the field \"cmd\", such as {\"cmd\":\"hello\"}")
    }
    let token = fields.token(.cmd)
    guard token.kind == .string else {
      throw fields.wrong(.cmd, .oneOf(Request.Command.allCases.map { $0.rawValue }), in: line)
    }
    if !token.isEscaped, ShortName(line.extracting(token.range)) == ShortName("fetch") { return .fetch }
    guard let command = Request.Command.named(token, in: line) else { throw unknownCommand(token, in: line) }
    return command
  }

  @inline(never) private static func unknownCommand(_ token: JSONToken, in line: Span<UInt8>) -> WireError {
    let sent = SentValue(token, in: line)
    let names = Request.Command.allCases.map { $0.rawValue }
    let advice =
      nearestName(to: sent.string ?? "", among: names).map { ": did you mean \"\($0)\"?" }
      ?? "; \"cmd\" takes \(WantedValue.oneOf(names).description)"
    return .field(.cmd, "there is no command \(sent.excerpt)\(advice)", code: .unknownCommand)
  }

  /// Refuses fields that the command does not have.
  @inline(__always) private static func requireKnown(_ fields: RequestFields, by command: Request.Command)
    throws(WireError)
  {
    let isPlainFetch = command == .fetch && fields.present.isSubset(of: .plainFetch)
    if isPlainFetch, fields.unknownName == nil { return }
    let foreign = fields.present.subtracting(command.fields).subtracting(.frame)
    guard fields.unknownName == nil, foreign.isEmpty else {
      throw unknownField(fields.unknownName ?? foreign.fields.first?.name ?? "", of: command)
    }
  }

  @inline(never) private static func unknownField(_ name: String, of command: Request.Command) -> WireError {
    .unknownField(name, of: command.rawValue, known: command.fields.union(.frame).fields.map { $0.name })
  }
}

/// The result of reading one line.
package struct ParsedLine: Sendable {
  /// A request to carry out, or the error to answer with.
  package enum Outcome: Sendable {
    case request(Request)
    case refused(WireError)
  }

  /// Echoed in the answer; also set for a refused line, if it could be read.
  package let id: RequestID
  package let outcome: Outcome
  /// The slot of a fetch that was refused for its URL: the fetch running in that slot is cancelled.
  package let slot: String?
  /// The receipt of a refused line, if it could be read.
  package let receipt: ReceiptID?
  /// The URL of a refused fetch, if it could be read.
  package let url: String?

  init(id: RequestID, _ outcome: Outcome, slot: String? = nil, receipt: ReceiptID? = nil, url: String? = nil) {
    self.id = id
    self.outcome = outcome
    self.slot = slot
    self.receipt = receipt
    self.url = url
  }
}
