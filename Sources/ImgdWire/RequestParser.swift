// A line becomes a request, or a refusal that says what would have been right.
//
// The line is gone over once: the scanner checks it and notes where each member lies. Only then is
// the command looked up and each of its fields read. A field that the command does not know refuses
// the line, before anything has been done.

/// A line that was read: its `id`, also when the rest is wrong, and what it asks for.
package struct ParsedLine: Sendable {
  package enum Content: Sendable {
    case request(Request)
    case refused(WireError)
  }

  package let id: RequestID
  package let content: Content
}

/// Reads requests; one serves all the connections of a loop.
package final class RequestParser {
  private let limits: WireLimits
  private var fields: [Field] = []

  package init(limits: WireLimits = WireLimits()) {
    self.limits = limits
  }

  package func parse(_ line: Span<UInt8>) -> ParsedLine {
    fields.removeAll(keepingCapacity: true)
    var id = RequestID.none
    do throws(WireError) {
      try scan(line)
      id = try readID(line)
      return ParsedLine(id: id, content: .request(try readRequest(line)))
    } catch {
      return ParsedLine(id: id, content: .refused(error))
    }
  }

  // MARK: The whole line

  private func scan(_ line: Span<UInt8>) throws(WireError) {
    do throws(JSONProblem) {
      var scanner = JSONScanner()
      scanner.skipSpace(line)
      if scanner.peek(line) == UInt8(ascii: "{") {
        try scanner.scanMembers(line, depth: 1) { fields.append(Field($0, in: line)) }
        try scanner.expectEnd(line)
        return try refuseDuplicates()
      }
      _ = try scanner.scanValue(line)
      try scanner.expectEnd(line)
    } catch {
      throw .notJSON(error)
    }
    throw .notAnObject
  }

  /// A line of a few fields is compared pairwise; one of many is not given the time for that.
  private func refuseDuplicates() throws(JSONProblem) {
    var seen: Set<String> = []
    for (index, field) in fields.enumerated() {
      let isRepeated =
        fields.count > 16
        ? !seen.insert(field.name).inserted
        : fields[..<index].contains { $0.name == field.name }
      if isRepeated { throw JSONProblem(offset: field.start, expected: "each key once") }
    }
  }

  private func readID(_ line: Span<UInt8>) throws(WireError) -> RequestID {
    guard let field = fields.first(where: { $0.name == "id" }) else { return .none }
    if let number = field.token.integer(in: line) { return .integer(number) }
    guard field.token.kind == .string, field.token.end - field.token.start - 2 <= limits.id else {
      throw field.refused(line, "a string of at most \(limits.id) bytes or an integer")
    }
    return .string(field.token.string(in: line))
  }

  private func readRequest(_ line: Span<UInt8>) throws(WireError) -> Request {
    guard let field = fields.first(where: { $0.name == "cmd" }) else { throw .noCommand }
    guard field.token.kind == .string else { throw field.refused(line, "a string") }
    let name = field.token.string(in: line)
    guard let command = Command(rawValue: name) else { throw .unknownCommand(name) }
    switch command {
    case .fetch: return .fetch(try readFetch(line))
    case .cancel: return .cancel(try readCancel(line))
    case .wait: return .wait(try readWait(line))
    case .purge: return .purge(try readPurge(line))
    case .query: return .query(try readQuery(line))
    case .entries: return .entries(try readEntries(line))
    case .subscribe: return .subscribe(try readTopics(line))
    case .list, .slots, .stats, .hello, .ping, .config, .reload:
      try each(of: command) { field throws(WireError) in throw field.unknown(to: command) }
      return command.bare
    }
  }

  /// Reads every field but those that all commands have.
  private func each(
    of command: Command, _ read: (Field) throws(WireError) -> Void
  ) throws(WireError) {
    for field in fields where !field.isCommon { try read(field) }
  }

  // MARK: Fetch

  private func readFetch(_ line: Span<UInt8>) throws(WireError) -> FetchRequest {
    var request = FetchRequest(url: "")
    var extras = FetchExtrasFields()
    var hasURL = false
    for field in fields where !field.isCommon {
      switch field.name {
      case "url":
        request.url = try field.string(line)
        hasURL = true
      case "deliver": request.delivery = try field.choice(line)
      case "cache": request.cache = try field.choice(line)
      case "identifier":
        request.identifier = try field.string(line, atMost: limits.identifier)
      case "store": request.store = try field.choice(line)
      case "format": request.format = try field.choice(line)
      case "priority": request.priority = try field.priority(line)
      case "progress": request.progress = try field.flag(line)
      case "events": request.events = try field.flag(line)
      case "wait": request.wait = try field.flag(line)
      case "detach": request.detach = try field.flag(line)
      case "http": request.http = try field.flag(line)
      default: try readExtra(field, line, into: &extras)
      }
    }
    guard hasURL else { throw .missing("url", of: .fetch) }
    request.extras = FetchExtras(extras)
    return request
  }

  private func readExtra(
    _ field: Field, _ line: Span<UInt8>, into extras: inout FetchExtrasFields
  ) throws(WireError) {
    switch field.name {
    case "receipt": extras.receipt = try field.receipt(line)
    case "slot": extras.slot = try field.name(line, atMost: limits.slot)
    case "headers": extras.headers = try readHeaders(field, line)
    case "resize": extras.resize = try readResize(field, line)
    case "timeout_ms":
      extras.timeout = .milliseconds(try field.integer(line, in: 1...86_400_000))
    case "max_bytes": extras.maxBytes = try field.integer(line, in: 1...Int.max)
    case "tags": extras.tags = try field.strings(line, atMost: limits.tags, bytes: limits.tag)
    case "ttl": extras.ttl = try field.integer(line, in: 0...315_360_000)
    default: throw field.unknown(to: .fetch)
    }
  }

  private func readHeaders(
    _ field: Field, _ line: Span<UInt8>
  ) throws(WireError) -> [RequestHeader] {
    var headers: [RequestHeader] = []
    for member in try field.members(line) {
      let name = member.name
      guard HeaderRules.isToken(name) else { throw .badHeader(name, "is not a header's name") }
      guard !HeaderRules.isReserved(name) else { throw .badHeader(name, "is the daemon's to set") }
      guard !headers.contains(where: { $0.name.lowercased() == name.lowercased() }) else {
        throw .badHeader(name, "is there twice")
      }
      let value = try member.string(line)
      guard HeaderRules.isValue(value) else {
        throw .badHeader(name, "has a control character in its value")
      }
      headers.append(RequestHeader(name, value))
    }
    guard headers.count <= limits.headers else {
      throw field.refused(line, "at most \(limits.headers) headers")
    }
    return headers
  }

  private func readResize(
    _ field: Field, _ line: Span<UInt8>
  ) throws(WireError) -> ResizeRequest {
    var resize = ResizeRequest()
    for member in try field.members(line) {
      switch member.name {
      case "width": resize.width = try member.integer(line, in: 1...65_535)
      case "height": resize.height = try member.integer(line, in: 1...65_535)
      case "fit": resize.fit = try member.choice(line)
      case "enlarge": resize.enlarge = try member.flag(line)
      default: throw member.unknown(to: .fetch)
      }
    }
    let sides = [resize.width, resize.height].compactMap { $0 }.count
    guard sides == 2 || (sides == 1 && resize.fit == .contain) else {
      throw field.refused(line, "a width and a height, or one of them with fit contain")
    }
    return resize
  }

  // MARK: The other commands

  private func readCancel(_ line: Span<UInt8>) throws(WireError) -> CancelTarget {
    var targets: [CancelTarget] = []
    try each(of: .cancel) { field throws(WireError) in
      switch field.name {
      case "receipt": targets.append(.receipt(try field.receipt(line)))
      case "slot": targets.append(.slot(try field.name(line, atMost: limits.slot)))
      case "tag": targets.append(.tag(try field.name(line, atMost: limits.tag)))
      case "all":
        guard try field.flag(line) else { throw field.refused(line, "true, or no such field") }
        targets.append(.all)
      default: throw field.unknown(to: .cancel)
      }
    }
    guard let target = targets.first, targets.count == 1 else { throw .oneTarget }
    return target
  }

  private func readWait(_ line: Span<UInt8>) throws(WireError) -> WaitRequest {
    var receipt: ReceiptID?
    var delivery: Delivery?
    try each(of: .wait) { field throws(WireError) in
      switch field.name {
      case "receipt": receipt = try field.receipt(line)
      case "deliver": delivery = try field.choice(line)
      default: throw field.unknown(to: .wait)
      }
    }
    guard let receipt else { throw .missing("receipt", of: .wait) }
    return WaitRequest(receipt: receipt, delivery: delivery)
  }

  private func readPurge(_ line: Span<UInt8>) throws(WireError) -> PurgeRequest {
    var purge = PurgeRequest()
    try each(of: .purge) { field throws(WireError) in
      switch field.name {
      case "tier": purge.tier = try field.choice(line)
      case "url": purge.url = try field.string(line)
      case "identifier": purge.identifier = try field.string(line, atMost: limits.identifier)
      case "prefix": purge.prefix = try field.name(line, atMost: limits.url)
      case "host": purge.host = try field.name(line, atMost: 255)
      case "tag": purge.tag = try field.name(line, atMost: limits.tag)
      case "older_than": purge.olderThan = try field.integer(line, in: 0...Int(Int32.max))
      case "unused_for": purge.unusedFor = try field.integer(line, in: 0...Int(Int32.max))
      case "expired": purge.expired = try field.flag(line)
      case "soft": purge.soft = try field.flag(line)
      default: throw field.unknown(to: .purge)
      }
    }
    return purge
  }

  private func readQuery(_ line: Span<UInt8>) throws(WireError) -> QueryRequest {
    var url: String?
    var identifier: String?
    try each(of: .query) { field throws(WireError) in
      switch field.name {
      case "url": url = try field.string(line)
      case "identifier": identifier = try field.string(line, atMost: limits.identifier)
      default: throw field.unknown(to: .query)
      }
    }
    guard let url else { throw .missing("url", of: .query) }
    return QueryRequest(url: url, identifier: identifier)
  }

  private func readEntries(_ line: Span<UInt8>) throws(WireError) -> EntriesRequest {
    var entries = EntriesRequest()
    try each(of: .entries) { field throws(WireError) in
      switch field.name {
      case "tier": entries.tier = try field.choice(line)
      case "limit": entries.limit = try field.integer(line, in: 1...1_000)
      case "cursor": entries.cursor = try field.name(line, atMost: 64)
      case "prefix": entries.prefix = try field.name(line, atMost: limits.url)
      default: throw field.unknown(to: .entries)
      }
    }
    return entries
  }

  private func readTopics(_ line: Span<UInt8>) throws(WireError) -> Set<Topic> {
    var topics: Set<Topic>?
    try each(of: .subscribe) { field throws(WireError) in
      guard field.name == "events" else { throw field.unknown(to: .subscribe) }
      topics = []
      for name in try field.strings(line, atMost: 16, bytes: 64) {
        guard let topic = Topic(rawValue: name) else {
          throw field.refused(line, "an array of \(listed(Topic.allCases.map(\.rawValue)))")
        }
        topics?.insert(topic)
      }
    }
    guard let topics, !topics.isEmpty else { throw .missing("events", of: .subscribe) }
    return topics
  }
}
