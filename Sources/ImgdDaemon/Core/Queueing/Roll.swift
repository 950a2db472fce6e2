/// Those who wait, or are under way, by rising numbers. They can leave one by one, and be gone through in parts.
///
/// A member that has left leaves a gap; gaps are closed when they are more than half, so that a change costs a few
/// steps on average, and a place is found by its number.
struct Roll<Member>: Sequence {
  private struct Place {
    let number: UInt64
    var member: Member?
  }

  private var places: [Place] = []
  private(set) var count = 0
  /// The number of the newest member that is or was here.
  private(set) var newest: UInt64 = 0
  /// The number of the last one that was taken out as the oldest.
  private var oldestTaken: UInt64 = 0

  var isEmpty: Bool { count == 0 }

  /// Takes in one that came after all others.
  mutating func add(_ member: Member, numbered number: UInt64) {
    precondition(newest < number, "numbers rise")
    newest = number
    places.append(Place(number: number, member: member))
    count += 1
  }

  /// Takes in one under the next number, and returns that number.
  mutating func append(_ member: Member) -> UInt64 {
    add(member, numbered: newest + 1)
    return newest
  }

  /// Takes one out, and returns it; nil if it is no longer here.
  @discardableResult mutating func remove(_ number: UInt64) -> Member? {
    let index = index(after: number - 1)
    guard index < places.count, places[index].number == number, let member = places[index].member else { return nil }
    places[index].member = nil
    count -= 1
    // Into an array of its own, since the room of many that have gone is not needed any more.
    if places.count > 2 * count + 16 { places = places.filter { $0.member != nil } }
    return member
  }

  mutating func removeOldest() -> Member? {
    guard let (number, member) = first(after: oldestTaken) else { return nil }
    oldestTaken = number
    remove(number)
    return member
  }

  func makeIterator() -> some IteratorProtocol<Member> { places.lazy.compactMap(\.member).makeIterator() }

  var oldest: Member? { places.first { $0.member != nil }?.member }

  func first(after number: UInt64) -> (number: UInt64, member: Member)? {
    for place in places[index(after: number)...] { if let member = place.member { return (place.number, member) } }
    return nil
  }

  /// Some of those after a number, the oldest first, and the number of the last place looked at; nil at the end.
  func part(after number: UInt64, most: Int = 64) -> (members: [Member], end: UInt64?) {
    let start = index(after: number)
    let end = Swift.min(start + most, places.count)
    let members = places[start..<end].compactMap(\.member)
    return (members, end < places.count ? places[end - 1].number : nil)
  }

  /// The first place with a greater number.
  private func index(after number: UInt64) -> Int {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].number <= number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
