// Forms of pictures in the fleet: those that another host has made, and those that this one makes for all.
//
// Renditions have one look for all who wait. What it finds is kept and shown like a form that was made here; what is of
// no use is claimed, once, so that a new form takes its place. However that ends, its claim ends once: with the form, or
// without.

import ImgdCache
import ImgdFleet
import ImgdPicture

final class FleetForms {
  private let lookups: FleetLookups
  private let counts: FleetTier.Counts
  private let claims: FleetClaims
  private let history: PurgeHistory

  init(_ lookups: FleetLookups, _ counts: FleetTier.Counts, claims: FleetClaims, history: PurgeHistory) {
    self.lookups = lookups
    self.counts = counts
    self.claims = claims
    self.history = history
  }

  func begin(_ look: FormLook) { lookUp(look, look.claims ? .claiming : .reading, replacing: nil) }

  private func lookUp(_ look: FormLook, _ purpose: FleetLookup.Purpose, replacing stamp: UInt64?) {
    // The closure that waits for the outcome keeps the look.
    let lookup = lookups.begin(purpose, look.digest, replacing: stamp) { [unowned self, unowned look] in
      finding($0, $1, for: look, $2)
    }
    look.place = lookup.add { [unowned self] finding in
      switch finding {
      case .picture(let found): return look.then(found.image)
      case .replaceable(let stamp) where purpose == .claiming: return lookUp(look, .replacing, replacing: stamp)
      case .nothing(let claim): look.claim = claim
      // It is left to hosts with other limits, or of a later release: they may use it.
      case .foundForOthers: look.mark = nil
      case .replaceable, .nothingEarlier, .answer: break
      }
      look.then(nil)
    }
  }

  /// What may be stale is not used either. The picture may be shown here, so the form is right if it is what its key
  /// says; but a purge that may have been missed may have been about this very form, and making it anew is the safe
  /// mistake.
  private func finding(
    _ found: FleetPicture, _ picture: PictureMeasures?, for look: FormLook, _ lookup: FleetLookup
  ) -> FleetFinding {
    guard let picture, found.record.isOf(look.key) else {
      counts.invalid += 1
      return .replaceable(stamp: found.stamp)
    }
    let tags = EntryTags.union(look.original.tags, found.record.tags)
    guard history.verdict(on: look.key, tags: tags, mark: found.mark, age: found.age) == .untouched else {
      counts.misses += 1
      return .replaceable(stamp: found.stamp)
    }
    guard let image = look.accept(found, picture) else {
      counts.misses += 1
      return .foundForOthers
    }
    counts.hits += 1
    return .picture(FleetFound(image, stamp: found.stamp, for: lookup))
  }

  /// Stores what was made after a look; without a mark, and where it is of no use to others, the claim is given back.
  func keep(_ image: CachedImage, after look: FormLook) {
    guard let lookup = look.place?.lookup, let mark = look.mark,
      claims.keep(image, under: look.claim, serial: lookup.serial, begunAt: lookup.begunAt, since: mark)
    else { return giveUp(look) }
  }

  /// Ends a look that nobody waits for any more, or gives its claim back. A second time changes nothing.
  func giveUp(_ look: FormLook) {
    if let place = look.place { lookups.leave(place) }
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
  fileprivate(set) var place: FleetLookups.Place?
  /// The image that a value stands for; nil if it is not of the wanted form, or beyond this host's limits.
  fileprivate let accept: (FleetPicture, PictureMeasures) -> CachedImage?
  fileprivate let then: (CachedImage?) -> Void

  init(
    _ key: CacheKey, _ digest: KeyDigest, of original: CachedImage, claims: Bool, mark: FleetPosition?,
    accept: @escaping (FleetPicture, PictureMeasures) -> CachedImage?, then: @escaping (CachedImage?) -> Void
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

extension CachedImage {
  /// Whether forms of it may be for all hosts: an origin has sent it, and lets everybody have it at any time. A picture
  /// that was put has no header fields.
  var isForAllHosts: Bool {
    freshness.refusal == nil && !freshness.isOpenOnlyWhileFresh && key.scope == nil && !url.isHandedIn
      && !response.headers.list.isEmpty
  }
}
