import ImgdCache
import ImgdDecode
import ImgdWire

/// A rendition that is being looked for or made, and all who wait for it.
final class RenditionWork {
  /// The place of one that waits.
  struct Place {
    let work: RenditionWork
    let claim: DecodeClaim
    fileprivate let number: UInt64
  }

  let key: CacheKey
  let rendition: Rendition
  let original: CachedImage
  /// The claimant for whom the picture's bytes are held: the first that asked.
  let holder: Claimant
  let serial: UInt64
  /// The last purge that the original was compared with when this began.
  let checked: UInt64
  /// The tiers in which any of those who ask wants it kept.
  private(set) var tiers: Set<Tier> = []
  /// Whether it has been ordered from a decoder.
  var isBegun = false
  private var waiting = Roll<Waiter>()

  private struct Waiter {
    let claim: DecodeClaim
    let then: (Renditions.Outcome) -> Void
  }

  init(_ key: CacheKey, _ order: Renditions.Order, serial: UInt64) {
    self.key = key
    rendition = order.rendition
    original = order.original
    holder = order.claim.claimant
    self.serial = serial
    checked = order.original.checked
  }

  /// Whether nobody waits for it any more.
  var isIdle: Bool { waiting.isEmpty }

  /// The claims of all who wait for it.
  var claims: DecodeClaims { DecodeClaims(waiting.all.map(\.claim)) }

  /// Whether the rendition may be kept: it may if its original may.
  var mayKeep: Bool { original.freshness.refusal == nil }

  func join(_ order: Renditions.Order, _ then: @escaping (Renditions.Outcome) -> Void) -> Place {
    tiers.formUnion(order.tiers)
    let number = waiting.append(Waiter(claim: order.claim, then: then))
    return Place(work: self, claim: order.claim, number: number)
  }

  func leave(_ place: Place) { waiting.remove(place.number) }

  /// Tells some of those that wait, in the order in which they came, and returns whether there are more; nobody may
  /// join any more.
  func tellSome(_ outcome: Renditions.Outcome) -> Bool {
    for _ in 0..<Turns.waitersAtOnce {
      guard let waiter = waiting.removeOldest() else { return false }
      waiter.then(outcome)
    }
    return !waiting.isEmpty
  }
}
