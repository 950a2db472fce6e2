import ImgdDecode
import ImgdSystem
import ImgdWire

/// An order with those who wait for it.
struct QueuedOrder {
  let order: DecodeOrder
  let claimant: Claimant
  let priority: Priority
  let then: (DecodeAnswer) -> Void
  /// Whether a decoder has had it, and ended without an answer.
  var wasReturned = false
}

/// Orders that wait for a decoder: by priority; then users take turns, inside a user its connections, and
/// inside a connection the first comes first.
///
/// Whoever waits alone gets every decoder that comes free. A newcomer gets the next one, however many
/// orders others have before it.
struct DecodeQueue {
  private typealias Users = TurnLine<TurnOfUser, TurnLine<Claimant, ArrivalLine>>

  private var lines: [Priority: Users] = [:]
  private var orders: [UInt64: (place: QueuePlace, queued: QueuedOrder)] = [:]
  private var arrivals: Int64 = 0

  /// The bytes of the pictures that wait.
  private(set) var bytes = 0

  var count: Int { orders.count }
  var isEmpty: Bool { orders.isEmpty }

  mutating func add(_ queued: QueuedOrder) {
    let serial = queued.order.serial
    precondition(orders[serial] == nil, "an order waits once")
    let place = QueuePlace(
      serial: serial, claimant: queued.claimant, priority: queued.priority, arrival: arrivals)
    arrivals += 1
    orders[serial] = (place, queued)
    bytes += queued.order.picture.count
    lines[queued.priority, default: Users()].insert(place)
  }

  /// Takes out an order that is given up; nil when it does not wait.
  mutating func remove(serial: UInt64) -> QueuedOrder? {
    guard let place = orders[serial]?.place else { return nil }
    lines[place.priority]?.remove(place)
    return take(serial)
  }

  /// Takes out the order whose turn it is.
  mutating func removeNext() -> QueuedOrder? {
    for priority in [Priority.high, .normal, .low] {
      if let place = lines[priority]?.removeFirst() { return take(place.serial) }
    }
    return nil
  }

  /// Takes out all, in their turns.
  mutating func removeAll() -> [QueuedOrder] {
    var all: [QueuedOrder] = []
    while let next = removeNext() { all.append(next) }
    return all
  }

  private mutating func take(_ serial: UInt64) -> QueuedOrder? {
    guard let queued = orders.removeValue(forKey: serial)?.queued else { return nil }
    bytes -= queued.order.picture.count
    return queued
  }
}

/// A user, who takes turns with other users.
private struct TurnOfUser: TurnMember {
  let uid: UInt32

  init(holding place: QueuePlace) { uid = place.claimant.uid }
}

/// A connection takes turns with the others of its user.
extension Claimant: TurnMember {
  init(holding place: QueuePlace) { self = place.claimant }
}
