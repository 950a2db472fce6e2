import ImgdCache
import ImgdDecode
import ImgdWire

/// A rendition that is being looked for or made, and all who wait for it.
final class RenditionWork {
  /// One of those who wait.
  struct Place {
    let work: RenditionWork
    fileprivate let number: Int
  }

  let key: CacheKey
  let rendition: Rendition
  let original: CachedImage
  /// In whose name it waits: that of the first who has asked.
  let claimant: Claimant
  let priority: Priority
  let serial: UInt64
  /// The purges up to its begin.
  let purgeMark: Int
  /// The tiers that any of those who ask wants it kept in.
  private(set) var tiers: Set<Tier> = []
  private var waiters: [Int: (Renditions.Outcome) -> Void] = [:]
  private var last = 0

  init(_ key: CacheKey, _ order: Renditions.Order, serial: UInt64, at purgeMark: Int) {
    self.key = key
    rendition = order.rendition
    original = order.original
    claimant = order.claimant
    priority = order.priority
    self.serial = serial
    self.purgeMark = purgeMark
  }

  /// Nobody waits for it any more.
  var isIdle: Bool { waiters.isEmpty }

  /// Whether what is made of the original may stay: the original may.
  var mayKeep: Bool { original.freshness.refusal == nil && !original.isPurged }

  func join(_ order: Renditions.Order, _ then: @escaping (Renditions.Outcome) -> Void) -> Place {
    tiers.formUnion(order.tiers)
    last += 1
    waiters[last] = then
    return Place(work: self, number: last)
  }

  func leave(_ place: Place) { waiters[place.number] = nil }

  /// Hands out those who wait, in the order in which they came.
  func takeWaiters() -> [(Renditions.Outcome) -> Void] {
    defer { waiters = [:] }
    return waiters.sorted { $0.key < $1.key }.map(\.value)
  }
}
