/// Reads the fields of a line as the request of one command.
enum CommandParser {
  @inline(__always) static func request(_ command: Request.Command, _ fields: RequestFields, in line: Span<UInt8>)
    throws(WireError) -> Request
  {
    if command == .fetch { return .fetch(try FetchRequest(fields, in: line)) }
    return try rareRequest(command, fields, in: line)
  }

  @inline(never) private static func rareRequest(
    _ command: Request.Command, _ fields: RequestFields, in line: Span<UInt8>
  ) throws(WireError) -> Request {
    switch command {
    case .fetch: .fetch(try FetchRequest(fields, in: line))
    case .cancel: .cancel(try cancelTarget(fields, in: line))
    case .wait: .wait(try wait(fields, in: line))
    case .list: .list(try page(PageRequest(), fields, in: line))
    case .slots: .slots(try page(PageRequest(), fields, in: line))
    case .purge: .purge(try purge(fields, in: line))
    case .stats: .stats
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
    entries.prefix = try fields.string(.prefix, 1...WireLimits.url, in: line)
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
