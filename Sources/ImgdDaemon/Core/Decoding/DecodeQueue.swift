import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdWire

/// An order with those who wait for it.
struct QueuedOrder {
  let order: DecodeOrder
  let picture: BodyChecksum
  var expected: ServiceTime
  /// How often each wish for it was made.
  var claims: [DecodeClaim: Int]
  let then: (DecodeAnswer) -> Void
  /// Whether a decoder has had it, and ended without an answer.
  var wasReturned = false
}

/// Orders that wait for a decoder, and the accounts that pay for them. Users, their connections and the shares of
/// these take turns by the time that they use; within a share priority decides, and then the order of arrival.
///
/// An order that several wait for stands in the line of each, and the first whose turn comes pays.
///
/// A user who has a decoder gets the last free one only for orders that end in a moment. Connections and shares, of
/// which anybody can have many, do not count here: two of them could hold all decoders.
struct DecodeQueue {
  private struct Waiting {
    var queued: QueuedOrder
    let since: Instant
    var claims: [DecodeClaim: Claim] = [:]
  }

  private struct Running {
    let claim: Claim
    let since: Instant
    let picture: BodyChecksum
  }

  private let line = TurnLine(.user, to: .share)
  private var slow = SlowPictures()
  private var waiting: [UInt64: Waiting] = [:]
  private var running: [UInt64: Running] = [:]
  /// How many decoders each user has.
  private var held: [UInt32: Int] = [:]
  private var arrivals: Int64 = 0
  /// How long orders waited for a decoder, and how long decoders had them.
  private(set) var latencies = DecodingFigures.Latencies()

  var count: Int { waiting.count }
  var isEmpty: Bool { waiting.isEmpty }

  mutating func add(_ queued: QueuedOrder, at now: Instant) {
    let serial = queued.order.serial
    precondition(waiting[serial] == nil && running[serial] == nil, "an order is there once")
    var queued = queued
    queued.expected = max(queued.expected, slow.time(of: queued.picture))
    waiting[serial] = Waiting(queued: queued, since: now)
    for claim in queued.claims.keys { lineUp(claim, serial, expecting: queued.expected) }
  }

  /// Takes out an order that is given up; nil when it is not waiting.
  mutating func remove(serial: UInt64) -> QueuedOrder? {
    guard let order = waiting.removeValue(forKey: serial) else { return nil }
    for claim in order.claims.values { line.remove(claim) }
    return order.queued
  }

  /// Adds a claim on an order; false when the order itself is not waiting.
  mutating func join(_ serial: UInt64, _ claim: DecodeClaim) -> Bool {
    guard let expected = waiting[serial]?.queued.expected else { return false }
    waiting[serial]?.queued.claims[claim, default: 0] += 1
    if waiting[serial]?.queued.claims[claim] == 1 { lineUp(claim, serial, expecting: expected) }
    return true
  }

  /// Takes back a claim on an order, which keeps the places of the others; false when the order itself is not waiting.
  mutating func leave(_ serial: UInt64, _ claim: DecodeClaim) -> Bool {
    guard waiting[serial] != nil else { return false }
    waiting[serial]?.queued.claims.countDown(claim)
    guard waiting[serial]?.queued.claims[claim] == nil else { return true }
    if let claim = waiting[serial]?.claims.removeValue(forKey: claim) { line.remove(claim) }
    return true
  }

  private mutating func lineUp(_ wish: DecodeClaim, _ serial: UInt64, expecting time: ServiceTime) {
    arrivals += 1
    let claim = Claim(to: serial, by: wish.claimant, wish.priority, arrival: arrivals, expecting: time)
    let rank: Int64 =
      switch wish.priority {
      case .high: 0
      case .normal: 1
      case .low: 2
      }
    claim.turnKey = rank << 48 + arrivals
    waiting[serial]?.claims[wish] = claim
    line.insert(claim)
  }

  /// Whether there is an order for a free decoder; `isLast` says that it is the last free one.
  func hasNext(forLast isLast: Bool) -> Bool { line.heads(admits: admission(forLast: isLast)) != nil }

  /// Takes out the order whose turn it is; it runs until it is settled.
  mutating func removeNext(forLast isLast: Bool, at now: Instant) -> QueuedOrder? {
    guard let claim = line.heads(admits: admission(forLast: isLast))?.next,
      let order = waiting[claim.serial]
    else { return nil }
    latencies.waits.record((now - order.since).nanoseconds)
    running[claim.serial] = Running(claim: claim, since: now, picture: order.queued.picture)
    held[claim.claimant.uid, default: 0] += 1
    let wish = DecodeClaim(claimant: claim.claimant, priority: claim.priority)
    waiting[claim.serial]?.claims[wish] = nil
    line.withdraw(claim)
    line.charge(for: claim)
    return remove(serial: claim.serial)
  }

  private func admission(forLast isLast: Bool) -> (Claimant) -> Admission {
    let held = isLast ? held : [:]
    return { held[$0.uid] == nil ? .anything : .quick }
  }

  /// Notes that the decoder of an order is free: the account that it ran for is charged for the time that it took.
  mutating func settle(_ serial: UInt64, at now: Instant) {
    guard let run = running.removeValue(forKey: serial) else { return }
    held.countDown(run.claim.claimant.uid)
    latencies.orders.record((now - run.since).nanoseconds)
    let time = ServiceTime(now - run.since)
    line.leave(run.claim, after: time)
    if let expected = run.claim.expected { slow.note(run.picture, took: time, expected: expected) }
  }

  /// Takes out all waiting orders, in the order of their turns.
  mutating func removeAll(at now: Instant) -> [QueuedOrder] {
    var all: [QueuedOrder] = []
    while let next = removeNext(forLast: false, at: now) {
      settle(next.order.serial, at: now)
      all.append(next)
    }
    return all
  }
}

/// One wish for an order: on whose behalf, and how urgent.
struct DecodeClaim: Hashable {
  let claimant: Claimant
  let priority: Priority
}

extension DecodeClaim {
  init(of request: FetchRequest, by connection: Claimant) {
    var claimant = connection
    claimant.share = request.share
    self.init(claimant: claimant, priority: request.priority)
  }
}

/// The edge at which orders for decoders leave the core. A test replaces it: behind it are other processes.
protocol Decoding: AnyObject {
  /// Begins an order in its turn. It is answered once, immediately or later, unless it is aborted.
  func begin(_ queued: QueuedOrder)
  /// Adds a claim on an order, which starts with the first claimant whose turn comes.
  func join(serial: UInt64, _ claim: DecodeClaim)
  /// Takes back one of several claims on an order.
  func leave(serial: UInt64, _ claim: DecodeClaim)
  /// Gives up an order: one that waits is dropped; one that runs goes on, and its answer is dropped.
  func abort(serial: UInt64)
  /// Tells, once, what decoders can do here, at once or within seconds: one is started if none has run yet.
  func learnAbilities(then: @escaping (Result<DecoderAbilities, DecodeFailure>) -> Void)
  /// The formats that decoders write here; nil before one has said so.
  var writable: Set<PictureFormat>? { get }
  var figures: DecodingFigures { get }
}

/// Numbers about decoders, for `stats`.
struct DecodingFigures {
  struct Latencies {
    var waits = LatencyHistogram()
    var orders = LatencyHistogram()
  }

  /// Processes that take orders, and how many of them have one.
  var workers = 0
  var active = 0
  var mostWorkers = 0
  var queued = 0
  /// Orders that were answered with a result, those that were not, and processes that ended over an order.
  var completed = 0
  var failed = 0
  var killed = 0
  var latencies = Latencies()
}
