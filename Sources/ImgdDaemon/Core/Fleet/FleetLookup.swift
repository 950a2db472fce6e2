import ImgdSystem
import ImgdWire

/// A look at the fleet's server, or the claim of a picture that a look has found, and the fetches that
/// wait for the answer.
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
  private(set) var tiers: Set<Tier> = []
  private var waiting = Roll<(FleetFinding) -> Void>()

  init(serial: UInt64, name: Name, checked: UInt64, at now: Instant) {
    self.serial = serial
    self.name = name
    self.checked = checked
    begunAt = now
  }

  var waiterCount: Int { waiting.count }

  /// Adds a waiter, and returns its place.
  func add(_ wish: PictureWish, then: @escaping (FleetFinding) -> Void) -> UInt64 {
    tiers.formUnion(wish.tiers)
    return waiting.append(then)
  }

  func remove(at place: UInt64) { waiting.remove(place) }

  /// Tells some of them, in the order in which they came, and returns whether there are more; nobody may join any more.
  func tellSome(_ finding: FleetFinding) -> Bool {
    for _ in 0..<Turns.waitersAtOnce {
      guard let tell = waiting.removeOldest() else { return false }
      tell(finding)
    }
    return !waiting.isEmpty
  }
}
