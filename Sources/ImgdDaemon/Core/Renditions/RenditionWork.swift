import ImgdCache
import ImgdDecode
import ImgdWire

/// A rendition that is being looked for or made, and all who wait for it.
final class RenditionWork {
  /// One of those who wait.
  struct Place {
    let work: RenditionWork
    let claim: DecodeClaim
    fileprivate let number: Int
  }

  let key: CacheKey
  let rendition: Rendition
  let original: CachedImage
  /// The user for whom the picture's bytes are held: that of the first who has asked.
  let uid: UInt32
  let serial: UInt64
  /// The purges up to its begin.
  let purgeMark: Int
  /// The tiers that any of those who ask wants it kept in.
  private(set) var tiers: Set<Tier> = []
  /// Decoders know of it.
  var isBegun = false
  private var waiters: [Int: Waiter] = [:]
  private var last = 0

  private struct Waiter {
    let claim: DecodeClaim
    let then: (Renditions.Outcome) -> Void
  }

  init(_ key: CacheKey, _ order: Renditions.Order, serial: UInt64, at purgeMark: Int) {
    self.key = key
    rendition = order.rendition
    original = order.original
    uid = order.claim.account.claimant.uid
    self.serial = serial
    self.purgeMark = purgeMark
  }

  /// Nobody waits for it any more.
  var isIdle: Bool { waiters.isEmpty }

  /// In whose names it waits.
  var claims: DecodeClaims { DecodeClaims(waiters.values.map(\.claim)) }

  /// Whether what is made of the original may stay: the original may.
  var mayKeep: Bool { original.freshness.refusal == nil && !original.isPurged }

  func join(_ order: Renditions.Order, _ then: @escaping (Renditions.Outcome) -> Void) -> Place {
    tiers.formUnion(order.tiers)
    last += 1
    waiters[last] = Waiter(claim: order.claim, then: then)
    return Place(work: self, claim: order.claim, number: last)
  }

  func leave(_ place: Place) { waiters[place.number] = nil }

  /// Hands out those who wait, in the order in which they came.
  func takeWaiters() -> [(Renditions.Outcome) -> Void] {
    defer { waiters = [:] }
    return waiters.sorted { $0.key < $1.key }.map(\.value.then)
  }
}
