import ImgdDecode
import ImgdSystem
import ImgdWire

/// An order with those who wait for it.
struct QueuedOrder {
  let order: DecodeOrder
  /// How long it is expected to take.
  let expected: DecodeTime
  var claims: DecodeClaims
  let then: (DecodeAnswer) -> Void
  /// Whether a decoder has had it, and ended without an answer.
  var wasReturned = false
}

/// Orders that wait for a decoder, and who pays for those that have one: by priority; then users take turns, inside a
/// user its connections, and inside a connection its shares, by the time that they use. Inside a share the first
/// comes first.
///
/// An order for which several wait stands in the line of each. It starts with the first whose turn comes, and that one
/// pays.
///
/// A user who has a decoder gets the last free one only for orders that are expected to end in a moment. This
/// is not decided by connections and shares: anybody can have as many of those as they like, and with two of them
/// would have all decoders for as long as an order may take.
struct DecodeQueue {
  private typealias Shares = TurnLine<DecodeAccount, ArrivalLine>
  private typealias Users = TurnLine<TurnOfUser, TurnLine<Claimant, Shares>>

  private struct Waiting {
    var queued: QueuedOrder
    var places: [DecodeClaim: QueuePlace] = [:]
  }

  private struct Running {
    let place: QueuePlace
    let since: Instant
  }

  private var lines: [Priority: Users] = [:]
  private var waiting: [UInt64: Waiting] = [:]
  private var running: [UInt64: Running] = [:]
  /// How many decoders each user has.
  private var held: [UInt32: Int] = [:]
  private var arrivals: Int64 = 0

  /// The bytes of the pictures that wait.
  private(set) var bytes = 0

  var count: Int { waiting.count }
  var isEmpty: Bool { waiting.isEmpty }

  // MARK: In and out

  mutating func add(_ queued: QueuedOrder) {
    let serial = queued.order.serial
    precondition(waiting[serial] == nil && running[serial] == nil, "an order is there once")
    waiting[serial] = Waiting(queued: queued)
    bytes += queued.order.picture.count
    for claim in queued.claims.all { stand(for: claim, serial) }
  }

  /// Takes out an order that is given up; nil when it does not wait.
  mutating func remove(serial: UInt64) -> QueuedOrder? {
    guard let order = waiting.removeValue(forKey: serial) else { return nil }
    for place in order.places.values { lines[place.claim.priority]?.remove(place) }
    bytes -= order.queued.order.picture.count
    return order.queued
  }

  /// Somebody more waits for an order; false when it does not wait itself.
  mutating func join(_ serial: UInt64, _ claim: DecodeClaim) -> Bool {
    guard waiting[serial] != nil else { return false }
    if waiting[serial]?.queued.claims.add(claim) == true { stand(for: claim, serial) }
    return true
  }

  /// Somebody waits for it no longer: it keeps the places of the others. False when it does not wait itself.
  mutating func leave(_ serial: UInt64, _ claim: DecodeClaim) -> Bool {
    guard waiting[serial] != nil else { return false }
    if waiting[serial]?.queued.claims.remove(claim) == true,
      let place = waiting[serial]?.places.removeValue(forKey: claim)
    {
      lines[claim.priority]?.remove(place)
    }
    return true
  }

  private mutating func stand(for claim: DecodeClaim, _ serial: UInt64) {
    guard let expected = waiting[serial]?.queued.expected else { return }
    arrivals += 1
    let place = QueuePlace(serial: serial, claim: claim, arrival: arrivals, expected: expected)
    waiting[serial]?.places[claim] = place
    lines[claim.priority, default: Users()].insert(place)
  }

  // MARK: Turns

  /// Whether there is an order for a free decoder, which may be the last free one.
  func hasNext(forLast isLast: Bool) -> Bool {
    let choice = choice(forLast: isLast)
    return lines.values.contains { $0.first(by: choice) != nil }
  }

  /// Takes out the order whose turn it is; it runs until it is settled.
  mutating func removeNext(forLast isLast: Bool, at now: Instant) -> QueuedOrder? {
    let choice = choice(forLast: isLast)
    for priority in [Priority.high, .normal, .low] {
      if let place = lines[priority]?.removeFirst(by: choice) { return start(place, at: now) }
    }
    return nil
  }

  private func choice(forLast isLast: Bool) -> (TurnOfUser) -> OrderChoice {
    let held = isLast ? held : [:]
    return { held[$0.uid] == nil ? .any : .quick }
  }

  private mutating func start(_ place: QueuePlace, at now: Instant) -> QueuedOrder? {
    waiting[place.serial]?.places[place.claim] = nil
    running[place.serial] = Running(place: place, since: now)
    held[place.uid, default: 0] += 1
    return remove(serial: place.serial)
  }

  /// The decoder of an order is free: the account that it ran for is charged with the time that it took.
  mutating func settle(_ serial: UInt64, at now: Instant) {
    guard let run = running.removeValue(forKey: serial) else { return }
    held.countDown(run.place.uid)
    lines[run.place.claim.priority]?.settle(run.place, took: DecodeTime(now - run.since))
  }

  /// Takes out all that wait, in their turns.
  mutating func removeAll(at now: Instant) -> [QueuedOrder] {
    var all: [QueuedOrder] = []
    while let next = removeNext(forLast: false, at: now) {
      settle(next.order.serial, at: now)
      all.append(next)
    }
    return all
  }
}

extension QueuePlace {
  fileprivate var uid: UInt32 { claim.account.claimant.uid }
}

/// A user, who takes turns with other users.
private struct TurnOfUser: TurnMember {
  let uid: UInt32

  init(holding place: QueuePlace) { uid = place.uid }
}

/// A connection takes turns with the others of its user.
extension Claimant: TurnMember {
  init(holding place: QueuePlace) { self = place.claim.account.claimant }
}

/// A share takes turns with the others of its connection.
extension DecodeAccount: TurnMember {
  init(holding place: QueuePlace) { self = place.claim.account }
}
