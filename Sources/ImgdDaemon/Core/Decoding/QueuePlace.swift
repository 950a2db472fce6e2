import ImgdWire

/// Where an order stands in the queue for decoders for one of those who wait for it.
struct QueuePlace: Hashable {
  let serial: UInt64
  let claim: DecodeClaim
  /// How many places were given before it: no two have the same.
  let arrival: Int64
  let expected: DecodeTime

  static func == (left: QueuePlace, right: QueuePlace) -> Bool { left.arrival == right.arrival }

  func hash(into hasher: inout Hasher) { hasher.combine(arrival) }
}

/// Which orders a decoder may have.
enum OrderChoice {
  case any
  /// Only those that are expected to end in a moment.
  case quick
}

/// Places in some order.
protocol PlaceLine {
  init()
  var isEmpty: Bool { get }
  /// Whether any of the orders is expected to end in a moment.
  var hasQuick: Bool { get }
  mutating func insert(_ place: QueuePlace)
  mutating func remove(_ place: QueuePlace)
  /// Takes out the place whose turn it is; its order is charged with the time that is expected.
  mutating func removeFirst(_ choice: OrderChoice) -> QueuePlace?
  /// Charges an order that has ended with the time that it took, in place of what was expected.
  mutating func settle(_ place: QueuePlace, took time: DecodeTime)
}

/// Places in the order in which they were given.
struct ArrivalLine: PlaceLine {
  private var quick = KeyedHeap<QueuePlace>()
  private var slow = KeyedHeap<QueuePlace>()

  var isEmpty: Bool { quick.isEmpty && slow.isEmpty }
  var hasQuick: Bool { !quick.isEmpty }

  mutating func insert(_ place: QueuePlace) {
    if place.expected.isQuick {
      quick.insert(place, key: place.arrival)
    } else {
      slow.insert(place, key: place.arrival)
    }
  }

  mutating func remove(_ place: QueuePlace) {
    if place.expected.isQuick { quick.remove(place) } else { slow.remove(place) }
  }

  mutating func removeFirst(_ choice: OrderChoice) -> QueuePlace? {
    guard let first = first(choice) else { return nil }
    remove(first)
    return first
  }

  private func first(_ choice: OrderChoice) -> QueuePlace? {
    guard choice == .any, let slow = slow.first else { return quick.first }
    guard let quick = quick.first else { return slow }
    return quick.arrival < slow.arrival ? quick : slow
  }

  mutating func settle(_ place: QueuePlace, took time: DecodeTime) {}
}
