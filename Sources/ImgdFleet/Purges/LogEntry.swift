internal import ImgdCache

/// An entry of the stream of purges as it was read; anybody may have written it.
struct LogEntry {
  let number: UInt64
  let fields: [RedisReply]

  /// The stream's name for the purge with a number.
  static func id(_ number: UInt64) -> String { "0-\(number)" }

  /// Nil if its name is not one that this log uses.
  init?(_ reply: RedisReply) {
    guard let parts = reply.list, parts.count == 2, let number = Self.number(parts[0]) else { return nil }
    self.number = number
    fields = parts[1].list ?? []
  }

  /// All entries of an answer; their numbers have to be above `number` and ascend.
  static func all(in reply: RedisReply, after number: UInt64) throws(FleetTrouble) -> [LogEntry] {
    var entries: [LogEntry] = []
    for part in reply.list ?? [] {
      guard let entry = LogEntry(part), entry.number > entries.last?.number ?? number else { throw foreign }
      entries.append(entry)
    }
    return entries
  }

  private static let foreign = FleetTrouble(
    .refused, "the stream of purges has entries of somebody else: delete it, or set another Fleet.Namespace=")

  private static func number(_ reply: RedisReply) -> UInt64? {
    guard let text = reply.text, text.hasPrefix("0-") else { return nil }
    return UInt64(text.dropFirst(2))
  }
}

/// The state of the log, to be compared with the last purge that was heard.
struct LogSight {
  var generation: UInt64?
  /// The newest entry; nil in an empty log.
  var newest: RedisReply?
  /// The entry with the number of the last purge that was heard.
  var heard: RedisReply?

  /// The number of the newest purge; 0 before the first.
  func last(of stream: String) throws(FleetTrouble) -> UInt64 {
    guard let newest else { return 0 }
    guard let entry = LogEntry(newest) else {
      throw FleetTrouble(
        .refused, "its stream \(stream) has entries of somebody else: delete it, or set another Fleet.Namespace=")
    }
    return entry.number
  }

  /// Why purges since a position may be missing; nil if none is.
  func loss(since position: FleetPosition) -> String? {
    guard generation == position.generation else { return "the server was emptied, or is another one" }
    guard position.number > 0 else { return nil }
    guard let entry = heard.flatMap({ LogEntry($0) }) else {
      return "the purge \(position.number) is not in the log any more, or not yet"
    }
    return Self.nonce(of: entry.fields) == position.nonce
      ? nil : "the purge \(position.number) is another one than was heard"
  }

  /// Whether the log was put back to a state before a position, rather than trimmed beyond it; `last` is its newest
  /// purge.
  func isEarlier(than position: FleetPosition, last: UInt64) -> Bool {
    guard generation == position.generation, position.number > 0 else { return false }
    return last < position.number || heard != nil
  }

  private static func nonce(of fields: [RedisReply]) -> UInt64 {
    PurgeEntry(fields, serverNow: 0, wallNow: 0)?.purge.nonce ?? 0
  }
}
