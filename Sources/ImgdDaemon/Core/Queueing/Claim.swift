import ImgdSystem
import ImgdWire

/// The wish of one claimant for something that waits. It stands in one line.
final class Claim: Hashable {
  /// The number of what is wanted.
  let serial: UInt64
  let claimant: Claimant
  /// How long its service is expected to take; nil where every service counts as one step.
  let expected: ServiceTime?
  /// Its number in the order of arrival: no two have the same.
  let arrival: Int64
  /// The time after which it has waited for too long; nil for never.
  let due: Instant?
  /// The priority of the line in which it stands.
  var priority: Priority
  /// Of one claimant's claims, the one with the smallest key is served next.
  var turnKey: Int64
  /// The requests behind it, where these may change its priority.
  var requests = PriorityCounts()

  init(
    to serial: UInt64, by claimant: Claimant, _ priority: Priority, arrival: Int64, expecting time: ServiceTime? = nil,
    due: Instant? = nil
  ) {
    self.serial = serial
    self.claimant = claimant
    self.priority = priority
    self.arrival = arrival
    expected = time
    self.due = due
    turnKey = arrival
  }

  func isOverdue(at now: Instant) -> Bool { due.map { now > $0 } ?? false }

  static func == (left: Claim, right: Claim) -> Bool { left === right }

  func hash(into hasher: inout Hasher) { hasher.combine(arrival) }
}

/// How many requests there are of each priority.
struct PriorityCounts {
  private var low = 0
  private var normal = 0
  private var high = 0

  var isEmpty: Bool { low + normal + high == 0 }

  /// The highest priority that any request has; without requests, the lowest.
  var highest: Priority { high > 0 ? .high : normal > 0 ? .normal : .low }

  subscript(priority: Priority) -> Int {
    get {
      switch priority {
      case .low: low
      case .normal: normal
      case .high: high
      }
    }
    set {
      switch priority {
      case .low: low = newValue
      case .normal: normal = newValue
      case .high: high = newValue
      }
    }
  }
}
