// Forms of pictures in the fleet: those that another host has made, and those that this one makes for all.
//
//   look ─► found, and of use ─────────────────────────────► kept and shown like a form that was made here
//     │       └─► purged or not what it should be ─► claim ─► held, claimed, nothing
//     ├─► held by another host ─► found, or nothing after a while
//     └─► claimed, nothing there, no answer in time ────────► a decoder makes it, and it is stored for the others
//
// Renditions have one look for all who wait. However that ends, its claim ends once: with the form, or without.

import ImgdCache
import ImgdFleet
import ImgdPicture
import ImgdSystem

final class FleetForms {
  private let fleet: any Fleet
  private let counts: FleetTier.Counts
  private let claims: FleetClaims
  private let history: PurgeHistory
  private let nextSerial: () -> UInt64
  private let loop: EventLoop
  private var settings: Configuration
  private var underWay: [UInt64: FormLook] = [:]

  init(
    _ fleet: any Fleet, _ counts: FleetTier.Counts, claims: FleetClaims, history: PurgeHistory,
    serials nextSerial: @escaping () -> UInt64, loop: EventLoop, settings: Configuration
  ) {
    self.fleet = fleet
    self.counts = counts
    self.claims = claims
    self.history = history
    self.nextSerial = nextSerial
    self.loop = loop
    self.settings = settings
  }

  func apply(_ settings: Configuration) { self.settings = settings }

  func begin(_ look: FormLook) {
    askAgain(look)
    fleet.look(FleetLook(serial: look.serial, digest: look.digest, claims: look.claims))
  }

  /// Gives the look a number for its next question, and limits the time for the answer.
  private func askAgain(_ look: FormLook) {
    look.serial = nextSerial()
    look.begunAt = loop.now
    underWay[look.serial] = look
    limit(look, to: settings.fleet.timeout)
  }

  private func limit(_ look: FormLook, to time: Duration) {
    look.limit?.cancel()
    look.limit = loop.schedule(after: time) { [unowned self, unowned look] in
      counts.timeouts += 1
      fleet.release(serial: look.serial, removing: false)
      finish(look, with: nil)
    }
  }

  /// Takes in an answer to one of these looks; false for any other.
  func receive(_ answer: FleetAnswer, _ picture: PictureMeasures?, for serial: UInt64) -> Bool {
    guard let look = underWay[serial] else { return false }
    switch answer {
    case .arriving: limit(look, to: FleetLook.longest(timeout: settings.fleet.timeout) + settings.fleet.timeout)
    case .nothing: miss(look)
    case .claimed:
      look.claim = claims.open(serial, isForDownload: false)
      miss(look)
    case .held: hold(look)
    case .found(let found): judge(found, picture, for: look)
    case .foundForOthers: leaveIt(look)
    case .failed:
      counts.timeouts += 1
      finish(look, with: nil)
    }
    return true
  }

  private func miss(_ look: FormLook) {
    if !look.isReplacing { counts.misses += 1 }
    finish(look, with: nil)
  }

  /// Waits for the other host, unless the form will not be made here in any case.
  private func hold(_ look: FormLook) {
    guard look.claims else {
      fleet.release(serial: look.serial, removing: false)
      return miss(look)
    }
    guard !look.isHeld else { return }
    look.isHeld = true
    counts.waits += 1
    limit(look, to: FleetLookups.longestHold + settings.fleet.timeout)
  }

  /// What may be stale is not used either. The picture may be shown here, so the form is right if it is what its key
  /// says; but a purge that may have been missed may have been about this very form, and making it anew is the safe
  /// mistake.
  private func judge(_ found: FleetPicture, _ picture: PictureMeasures?, for look: FormLook) {
    counts.bytesRead += found.payload.count
    guard let picture, found.record.isOf(look.key) else {
      counts.invalid += 1
      return replace(found.stamp, for: look)
    }
    let tags = EntryTags.union(look.original.tags, found.record.tags)
    guard history.verdict(on: look.key, tags: tags, mark: found.mark, age: found.age) == .untouched else {
      counts.misses += 1
      return replace(found.stamp, for: look)
    }
    guard let image = look.accept(FoundForm(payload: found.payload, checksum: found.record.checksum, picture: picture))
    else { return leaveIt(look) }
    counts.hits += 1
    finish(look, with: image)
  }

  /// Leaves what is there to hosts with other limits, or of a later release: they may use it.
  private func leaveIt(_ look: FormLook) {
    counts.misses += 1
    look.mark = nil
    finish(look, with: nil)
  }

  /// Claims what is of no use, once, so that a new form takes its place.
  private func replace(_ stamp: UInt64, for look: FormLook) {
    guard look.claims, !look.isReplacing else { return finish(look, with: nil) }
    underWay[look.serial] = nil
    (look.isReplacing, look.isHeld) = (true, false)
    askAgain(look)
    fleet.claim(serial: look.serial, look.digest, replacing: stamp)
  }

  private func forget(_ look: FormLook) -> Bool {
    look.limit?.cancel()
    return underWay.removeValue(forKey: look.serial) != nil
  }

  private func finish(_ look: FormLook, with image: CachedImage?) { if forget(look) { look.then(image) } }

  /// Stores what was made after a look; without a mark, and where it is of no use to others, the claim is given back.
  func keep(_ image: CachedImage, after look: FormLook) {
    let isStored = look.mark.map { claims.keep(image, after: look, since: $0) } ?? false
    if !isStored { giveUp(look) }
  }

  /// Ends a look that nobody waits for any more, or gives its claim back. A second time changes nothing.
  func giveUp(_ look: FormLook) {
    if forget(look) { return fleet.release(serial: look.serial, removing: false) }
    if let claim = look.claim { claims.release(claim, removing: false) }
  }
}

/// A look for a form, and the right to make it.
final class FormLook {
  let key: CacheKey
  let digest: KeyDigest
  /// The picture whose form it is, which may be shown here.
  let original: CachedImage
  /// Whether it will be made here, and for all, if it is not there.
  let claims: Bool
  /// The last purge that was in force when the picture was found not to be purged: later ones are about the form, too.
  /// Nil for a form that will not be stored.
  fileprivate(set) var mark: FleetPosition?
  fileprivate(set) var claim: FleetClaim?
  /// The number of its question to the server, and when that was asked.
  fileprivate(set) var serial: UInt64 = 0
  fileprivate(set) var begunAt = Instant(nanoseconds: 0)
  fileprivate var isHeld = false
  fileprivate var isReplacing = false
  fileprivate var limit: Timer?
  /// The image that a value stands for; nil if it is not of the wanted form, or beyond this host's limits.
  fileprivate let accept: (FoundForm) -> CachedImage?
  fileprivate let then: (CachedImage?) -> Void

  init(
    _ key: CacheKey, _ digest: KeyDigest, of original: CachedImage, claims: Bool, mark: FleetPosition?,
    accept: @escaping (FoundForm) -> CachedImage?, then: @escaping (CachedImage?) -> Void
  ) {
    self.key = key
    self.digest = digest
    self.original = original
    self.claims = claims
    self.mark = mark
    self.accept = accept
    self.then = then
  }
}

/// The bytes of a form as another host has stored them, and what they were recognised as.
struct FoundForm {
  let payload: Payload
  let checksum: BodyChecksum
  let picture: PictureMeasures
}

extension CachedImage {
  /// Whether forms of it may be for all hosts: an origin has sent it, and lets everybody have it at any time. A picture
  /// that was put has no header fields.
  var isForAllHosts: Bool {
    freshness.refusal == nil && !freshness.isOpenOnlyWhileFresh && key.scope == nil && !url.isHandedIn
      && !response.headers.list.isEmpty
  }
}
