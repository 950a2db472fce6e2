// The looks at the fleet's server.
//
//   look ─► found, and of use ──────────────────────────────► shown
//     │       └─► stale, purged or damaged ─► claim ─► held, claimed, nothing
//     ├─► held by another host ─► found, or nothing after a while
//     ├─► claimed, nothing there, no answer in time ────────► the origin is asked
//
// However one ends, all who wait are told once. A look that nobody waits for any more is ended at the server, and
// a claim that comes too late is given back.

import ImgdCache
import ImgdFleet
import ImgdPicture
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// The looks under way: fetches that agree in what they ask for share one.
final class FleetLookups {
  /// How long the engine waits for another host's picture.
  static let longestHold = Duration.seconds(3)

  private let fleet: any Fleet
  private let counts: FleetTier.Counts
  private let claims: FleetClaims
  private let history: PurgeHistory
  private let pictures: PictureTiers
  private let turns: Turns
  private let loop: EventLoop
  private var settings: Configuration
  private var bySerial: [UInt64: FleetLookup] = [:]
  private var byName = SteadyDictionary<FleetLookup.Name, FleetLookup>()
  /// How long the server takes for its first answers.
  private(set) var latency = LatencyHistogram()

  init(
    _ fleet: any Fleet, _ counts: FleetTier.Counts, claims: FleetClaims, history: PurgeHistory, pictures: PictureTiers,
    turns: Turns, loop: EventLoop, settings: Configuration
  ) {
    self.fleet = fleet
    self.counts = counts
    self.claims = claims
    self.history = history
    self.pictures = pictures
    self.turns = turns
    self.loop = loop
    self.settings = settings
  }

  func apply(_ settings: Configuration) { self.settings = settings }

  func isUnderWay(_ key: MergeKey) -> Bool {
    [.reading, .claiming, .replacing].contains { byName[FleetLookup.Name(key: key, purpose: $0)] != nil }
  }

  struct Place {
    let lookup: FleetLookup
    let number: UInt64
  }

  /// Waits for a look that is under way, or begins one; `serial` gives a new one its number.
  func lookUp(
    _ key: MergeKey, _ wish: PictureWish, _ digest: KeyDigest, claiming: Bool, serial: () -> UInt64,
    then: @escaping (FleetFinding) -> Void
  ) -> Place {
    let name = FleetLookup.Name(key: key, purpose: claiming ? .claiming : .reading)
    return wait(for: name, wish, serial: serial, then: then) { [fleet] serial in
      fleet.look(FleetLook(serial: serial, digest: digest, claims: claiming))
    }
  }

  /// Waits for the claim of what a look has found, in the same way.
  func claim(
    _ stamp: UInt64, for key: MergeKey, _ wish: PictureWish, _ digest: KeyDigest, serial: () -> UInt64,
    then: @escaping (FleetFinding) -> Void
  ) -> Place {
    let name = FleetLookup.Name(key: key, purpose: .replacing)
    return wait(for: name, wish, serial: serial, then: then) { [fleet] serial in
      fleet.claim(serial: serial, digest, replacing: stamp)
    }
  }

  private func wait(
    for name: FleetLookup.Name, _ wish: PictureWish, serial: () -> UInt64, then: @escaping (FleetFinding) -> Void,
    order: (UInt64) -> Void
  ) -> Place {
    if let lookup = byName[name] { return Place(lookup: lookup, number: lookup.add(wish, then: then)) }
    let lookup = FleetLookup(serial: serial(), name: name, checked: pictures.purges.newest, at: loop.now)
    bySerial[lookup.serial] = lookup
    byName[name] = lookup
    let number = lookup.add(wish, then: then)
    limit(lookup, to: settings.fleet.timeout)
    order(lookup.serial)
    return Place(lookup: lookup, number: number)
  }

  private func limit(_ lookup: FleetLookup, to time: Duration) {
    lookup.limit?.cancel()
    lookup.limit = loop.schedule(after: time) { [unowned self, unowned lookup] in
      counts.timeouts += 1
      fleet.release(serial: lookup.serial, removing: false)
      end(lookup, .nothing(nil))
    }
  }

  /// Takes a fetch off its look, which ends when the last one has left.
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
    byName[lookup.name] = nil
  }

  /// Takes in an answer, with the picture that its bytes were recognised as.
  func receive(_ answer: FleetAnswer, _ picture: PictureMeasures?, for serial: UInt64) {
    guard let lookup = bySerial[serial] else {
      if case .claimed = answer, !claims.isOpen(serial) { fleet.release(serial: serial, removing: false) }
      return
    }
    if case .arriving = answer {
      return limit(lookup, to: FleetLook.longest(timeout: settings.fleet.timeout) + settings.fleet.timeout)
    }
    if !lookup.isHeld { latency.record((loop.now - lookup.begunAt).nanoseconds) }
    switch answer {
    case .arriving: break
    case .nothing: miss(lookup, .nothing(nil))
    case .claimed: miss(lookup, .nothing(claims.open(serial)))
    case .held: hold(lookup)
    case .foundForOthers: miss(lookup, .foundForOthers)
    case .found(let found): end(lookup, finding(found, picture, for: lookup))
    case .failed:
      counts.timeouts += 1
      end(lookup, .nothing(nil))
    }
  }

  private func miss(_ lookup: FleetLookup, _ finding: FleetFinding) {
    if lookup.name.purpose != .replacing { counts.misses += 1 }
    end(lookup, finding)
  }

  /// Waits for the other host, unless the look is only for reading.
  private func hold(_ lookup: FleetLookup) {
    guard lookup.name.purpose != .reading else {
      fleet.release(serial: lookup.serial, removing: false)
      return miss(lookup, .nothing(nil))
    }
    guard !lookup.isHeld else { return }
    lookup.isHeld = true
    counts.waits += 1
    limit(lookup, to: Self.longestHold + settings.fleet.timeout)
  }

  private func finding(_ found: FleetPicture, _ picture: PictureMeasures?, for lookup: FleetLookup) -> FleetFinding {
    counts.bytesRead += found.payload.count
    if !found.isAnswer, picture == nil, PictureFormat(rawValue: found.record.facts.format) == nil {
      // Another version knows the format, and may show it.
      counts.misses += 1
      return .foundForOthers
    }
    let sound =
      found.isAnswer
      ? found.answer(for: lookup, at: loop.now) : picture.flatMap { found.image($0, for: lookup, at: loop.now) }
    guard let image = sound else {
      counts.invalid += 1
      return .replaceable(stamp: found.stamp)
    }
    let verdict = history.verdict(on: image.key, tags: image.tags, mark: found.mark, age: found.age)
    guard verdict != .purged else {
      counts.misses += 1
      return .replaceable(stamp: found.stamp)
    }
    guard accepts(image, picture, for: lookup.name.key) else {
      counts.misses += 1
      return .foundForOthers
    }
    if verdict == .stale { image.markStale() }
    counts.hits += 1
    let shown = FleetFound(image, stamp: found.stamp, for: lookup)
    return found.isAnswer ? .answer(shown) : .picture(shown)
  }

  /// Whether this host would take the picture, or the answer without one, from its origin itself, as far as that is known.
  private func accepts(_ image: CachedImage, _ picture: PictureMeasures?, for key: MergeKey) -> Bool {
    let isAccepted = picture.map { picture in
      settings.downloads.acceptTypes.contains { $0.rawValue == picture.format.name }
    }
    return isAccepted ?? true && image.byteCount <= settings.downloads.maxBytes && mayConnect(for: image, key)
  }

  /// Whether this host may connect to where another host has fetched a picture.
  private func mayConnect(for image: CachedImage, _ key: MergeKey) -> Bool {
    if let address = IPAddress(image.url.host) {
      return AddressRule(settings.network).permits(address, afterPublic: key.isAfterPublic)
    }
    if image.isFromPublicAddress { return true }
    return switch settings.network.privateAddresses {
    case .allow: true
    case .direct: !key.isAfterPublic
    case .deny: false
    }
  }

  /// Tells all who wait, in parts if there are many.
  private func end(_ lookup: FleetLookup, _ finding: FleetFinding) {
    forget(lookup)
    let areMore = lookup.tellSome(finding)
    var later = finding
    if case .nothing(let claim) = finding {
      // Nobody is left to fetch the picture.
      if let claim, claim.download == nil { claims.release(claim, removing: false) }
      if lookup.name.purpose != .reading { later = .nothingEarlier }
    }
    if areMore { turns.carryOut { lookup.tellSome(later) } }
  }
}

/// A look at the fleet's server, or the claim of what a look has found, and the fetches that wait for it.
final class FleetLookup {
  enum Purpose {
    /// To show what is there, and nothing else.
    case reading
    /// To fetch it here if it is not there.
    case claiming
    /// To fetch or confirm here what is there.
    case replacing
  }

  /// Fetches that agree in this share a look.
  struct Name: Hashable {
    let key: MergeKey
    let purpose: Purpose
  }

  let serial: UInt64
  let name: Name
  let begunAt: Instant
  /// The last purge of this host before it began.
  let checked: UInt64
  /// Another host has the claim.
  var isHeld = false
  /// Ends the waiting.
  var limit: Timer?
  /// The tiers of this machine in which any of them wants the picture.
  private(set) var tiers: Tiers = []
  /// The user who asked first.
  private(set) var owner: UInt32?
  fileprivate var waiting = Roll<(FleetFinding) -> Void>()

  init(serial: UInt64, name: Name, checked: UInt64, at now: Instant) {
    self.serial = serial
    self.name = name
    self.checked = checked
    begunAt = now
  }

  func add(_ wish: PictureWish, then: @escaping (FleetFinding) -> Void) -> UInt64 {
    tiers.formUnion(wish.tiers)
    owner = owner ?? wish.claimant.uid
    return waiting.append(then)
  }

  /// Tells some of them, in the order in which they came, and returns whether there are more; nobody may join any more.
  func tellSome(_ finding: FleetFinding) -> Bool {
    for _ in 0..<Turns.waitersAtOnce {
      guard let tell = waiting.removeOldest() else { return false }
      tell(finding)
    }
    return !waiting.isEmpty
  }
}

/// The outcome of a look at the fleet's server, for a fetch that has waited for it.
enum FleetFinding {
  /// The origin has to be asked; with a claim, other hosts wait for what it says.
  case nothing(FleetClaim?)
  /// Others who waited began to ask the origin a while ago, and may have its answer already.
  case nothingEarlier
  /// What was found is of no use. It can be claimed, so that a picture takes its place.
  case replaceable(stamp: UInt64)
  /// What was found is for other hosts, and stays as it is: the origin has to be asked, for this one alone.
  case foundForOthers
  case picture(FleetFound)
  /// A redirect, or a failure: what the origin has said to another host.
  case answer(FleetFound)
}

/// A picture, or an answer without one, that another host has fetched, or that this one fetched in an earlier life.
final class FleetFound {
  let image: CachedImage
  /// Tells it apart from others under its key.
  let stamp: UInt64
  /// The tiers of this machine in which it is wanted.
  let tiers: Tiers
  /// Whether it has been put into those tiers.
  var hasRisen = false

  init(_ image: CachedImage, stamp: UInt64, for lookup: FleetLookup) {
    self.image = image
    self.stamp = stamp
    tiers = lookup.tiers
  }
}

extension FleetPicture {
  /// The image that a value of the server stands for; nil if the value is about another key, or makes no sense.
  ///
  /// Its bytes say what the picture is, the request says what its answer depends on, and only its age says when it was
  /// stored: other hosts may err, and their clocks may be off.
  func image(_ picture: PictureMeasures, for lookup: FleetLookup, at now: Instant) -> CachedImage? {
    image(ImageFacts(picture), for: lookup, at: now)
  }

  /// The same for an answer without a picture, of which hosts share redirects, 404 and 410.
  func answer(for lookup: FleetLookup, at now: Instant) -> CachedImage? {
    let isRedirect = record.redirectTarget.map { target in
      // No origin leads to a bucket, which this machine's keys might open.
      300..<400 ~= record.status && (try? CanonicalURL.parse(target)).map { $0.scheme != .s3 } ?? false
    }
    return isRedirect ?? [404, 410].contains(record.status) ? image(.none, for: lookup, at: now) : nil
  }

  private func image(_ facts: ImageFacts, for lookup: FleetLookup, at now: Instant) -> CachedImage? {
    let key = lookup.name.key
    return CachedImage.make(
      record, key: key.key, payload: payload, facts: facts, sent: key.sent, vary: { key.outcome(of: $0) },
      owner: lookup.owner, serial: lookup.serial, checked: lookup.checked,
      stored: StoredMoment(age: age, now: now, nowWall: WallClock.seconds))
  }
}
