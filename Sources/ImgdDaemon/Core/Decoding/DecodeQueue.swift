import ImgdCache
import ImgdDecode
import ImgdSystem
import ImgdWire

/// An order with those who wait for it.
struct QueuedOrder {
  let order: DecodeOrder
  /// The checksum of the picture's bytes.
  let picture: BodyChecksum
  /// How long it is expected to take.
  var expected: ServiceTime
  var claims: DecodeClaims
  let then: (DecodeAnswer) -> Void
  /// Whether a decoder has had it, and ended without an answer.
  var wasReturned = false
}

/// Orders that wait for a decoder, and the accounts that pay for those that have one. Users take turns by the time that
/// they use; so do the connections of a user, and the shares of a connection. Within a share the priority decides, and
/// then the order of arrival: nobody is urgent at the expense of others.
///
/// An order that several wait for stands in the line of each. It starts with the first of them whose turn comes, and
/// that one pays.
///
/// A user who has a decoder gets the last free one only for orders that are expected to end in a moment. Connections
/// and shares do not count here: anybody can have as many of those as they like, and two of them would be enough to
/// hold all decoders for as long as an order may take.
struct DecodeQueue {
  private struct Waiting {
    var queued: QueuedOrder
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

  var count: Int { waiting.count }
  var isEmpty: Bool { waiting.isEmpty }

  // MARK: In and out

  mutating func add(_ queued: QueuedOrder) {
    let serial = queued.order.serial
    precondition(waiting[serial] == nil && running[serial] == nil, "an order is there once")
    var queued = queued
    queued.expected = max(queued.expected, slow.time(of: queued.picture))
    waiting[serial] = Waiting(queued: queued)
    for claim in queued.claims.all { lineUp(claim, serial, expecting: queued.expected) }
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
    if waiting[serial]?.queued.claims.add(claim) == true { lineUp(claim, serial, expecting: expected) }
    return true
  }

  /// Takes back a claim on an order, which keeps the places of the others; false when the order itself is not waiting.
  mutating func leave(_ serial: UInt64, _ claim: DecodeClaim) -> Bool {
    guard waiting[serial] != nil else { return false }
    if waiting[serial]?.queued.claims.remove(claim) == true,
      let claim = waiting[serial]?.claims.removeValue(forKey: claim)
    {
      line.remove(claim)
    }
    return true
  }

  private mutating func lineUp(_ wish: DecodeClaim, _ serial: UInt64, expecting time: ServiceTime) {
    arrivals += 1
    let claim = Claim(to: serial, by: wish.claimant, wish.priority, arrival: arrivals, expecting: time)
    claim.turnKey = wish.priority.rank << 48 + arrivals
    waiting[serial]?.claims[wish] = claim
    line.insert(claim)
  }

  // MARK: Turns

  /// Whether there is an order for a free decoder; `isLast` says that it is the last free one.
  func hasNext(forLast isLast: Bool) -> Bool { line.heads(admits: admission(forLast: isLast)) != nil }

  /// Takes out the order whose turn it is; it runs until it is settled.
  mutating func removeNext(forLast isLast: Bool, at now: Instant) -> QueuedOrder? {
    guard let claim = line.heads(admits: admission(forLast: isLast))?.next,
      let picture = waiting[claim.serial]?.queued.picture
    else { return nil }
    running[claim.serial] = Running(claim: claim, since: now, picture: picture)
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

extension Priority {
  /// The lowest rank is served first.
  fileprivate var rank: Int64 {
    switch self {
    case .high: 0
    case .normal: 1
    case .low: 2
    }
  }
}

/// One wish for an order: on whose behalf, and how urgent.
struct DecodeClaim: Hashable {
  let claimant: Claimant
  let priority: Priority
}

extension DecodeClaim {
  /// The wish of a request.
  init(of request: FetchRequest, by connection: Claimant) {
    var claimant = connection
    claimant.share = request.share
    self.init(claimant: claimant, priority: request.priority)
  }
}

/// The wishes for one order.
struct DecodeClaims {
  private var counts: [DecodeClaim: Int] = [:]

  init(_ claims: some Sequence<DecodeClaim>) { for claim in claims { _ = add(claim) } }

  /// Each of them once, in no particular order.
  var all: Dictionary<DecodeClaim, Int>.Keys { counts.keys }

  /// Adds one, and returns whether it is the first of its kind.
  mutating func add(_ claim: DecodeClaim) -> Bool {
    counts[claim, default: 0] += 1
    return counts[claim] == 1
  }

  /// Removes one, and returns whether it was the last of its kind.
  mutating func remove(_ claim: DecodeClaim) -> Bool {
    guard counts[claim] != nil else { return false }
    counts.countDown(claim)
    return counts[claim] == nil
  }
}

/// The edge at which orders for decoders leave the core. A test replaces it: behind it are other
/// processes.
protocol Decoding: AnyObject {
  /// Begins an order in its turn. It is answered once, immediately or later, unless it is aborted.
  func begin(_ queued: QueuedOrder)
  /// Adds a claim on an order, which starts with the first claimant whose turn comes.
  func join(serial: UInt64, _ claim: DecodeClaim)
  /// Takes back one of several claims on an order.
  func leave(serial: UInt64, _ claim: DecodeClaim)
  /// Gives up an order: one that waits is dropped; one that runs goes on, and its answer is dropped.
  func abort(serial: UInt64)
  /// Tells what decoders can do here, and starts one to find out if none has run yet. `then` is called once,
  /// immediately or within seconds.
  func learnAbilities(then: @escaping (Result<DecoderAbilities, DecodeFailure>) -> Void)
  /// What decoders are doing now, and have done.
  var figures: DecodingFigures { get }
}

/// Numbers about decoders, for `stats`.
struct DecodingFigures: Equatable {
  /// Processes that take orders, and how many of them have one.
  var workers = 0
  var active = 0
  /// How many processes there may be.
  var mostWorkers = 0
  /// Orders that wait.
  var queued = 0
  /// Orders that were answered with a result, orders that were not, and processes that were killed
  /// or ended over an order.
  var completed = 0
  var failed = 0
  var killed = 0
}
