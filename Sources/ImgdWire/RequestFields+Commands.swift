/// The fields understood as one command.
extension RequestFields {
  @inline(__always)
  func request(
    _ command: Request.Command, in line: Span<UInt8>
  ) throws(WireError) -> Request {
    if command == .fetch { return .fetch(try fetch(in: line)) }
    return try rareRequest(command, in: line)
  }

  @inline(never)
  private func rareRequest(
    _ command: Request.Command, in line: Span<UInt8>
  ) throws(WireError) -> Request {
    switch command {
    case .fetch: .fetch(try fetch(in: line))
    case .cancel: .cancel(try cancelTarget(in: line))
    case .wait: .wait(try wait(in: line))
    case .list: .list
    case .slots: .slots
    case .purge: .purge(try purge(in: line))
    case .stats: .stats
    case .query:
      .query(
        url: try required(try url(in: line), .url, of: .query),
        identifier: try identifier(in: line))
    case .entries: .entries(try entries(in: line))
    case .subscribe: .subscribe(try topics(in: line))
    case .hello: .hello
    case .ping: .ping
    case .config: .config
    case .reload: .reload
    }
  }

  private func cancelTarget(in line: Span<UInt8>) throws(WireError) -> CancelTarget {
    guard present.subtracting(.frame).fields.count == 1 else {
      throw WireError(
        .badRequest,
        "\"cancel\" takes exactly one of \"receipt\", \"slot\", \"tag\" and \"all\"")
    }
    if let receipt = try receipt(in: line) { return .receipt(receipt) }
    if let slot = try slot(in: line) { return .slot(slot) }
    if let tag = try string(.tag, 1...WireLimits.tag, in: line) { return .tag(tag) }
    guard try flag(.all, default: false, in: line) else {
      throw wrong(.all, .text("true"), in: line)
    }
    return .all
  }

  private func wait(in line: Span<UInt8>) throws(WireError) -> WaitRequest {
    let receipt = try required(try receipt(in: line), .receipt, of: .wait)
    guard present.contains(.deliver) else { return WaitRequest(receipt: receipt) }
    return WaitRequest(
      receipt: receipt, delivery: try word(.deliver, default: Delivery.path, in: line))
  }

  private func purge(in line: Span<UInt8>) throws(WireError) -> PurgeRequest {
    var purge = PurgeRequest()
    purge.tier = try word(.tier, default: PurgeRequest.Scope.all, in: line)
    purge.url = try url(in: line)
    purge.identifier = try identifier(in: line)
    purge.prefix = try string(.prefix, 1...WireLimits.url, in: line)
    purge.host = try string(.host, 1...WireLimits.host, in: line)
    purge.tag = try string(.tag, 1...WireLimits.tag, in: line)
    purge.olderThan = try integer(.olderThan, WireLimits.seconds, in: line)
    purge.unusedFor = try integer(.unusedFor, WireLimits.seconds, in: line)
    purge.expired = try flag(.expired, default: false, in: line)
    purge.soft = try flag(.soft, default: false, in: line)
    return purge
  }

  private func entries(in line: Span<UInt8>) throws(WireError) -> EntriesRequest {
    var entries = EntriesRequest()
    entries.tier = try word(.tier, default: entries.tier, in: line)
    entries.limit = try integer(.limit, WireLimits.entries, in: line) ?? entries.limit
    entries.cursor = try string(.cursor, 1...WireLimits.cursor, in: line)
    entries.prefix = try string(.prefix, 1...WireLimits.url, in: line)
    return entries
  }

  private func topics(in line: Span<UInt8>) throws(WireError) -> Topics {
    guard present.contains(.events) else { return .all }
    guard let names = container(.events)?.array else {
      throw wrong(.events, .topics, in: line)
    }
    var topics: Topics = []
    for name in names {
      guard let topic = name.string.flatMap(Topics.init(name:)) else {
        throw wrong(.events, .topics, in: line)
      }
      topics.insert(topic)
    }
    return topics
  }

  @inline(__always)
  func url(in line: Span<UInt8>) throws(WireError) -> String? {
    guard let url = try string(.url, 0...Int.max, in: line) else { return nil }
    let length = url.utf8.count
    guard length > 0, length <= WireLimits.url else { throw badURL(length) }
    return url
  }

  @inline(never)
  private func badURL(_ length: Int) -> WireError {
    .field(
      .url, "\"url\" has \(length) bytes; it takes 1 to \(WireLimits.url)", code: .badURL)
  }

  @inline(__always)
  func identifier(in line: Span<UInt8>) throws(WireError) -> String? {
    try string(.identifier, 0...WireLimits.identifier, in: line)
  }

  func slot(in line: Span<UInt8>) throws(WireError) -> String? {
    try string(.slot, 1...WireLimits.slot, in: line)
  }
}

extension Topics {
  fileprivate static let named: KeyValuePairs<String, Topics> = [
    "jobs": .jobs, "cache": .cache, "pressure": .pressure, "config": .config,
  ]

  fileprivate init?(name: String) {
    guard let topic = Self.named.first(where: { $0.key == name })?.value else { return nil }
    self = topic
  }
}

extension WantedValue {
  fileprivate static let topics = WantedValue.text(
    "an array of " + Topics.named.map { "\"\($0.key)\"" }.joined(separator: ", "))
}
