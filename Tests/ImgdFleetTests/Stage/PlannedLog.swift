import ImgdCache

@testable import ImgdFleet

/// The stream of purges of a planned server.
struct PlannedLog {
  private var entries: [(id: String, fields: [String])] = []

  /// The number of the newest purge.
  private(set) var last: UInt64 = 0

  // MARK: What other hosts do

  /// Adds a purge as another host would.
  mutating func add(_ nonce: UInt64, _ filter: PurgeFilter = PurgeFilter()) {
    let purge = FleetPurge(filter, isSoft: false, askedAt: 0, nonce: nonce)
    add(PurgeEntry(purge, askedAt: 1, host: "other").fields)
  }

  /// Adds an entry as no host would.
  mutating func add(_ fields: [String], id: String? = nil) {
    last += 1
    entries.append((id ?? LogEntry.id(last), fields))
  }

  mutating func cut(toLast count: Int) { entries.removeFirst(entries.count - count) }

  mutating func remove(_ number: UInt64) { entries.removeAll { $0.id == LogEntry.id(number) } }

  // MARK: What is asked

  /// From one place to another as `XRANGE` has them, at most so many.
  func range(_ start: String, _ end: String, atMost count: Int = .max) -> RedisReply {
    let found = entries.filter { entry in
      let isBehind =
        start.hasPrefix("(")
        ? Self.place(start.dropFirst()) < Self.place(entry.id)
        : Self.place(start) <= Self.place(entry.id)
      return isBehind && (end == "+" || Self.place(entry.id) <= Self.place(end))
    }
    return .list(found.prefix(count).map(Self.reply))
  }

  var newest: RedisReply { .list(entries.suffix(1).map(Self.reply)) }

  private static func place(_ id: some StringProtocol) -> (UInt64, UInt64) {
    let parts = id.split(separator: "-").map { UInt64($0) ?? 0 }
    return (parts[0], parts[1])
  }

  private static func reply(_ entry: (id: String, fields: [String])) -> RedisReply {
    .list([.text(entry.id), .list(entry.fields.map { .text($0) })])
  }
}

extension RedisReply {
  /// A string, as the server sends it.
  static func text(_ text: String) -> RedisReply { .bytes(Array(text.utf8)) }
}
