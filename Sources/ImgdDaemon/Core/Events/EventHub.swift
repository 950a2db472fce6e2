import ImgdCache
import ImgdProgram
import ImgdSystem
import ImgdWire

/// The subscribers, and the events for them.
///
/// An event is encoded once for all of them, and not at all when nobody listens. A few subscribers are told at once;
/// telling many takes turns with other work, so that the one who caused the event does not pay for it.
final class EventHub {
  private static let mostAtOnce = 16

  private let turns: Turns
  private let access: Access
  private var subscribers: [Subscriber] = []
  private var byClient: [UInt64: Subscriber] = [:]
  private var wanted: Topics = []
  private var log = EventLog()
  private var isTelling = false
  /// The place of the subscriber who is told next.
  private var next = 0
  /// What waits until everybody has heard the log up to a number, in the order of the numbers.
  private var waiting = Fifo<(number: UInt64, then: () -> Void)>()
  private(set) var pressure = Statistics.Pressure()

  init(turns: Turns, _ access: Access) {
    self.turns = turns
    self.access = access
  }

  func subscribe(_ client: ReplyPlace, to topics: Topics) {
    let known = byClient[client.number]
    let subscriber = known ?? Subscriber(client, at: log, access)
    if known == nil {
      byClient[client.number] = subscriber
      subscribers.append(subscriber)
      client.beginHearing { subscriber.catchUp() }
    }
    subscriber.topics.formUnion(topics)
    wanted.formUnion(topics)
  }

  func unsubscribe(_ client: ReplyPlace) {
    guard !byClient.isEmpty, let subscriber = byClient.removeValue(forKey: client.number) else { return }
    subscribers.removeAll { $0 === subscriber }
    next = 0
    wanted = subscribers.reduce(into: []) { $0.formUnion($1.topics) }
  }

  func hasSubscribers(to topic: Topics) -> Bool { wanted.rawValue & topic.rawValue != 0 }

  /// Tells of a fetch of a user.
  func job(
    _ receipt: ReceiptID, url: String, of uid: UInt32, _ state: FetchState,
    _ more: (inout JSONWriter) -> Void = { _ in }
  ) {
    tell(.jobs, "job", to: [uid]) { event in
      event.field("receipt", receipt)
      event.field("url", url)
      event.field("state", state.rawValue)
      more(&event)
    }
  }

  /// Tells how a fetch has ended: where its picture came from, or what went wrong.
  func job(_ receipt: ReceiptID, url: String, of uid: UInt32, endedWith outcome: FetchOutcome) {
    job(receipt, url: url, of: uid, outcome.state) { event in
      if let source = outcome.source { event.field("source", source.rawValue) }
      guard let error = outcome.error else { return }
      event.field("code", error.code.rawValue)
      let status = error.details.first { $0.name == "status" }?.value.integer
      if let status { event.field("status", Int(status)) }
    }
  }

  /// Tells of a picture that was shown at once.
  func hit(_ receipt: ReceiptID, url: String, of uid: UInt32, from source: DeliveredImage.Source) {
    job(receipt, url: url, of: uid, .done) { $0.field("source", source.rawValue) }
  }

  func stored(_ image: CachedImage, bytes: Int, tier: Tier) {
    cache(.stored, entries: 1, bytes: bytes, tier: tier, url: image.url.text, of: image)
  }

  /// Tells of a purge that is in force, whether or not it found anything: copies of what it means may be elsewhere.
  func purge(_ what: CacheChange, _ removal: Removal, tier: Tier) {
    cache(what, entries: removal.entries, bytes: removal.bytes, tier: tier)
  }

  func cache(_ what: CacheChange, _ removal: Removal, tier: Tier = .memory) {
    if removal.entries > 0 { purge(what, removal, tier: tier) }
  }

  func tell(_ news: DiskNews) {
    switch news {
    case .stored(let image, let bytes): stored(image, bytes: bytes, tier: .disk)
    case .evicted(let removal): cache(.evicted, removal, tier: .disk)
    case .trouble(let reason): Log.warning(.disk, .diskTrouble, "the disk tier is in trouble: \(reason)")
    case .damaged(let reason):
      Log.warning(.disk, .pictureDamaged, "a picture on disk is damaged and was removed: \(reason)")
    case .recovered: Log.notice(.disk, "the disk tier works again")
    }
  }

  private func cache(
    _ what: CacheChange, entries: Int, bytes: Int, tier: Tier, url: String? = nil, of image: CachedImage? = nil
  ) {
    tell(.cache, "cache", to: image?.claims.users) { event in
      event.field("what", what.rawValue)
      event.field("tier", tier.rawValue)
      event.field("entries", entries)
      event.field("bytes", bytes)
      if let url { event.field("url", url) }
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

  func configuration(wasTaken: Bool) { tell(.config, "config") { $0.field("what", wasTaken ? "reloaded" : "refused") } }

  /// Calls back when everything has been told: within this call, unless the telling takes turns.
  func whenTold(_ then: @escaping () -> Void) {
    guard isTelling else { return then() }
    waiting.append((log.last, then))
  }

  /// Tells an event that is about some users, or without them about everybody.
  private func tell(
    _ topic: Topics, _ name: StaticString, to users: @autoclosure () -> [UInt32]? = nil,
    _ describe: (inout JSONWriter) -> Void
  ) {
    guard wanted.contains(topic) else { return }
    let (event, users) = (Self.encode(name, describe), users())
    guard isTelling || subscribers.count > Self.mostAtOnce else {
      for subscriber in subscribers where subscriber.isMeant(by: topic, users) { subscriber.hear(event) }
      return
    }
    log.append(event, of: topic, to: users)
    guard !isTelling else { return }
    isTelling = true
    turns.carryOut { [unowned self] in tellOne() }
  }

  /// Tells one subscriber all that is new; returns whether there is more to tell.
  private func tellOne() -> Bool {
    if next < subscribers.count {
      subscribers[next].hear(log)
      next += 1
      return true
    }
    next = 0
    let told = subscribers.reduce(log.last) { min($0, $1.heard) }
    while let first = waiting.first, first.number <= told {
      _ = waiting.popFirst()
      first.then()
    }
    isTelling = told < log.last
    if !isTelling { log.empty() }
    return isTelling
  }

  /// An event without its end, where each subscriber's own number goes.
  static func encode(_ name: StaticString, _ describe: (inout JSONWriter) -> Void) -> [UInt8] {
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
  /// A soft purge has left the pictures in place, and has each confirmed before it is shown as fresh.
  case marked
}

/// One connection that hears events, how many it has had, and how many it missed because it did not read.
final class Subscriber {
  private let client: ReplyPlace
  private let access: Access
  var topics: Topics = []
  private var sequence = 0
  private var lost = 0
  /// The number of the last event of the log that it has heard or missed.
  private(set) var heard: UInt64
  private var tally: EventLog.Tally

  init(_ client: ReplyPlace, at log: EventLog, _ access: Access) {
    self.client = client
    self.access = access
    heard = log.last
    tally = log.tally
  }

  /// Whether an event is for it: of a topic that it wants, and about a user whose work it sees.
  func isMeant(by topic: Topics, _ users: [UInt32]?) -> Bool {
    topics.contains(topic)
      && (users.map { $0.contains(client.peer.uid) || access.seesEverything(client.peer) } ?? true)
  }

  /// Sends an encoded event, without its end, under the next number; for a client that is behind it is lost.
  func hear(_ event: [UInt8]) {
    guard client.isOpen else { return }
    guard !client.isFull else { return lost += 1 }
    sequence += 1
    client.write { line in
      line.bytes.append(contentsOf: event)
      line.bytes.append(contentsOf: ",\"seq\":\(sequence)}\n".utf8)
    }
  }

  func hear(_ log: EventLog) {
    guard heard < log.last else { return }
    let (events, before) = log.events(after: heard)
    let missed = before.number(of: topics, since: tally)
    // How many of them were about others is nothing to somebody who does not see these.
    lost += access.seesEverything(client.peer) ? missed : min(missed, 1)
    for event in events where isMeant(by: event.topic, event.users) { hear(event.text) }
    heard = log.last
    tally = log.tally
  }

  /// Tells how many events were lost, now that the client has read what came before them.
  func catchUp() {
    guard lost > 0 else { return }
    let event = EventHub.encode("overflow") { $0.field("lost", lost) }
    lost = 0
    hear(event)
  }
}

/// The newest events, for subscribers who are told in turns.
///
/// It is bounded: an event that has to make room is lost to those who have not heard it by then, and the tally kept
/// with each event says how many were lost of which topics.
struct EventLog {
  static let most = 1_024

  struct Tally {
    private var counts = [0, 0, 0, 0]

    mutating func count(_ topic: Topics) { counts[topic.rawValue.trailingZeroBitCount] += 1 }

    /// How many events of some topics came after an earlier tally.
    func number(of topics: Topics, since earlier: Tally) -> Int {
      counts.indices.reduce(0) { sum, index in
        topics.contains(Topics(rawValue: 1 << index)) ? sum + counts[index] - earlier.counts[index] : sum
      }
    }
  }

  struct Event {
    let topic: Topics
    let users: [UInt32]?
    /// Encoded, but for its end.
    let text: [UInt8]
    /// The tally of all events before this one.
    fileprivate let before: Tally
  }

  private var events = Fifo<Event>()
  private(set) var last: UInt64 = 0
  private(set) var tally = Tally()

  mutating func append(_ text: [UInt8], of topic: Topics, to users: [UInt32]? = nil) {
    if events.count == Self.most { _ = events.popFirst() }
    events.append(Event(topic: topic, users: users, text: text, before: tally))
    tally.count(topic)
    last += 1
  }

  /// The events after a number that are still here, and the tally before the first of them.
  func events(after number: UInt64) -> (events: [Event], before: Tally) {
    let passed = events.count - Int(min(last - number, UInt64(events.count)))
    let rest = Array(events.all[passed...])
    return (rest, rest.first?.before ?? tally)
  }

  mutating func empty() { events = Fifo() }
}
