import ImgdWire

/// Where an order stands in the queue for decoders.
struct QueuePlace: Hashable {
  let serial: UInt64
  let claimant: Claimant
  let priority: Priority
  /// How many orders came before it.
  let arrival: Int64
}

/// Places in some order.
protocol PlaceLine {
  init()
  var isEmpty: Bool { get }
  mutating func insert(_ place: QueuePlace)
  mutating func remove(_ place: QueuePlace)
  mutating func removeFirst() -> QueuePlace?
}

/// Places in the order in which they were taken.
struct ArrivalLine: PlaceLine {
  private var places = KeyedHeap<QueuePlace>()

  var isEmpty: Bool { places.isEmpty }

  mutating func insert(_ place: QueuePlace) { places.insert(place, key: place.arrival) }

  mutating func remove(_ place: QueuePlace) { places.remove(place) }

  mutating func removeFirst() -> QueuePlace? {
    guard let first = places.first else { return nil }
    places.remove(first)
    return first
  }
}

/// Who takes turns with others of its kind: a user, or a connection.
protocol TurnMember: Hashable {
  init(holding place: QueuePlace)
}

/// Lines of members that take turns, as `TurnClock` has them: who was served goes behind all others, and a
/// newcomer does not wait for those that were served.
struct TurnLine<Member: TurnMember, Line: PlaceLine>: PlaceLine {
  private var lines: [Member: Line] = [:]
  private var turns = KeyedHeap<Member>()
  private var clock = TurnClock<Member>()

  var isEmpty: Bool { lines.isEmpty }

  mutating func insert(_ place: QueuePlace) {
    let member = Member(holding: place)
    if lines[member] == nil { turns.insert(member, key: clock.stamp(for: member)) }
    lines[member, default: Line()].insert(place)
  }

  mutating func remove(_ place: QueuePlace) {
    let member = Member(holding: place)
    lines[member]?.remove(place)
    leaveIfEmpty(member)
  }

  mutating func removeFirst() -> QueuePlace? {
    guard let member = turns.first, let place = lines[member]?.removeFirst() else { return nil }
    turns.insert(member, key: clock.stamp(forServed: member))
    leaveIfEmpty(member)
    return place
  }

  private mutating func leaveIfEmpty(_ member: Member) {
    guard lines[member]?.isEmpty == true else { return }
    lines[member] = nil
    turns.remove(member)
  }
}
