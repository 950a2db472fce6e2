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
      guard command == .fetch else {
        return ParsedLine(id: id, .request(try CommandParser.request(command, fields, in: line)))
      }
      return ParsedLine(id: id, .request(.fetch(try FetchRequest(fields, in: line))))
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
    let message = advice(onWordsIn: line) ?? "not JSON at byte \(error.offset): expected \(error.expected.rawValue)"
    return WireError(.badJSON, message, details: ["offset": .integer(Int64(error.offset))])
  }

  /// For somebody who has typed a line as they would type a command, without any JSON: the request that was probably
  /// meant. Nil when the line does not begin with a word.
  private static func advice(onWordsIn line: Span<UInt8>) -> String? {
    var word: [UInt8] = []
    // No word that could be meant is longer.
    for index in line.indices.prefix(64) {
      let isSpace = line[index] == 0x20 || line[index] == 0x09
      if isSpace, word.isEmpty { continue }
      if isSpace { break }
      word.append(line[index])
    }
    guard let letter = word.first, (letter | 0x20) &- UInt8(ascii: "a") < 26 else { return nil }
    let first = String(decoding: word, as: UTF8.self).lowercased()
    var meant = Request.Command.fetch
    if !["http://", "https://", "s3://"].contains(where: first.hasPrefix) {
      let nearest = nearestName(to: first, among: Request.Command.allCases.map { $0.rawValue })
      meant = nearest.flatMap(Request.Command.init(rawValue:)) ?? .hello
    }
    return "the line is not JSON: a request is a line such as \(meant.example)"
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

enum CommandParser {
  @inline(never) static func request(_ command: Request.Command, _ fields: RequestFields, in line: Span<UInt8>)
    throws(WireError) -> Request
  {
    switch command {
    case .fetch: .fetch(try FetchRequest(fields, in: line))
    case .put: .put(try put(fields, in: line))
    case .cancel: .cancel(try cancelTarget(fields, in: line))
    case .wait: .wait(try wait(fields, in: line))
    case .list: .list(try page(PageRequest(), fields, in: line))
    case .slots: .slots(try page(PageRequest(), fields, in: line))
    case .purge: .purge(try purge(fields, in: line))
    case .stats: .stats
    case .origins: .origins(try page(PageRequest(), fields, in: line))
    case .clients: .clients(try page(PageRequest(), fields, in: line))
    case .failures: .failures(try page(PageRequest(), fields, in: line))
    case .fleet: .fleet(try page(PageRequest(), fields, in: line))
    case .query:
      .query(
        QueryRequest(
          url: try fields.required(try fields.url(in: line), .url, of: .query),
          identifier: try fields.identifier(in: line), describe: try fields.flag(.describe, default: false, in: line)))
    case .entries: .entries(try entries(fields, in: line))
    case .subscribe: .subscribe(try topics(fields, in: line))
    case .hello: .hello
    case .ping: .ping
    case .config: .config
    case .reload: .reload
    }
  }

  private static let dataWanted =
    "the picture in base64, in a line of at most \(WireLimits.standard.line) bytes; a larger one comes as a descriptor"

  private static func put(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> PutRequest {
    var put = PutRequest(url: try fields.required(try fields.url(in: line), .url, of: .put))
    put.tags = try fields.tags(in: line)
    put.ttl = try fields.integer(.ttl, WireLimits.seconds, in: line)
    // What a line may hold bounds it.
    put.data = try? fields.string(.data, 1...Int.max, in: line)
    guard put.data != nil || !fields.present.contains(.data) else {
      throw fields.wrong(.data, .text(dataWanted), in: line)
    }
    put.isForAll = fields.present.contains(.audience)
    guard !put.isForAll || (try? fields.string(.audience, 1...3, in: line)) == "all" else {
      throw fields.wrong(.audience, .text("\"all\""), in: line)
    }
    return put
  }

  private static func cancelTarget(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> CancelTarget {
    guard fields.present.subtracting(.frame).fields.count == 1 else {
      throw WireError(.badRequest, "\"cancel\" takes exactly one of \"receipt\", \"slot\", \"tag\" and \"all\"")
    }
    if let receipt = try fields.receipt(in: line) { return .receipt(receipt) }
    if let slot = try fields.slot(in: line) { return .slot(slot) }
    if let tag = try fields.string(.tag, 1...WireLimits.tag, in: line) { return .tag(tag) }
    guard try fields.flag(.all, default: false, in: line) else { throw fields.wrong(.all, .text("true"), in: line) }
    return .all
  }

  private static func wait(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> WaitRequest {
    let receipt = try fields.required(try fields.receipt(in: line), .receipt, of: .wait)
    guard fields.present.contains(.deliver) else { return WaitRequest(receipt: receipt) }
    return WaitRequest(receipt: receipt, delivery: try fields.word(.deliver, default: Delivery.path, in: line))
  }

  private static func purge(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> PurgeRequest {
    var purge = PurgeRequest()
    purge.tier = try fields.word(.tier, default: PurgeRequest.Scope.all, in: line)
    purge.url = try fields.url(in: line)
    purge.identifier = try fields.identifier(in: line)
    purge.prefix = try fields.string(.prefix, 1...WireLimits.url, in: line)
    purge.host = try fields.string(.host, 1...WireLimits.host, in: line)
    purge.tag = try fields.string(.tag, 1...WireLimits.tag, in: line)
    purge.olderThan = try fields.integer(.olderThan, WireLimits.seconds, in: line)
    purge.unusedFor = try fields.integer(.unusedFor, WireLimits.seconds, in: line)
    purge.expired = try fields.flag(.expired, default: false, in: line)
    purge.soft = try fields.flag(.soft, default: false, in: line)
    if let problem = purge.host.flatMap(PurgeRequest.problem(ofHost:)) { throw .field(.host, "\"host\": \(problem)") }
    if let problem = purge.prefix.flatMap(PurgeRequest.problem(ofPrefix:)) {
      throw .field(.prefix, "\"prefix\": \(problem)")
    }
    if purge.identifier?.isEmpty == true, purge.url == nil {
      throw .field(.identifier, "\"identifier\" \(PurgeRequest.problemOfEmptyIdentifier)")
    }
    return purge
  }

  private static func entries(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> EntriesRequest {
    var entries = EntriesRequest()
    entries.tier = try fields.word(.tier, default: entries.tier, in: line)
    entries.page = try page(entries.page, fields, in: line)
    entries.url = try fields.url(in: line)
    entries.prefix = try fields.string(.prefix, 1...WireLimits.url, in: line)
    entries.part = try fields.string(.part, 1...WireLimits.part, in: line)
    return entries
  }

  private static func page(_ usual: PageRequest, _ fields: RequestFields, in line: Span<UInt8>) throws(WireError)
    -> PageRequest
  {
    var page = usual
    page.limit = try fields.integer(.limit, WireLimits.entries, in: line) ?? usual.limit
    page.cursor = try fields.string(.cursor, 1...WireLimits.cursor, in: line)
    return page
  }

  private static func topics(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> Topics {
    guard fields.present.contains(.events) else { return .all }
    let known = Topics.named.map { $0.key }
    guard let items = fields.container(.events)?.array, !items.isEmpty else {
      let names = known.map { "\"\($0)\"" }.joined(separator: ", ")
      throw fields.wrong(.events, .text("an array of some of \(names)"), in: line)
    }
    var topics: Topics = []
    for (place, item) in items.enumerated() {
      guard let topic = item.string.flatMap(Topics.init(name:)) else {
        throw .field(.events, WantedValue.oneOf(known).complaint(about: "events[\(place)]", sent: SentValue(item)))
      }
      topics.insert(topic)
    }
    return topics
  }
}

extension Request.Command {
  /// A request as it may be sent. None does harm when it is copied.
  var example: String {
    switch self {
    case .fetch, .put, .query, .purge: #"{"cmd":"\#(rawValue)","url":"https://example.org/a.jpg"}"#
    case .cancel, .wait: #"{"cmd":"\#(rawValue)","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}"#
    case .list, .slots, .stats, .origins, .clients, .failures, .fleet, .entries, .subscribe, .hello, .ping, .config,
      .reload:
      #"{"cmd":"\#(rawValue)"}"#
    }
  }
}
