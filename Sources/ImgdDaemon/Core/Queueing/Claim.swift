import ImgdSystem
import ImgdWire

/// The wish of one claimant for something that waits. It stands in one line.
final class Claim: HeapMember, Equatable {
  var places = HeapPlaces(repeating: 0)
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
  /// How many requests of each priority are behind it, where these may change its priority.
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
}

/// How many requests of each priority there are.
struct PriorityCounts {
  private var counts = [0, 0, 0] as InlineArray<3, Int>

  var isEmpty: Bool { counts[0] == 0 && counts[1] == 0 && counts[2] == 0 }

  /// The highest priority that is counted; where none is, the lowest.
  var highest: Priority { counts[Priority.high.rank] > 0 ? .high : counts[Priority.normal.rank] > 0 ? .normal : .low }

  mutating func add(_ priority: Priority) { counts[priority.rank] += 1 }

  mutating func remove(_ priority: Priority) { counts[priority.rank] = max(counts[priority.rank] - 1, 0) }
}

/// The one for whom something waits: a connection, or a share of one. Without a connection it is a user.
struct Claimant: Hashable {
  let uid: UInt32
  var connection: UInt64?
  /// As the request names it.
  var share: String?

  /// The member at that level that this is, or that it belongs to.
  func member(at level: TurnLevel) -> Claimant {
    switch level {
    case .user: Claimant(uid: uid)
    case .connection: Claimant(uid: uid, connection: connection)
    case .share: self
    }
  }

  /// A connection has one user: the number of either says nearly everything.
  func hash(into hasher: inout Hasher) {
    hasher.combine(connection ?? UInt64(uid))
    if let share { hasher.combine(share) }
  }
}

/// Those who take turns with each other. All that names no share counts as one share.
enum TurnLevel: Int { case user, connection, share }

/// The time that a service takes, or is expected to take.
struct ServiceTime: Comparable {
  /// What is expected to take no longer is let through where slow things wait: nobody waits longer for it.
  static let quick = ServiceTime(.milliseconds(250))

  private let time: Duration

  init(_ time: Duration) { self.time = time }

  var isQuick: Bool { self <= .quick }

  /// The charge in nanoseconds. Nothing is free of charge, or one claimant could take all turns.
  var charge: Int64 { max(1_000, time.nanoseconds) }

  static func < (left: ServiceTime, right: ServiceTime) -> Bool { left.time < right.time }
}
