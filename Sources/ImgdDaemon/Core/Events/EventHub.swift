import ImgdCache
import ImgdSystem
import ImgdWire

/// Who has subscribed to what, and the news for them.
///
/// An event is encoded once, whoever hears it; nothing is encoded when nobody listens.
final class EventHub {
  private var subscribers: [ClientSession] = []
  private var wanted: Topics = []
  private(set) var pressure = Statistics.Pressure()

  func subscribe(_ session: ClientSession, to topics: Topics) {
    if session.subscription == nil { subscribers.append(session) }
    let before = session.subscription ?? Subscription()
    session.subscription = before.extended(to: topics)
    wanted.formUnion(topics)
  }

  func unsubscribe(_ session: ClientSession) {
    guard session.subscription != nil else { return }
    session.subscription = nil
    subscribers.removeAll { $0 === session }
    wanted = subscribers.reduce(into: []) { $0.formUnion($1.subscription?.topics ?? []) }
  }

  // MARK: News

  func job(_ receipt: ReceiptID, url: String, _ state: FetchJob.State) {
    tell(.jobs, "job") { event in
      event.field("receipt", receipt)
      event.field("url", url)
      event.field("state", state.rawValue)
    }
  }

  func cache(_ what: CacheChange, _ removal: Removal, tier: Tier = .memory) {
    guard removal.entries > 0 else { return }
    cache(what, entries: removal.entries, bytes: removal.bytes, tier: tier)
  }

  /// What the disk tier does by itself.
  func tell(_ news: DiskNews) {
    switch news {
    case .stored(let bytes): cache(.stored, entries: 1, bytes: bytes, tier: .disk)
    case .evicted(let removal): cache(.evicted, removal, tier: .disk)
    case .trouble(let reason): Log.warning(.disk, "the disk tier is in trouble: \(reason)")
    case .damaged(let reason):
      Log.warning(.disk, "a picture on disk is damaged and was removed: \(reason)")
    case .recovered: Log.notice(.disk, "the disk tier works again")
    }
  }

  func cache(_ what: CacheChange, entries: Int, bytes: Int, tier: Tier = .memory) {
    tell(.cache, "cache") { event in
      event.field("what", what.rawValue)
      event.field("tier", tier.rawValue)
      event.field("entries", entries)
      event.field("bytes", bytes)
    }
  }

  func pressure(source: String, removed: Removal) {
    pressure.events += 1
    pressure.removedBytes += removed.bytes
    pressure.last = WallClock.seconds
    tell(.pressure, "pressure") { event in
      event.field("source", source)
      event.field("removed_entries", removed.entries)
      event.field("removed_bytes", removed.bytes)
    }
  }

  func configuration(wasTaken: Bool) {
    tell(.config, "config") { $0.field("what", wasTaken ? "reloaded" : "refused") }
  }

  private func tell(
    _ topic: Topics, _ name: StaticString, _ describe: (inout JSONWriter) -> Void
  ) {
    guard wanted.contains(topic) else { return }
    let event = Self.encode(name, describe)
    for session in subscribers where session.subscription?.topics.contains(topic) == true {
      session.tell(event)
    }
  }

  /// What a subscriber is told who was too slow for some of the news.
  static func overflow(lost: Int) -> [UInt8] {
    encode("overflow") { $0.field("lost", lost) }
  }

  /// An event without its end, where each subscriber's own number goes.
  private static func encode(
    _ name: StaticString, _ describe: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.name("event")
    writer.value(static: name)
    describe(&writer)
    return writer.bytes
  }
}

enum CacheChange: String {
  case stored
  case evicted
  case purged
  case removedAll = "removed_all"
}

/// What one connection hears of, how far it is, and what it missed.
struct Subscription {
  private(set) var topics: Topics = []
  private var sequence = 0
  var lost = 0

  func extended(to more: Topics) -> Subscription {
    var extended = self
    extended.topics.formUnion(more)
    return extended
  }

  mutating func append(_ event: [UInt8], to bytes: inout [UInt8]) {
    sequence += 1
    bytes.append(contentsOf: event)
    bytes.append(contentsOf: ",\"seq\":\(sequence)}\n".utf8)
  }

  mutating func takeLost() -> Int? {
    defer { lost = 0 }
    return lost > 0 ? lost : nil
  }
}
