// The looks at the fleet's servers.
//
//   look ─► found ──────────────────────────────────────────► shown, or claimed in a further look: it was stale, purged
//     │                                                       or damaged
//     ├─► held by another host ─► found, or nothing after a while
//     └─► claimed, nothing there, no answer in time ────────► fetched or made here
//
// What is found is judged by those who look: for pictures (`FleetPictures`) or for a form (`FleetForms`).
// However one ends, all who wait are told once. A look that nobody waits for any more is ended at the server, and
// a claim that comes too late is given back.

import ImgdCache
import ImgdFleet
import ImgdPicture
import ImgdSystem

/// The looks under way: fetches that agree in what they ask for share one.
final class FleetLookups {
  /// How long the engine waits for another host's picture.
  private static let longestHold = Duration.seconds(3)

  private let fleet: any Fleet
  private let counts: FleetTier.Counts
  private let claims: FleetClaims
  private let pictures: PictureTiers
  private let nextSerial: () -> UInt64
  private let turns: Turns
  private let loop: EventLoop
  private var timeout: Duration
  private var bySerial: [UInt64: FleetLookup] = [:]
  private var byName = SteadyDictionary<FleetLookup.Name, FleetLookup>()
  /// How long the servers take for their first answers about pictures.
  private(set) var latency = LatencyHistogram()

  init(
    _ fleet: any Fleet, _ counts: FleetTier.Counts, claims: FleetClaims, pictures: PictureTiers,
    serials nextSerial: @escaping () -> UInt64, turns: Turns, loop: EventLoop, settings: Configuration
  ) {
    self.fleet = fleet
    self.counts = counts
    self.claims = claims
    self.pictures = pictures
    self.nextSerial = nextSerial
    self.turns = turns
    self.loop = loop
    timeout = settings.fleet.timeout
  }

  func apply(_ settings: Configuration) { timeout = settings.fleet.timeout }

  func isUnderWay(_ key: MergeKey) -> Bool {
    [.reading, .claiming, .replacing].contains { byName[FleetLookup.Name(key: key, purpose: $0)] != nil }
  }

  /// A look, and the place of one who waits for it.
  struct Place {
    let lookup: FleetLookup
    fileprivate let number: UInt64
  }

  /// Waits for the look of fetches that agree in a name, or begins it.
  func lookUp(
    _ name: FleetLookup.Name, _ wish: PictureWish, _ digest: KeyDigest, replacing stamp: UInt64?,
    judge: @escaping FleetLookup.Judge, then: @escaping (FleetFinding) -> Void
  ) -> Place {
    let lookup = byName[name] ?? begin(name.purpose, digest, replacing: stamp, for: name, judge: judge)
    return lookup.add(wish, then: then)
  }

  /// Begins a look; with a stamp, it claims what a former one has found.
  func begin(
    _ purpose: FleetLookup.Purpose, _ digest: KeyDigest, replacing stamp: UInt64?, for name: FleetLookup.Name? = nil,
    judge: @escaping FleetLookup.Judge
  ) -> FleetLookup {
    let serial = nextSerial()
    let lookup = FleetLookup(
      serial: serial, purpose, name, arrival: name.map { pictures.latest.expect($0.key.key) },
      checked: pictures.purges.newest, at: loop.now, judge: judge)
    bySerial[serial] = lookup
    if let name { byName[name] = lookup }
    limit(lookup, to: timeout)
    if let stamp {
      fleet.claim(serial: serial, digest, replacing: stamp)
    } else {
      fleet.look(FleetLook(serial: serial, digest: digest, claims: purpose == .claiming))
    }
    return lookup
  }

  private func limit(_ lookup: FleetLookup, to time: Duration) {
    lookup.limit?.cancel()
    lookup.limit = loop.schedule(after: time) { [unowned self, unowned lookup] in
      counts.timeouts += 1
      fleet.release(serial: lookup.serial, removing: false)
      end(lookup, .nothing(nil))
    }
  }

  /// Takes one who waits off a look, which ends when the last one has left.
  func leave(_ place: Place) {
    let lookup = place.lookup
    lookup.waiting.remove(place.number)
    guard lookup.waiting.isEmpty, bySerial[lookup.serial] != nil else { return }
    forget(lookup)
    fleet.release(serial: lookup.serial, removing: false)
  }

  private func forget(_ lookup: FleetLookup) {
    lookup.limit?.cancel()
    bySerial[lookup.serial] = nil
    if let name = lookup.name { byName[name] = nil }
  }

  /// Takes in an answer, with the picture that its bytes were recognised as.
  func receive(_ answer: FleetAnswer, _ picture: PictureMeasures?, for serial: UInt64) {
    guard let lookup = bySerial[serial] else {
      if case .claimed = answer, !claims.isOpen(serial) { fleet.release(serial: serial, removing: false) }
      return
    }
    if case .arriving = answer { return limit(lookup, to: FleetLook.longest(timeout: timeout) + timeout) }
    if lookup.isForDownload, !lookup.isHeld { latency.record((loop.now - lookup.begunAt).nanoseconds) }
    switch answer {
    case .arriving: break
    case .nothing: miss(lookup, .nothing(nil))
    case .claimed: miss(lookup, .nothing(claims.open(serial, isForDownload: lookup.isForDownload)))
    case .held: hold(lookup)
    case .foundForOthers: miss(lookup, .foundForOthers)
    case .found(let found):
      counts.bytesRead += found.payload.count
      end(lookup, lookup.judge(found, picture, lookup))
    case .failed:
      counts.timeouts += 1
      end(lookup, .nothing(nil))
    }
  }

  private func miss(_ lookup: FleetLookup, _ finding: FleetFinding) {
    if lookup.purpose != .replacing { counts.misses += 1 }
    end(lookup, finding)
  }

  /// Waits for the other host, unless the look is only for reading.
  private func hold(_ lookup: FleetLookup) {
    guard lookup.purpose != .reading else {
      fleet.release(serial: lookup.serial, removing: false)
      return miss(lookup, .nothing(nil))
    }
    guard !lookup.isHeld else { return }
    lookup.isHeld = true
    counts.waits += 1
    limit(lookup, to: Self.longestHold + timeout)
  }

  /// Tells all who wait, in parts if there are many.
  private func end(_ lookup: FleetLookup, _ finding: FleetFinding) {
    forget(lookup)
    let areMore = lookup.tellSome(finding)
    var later = finding
    if case .nothing(let claim) = finding {
      // Nobody is left to fetch the picture.
      if let claim, lookup.isForDownload, claim.download == nil { claims.release(claim, removing: false) }
      if lookup.purpose != .reading { later = .nothingEarlier }
    }
    if areMore { turns.carryOut { lookup.tellSome(later) } }
  }
}

/// A look at the fleet's server, or the claim of what a look has found, and those who wait for it.
final class FleetLookup {
  enum Purpose {
    /// To show what is there, and nothing else.
    case reading
    /// To fetch or make it here if it is not there.
    case claiming
    /// To fetch, confirm or make here what is there.
    case replacing
  }

  /// Says what a value of the server is to those who wait.
  typealias Judge = (FleetPicture, PictureMeasures?, FleetLookup) -> FleetFinding

  /// Fetches that agree in this share a look.
  struct Name: Hashable {
    let key: MergeKey
    let purpose: Purpose
  }

  let serial: UInt64
  let begunAt: Instant
  fileprivate let purpose: Purpose
  /// Nil for a form, which is not fetched.
  fileprivate let name: Name?
  fileprivate let judge: Judge
  /// Announces a picture to the tiers; nil for a form.
  let arrival: LatestPictures.Arrival?
  /// The last purge of this host before it began.
  let checked: UInt64
  /// Another host has the claim.
  fileprivate var isHeld = false
  /// Ends the waiting.
  fileprivate var limit: Timer?
  /// The tiers of this machine in which any of them wants the picture.
  private(set) var tiers: Tiers = []
  /// The user who asked first.
  private(set) var owner: UInt32?
  fileprivate var waiting = Roll<(FleetFinding) -> Void>()

  init(
    serial: UInt64, _ purpose: Purpose, _ name: Name?, arrival: LatestPictures.Arrival?, checked: UInt64,
    at now: Instant, judge: @escaping Judge
  ) {
    self.serial = serial
    self.purpose = purpose
    self.name = name
    self.arrival = arrival
    self.checked = checked
    self.judge = judge
    begunAt = now
  }

  fileprivate var isForDownload: Bool { name != nil }

  /// Adds one who waits, with what is wanted of a picture.
  func add(_ wish: PictureWish? = nil, then: @escaping (FleetFinding) -> Void) -> FleetLookups.Place {
    tiers.formUnion(wish?.tiers ?? [])
    owner = owner ?? wish?.claimant.uid
    return FleetLookups.Place(lookup: self, number: waiting.append(then))
  }

  /// Tells some of them, in the order in which they came, and returns whether there are more; nobody may join any more.
  fileprivate func tellSome(_ finding: FleetFinding) -> Bool {
    for _ in 0..<Turns.waitersAtOnce {
      guard let tell = waiting.removeOldest() else { return false }
      tell(finding)
    }
    return !waiting.isEmpty
  }
}
