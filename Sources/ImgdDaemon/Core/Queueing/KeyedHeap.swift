/// Something that stands in heaps, and has its place in each of them written down with itself.
protocol HeapMember: AnyObject {
  var places: HeapPlaces { get set }
}

/// The places of a member in the heaps in which it may stand at the same time; each of these has a number of its own.
typealias HeapPlaces = InlineArray<6, Int32>

/// Members by key, the smallest key first; each member is there once.
///
/// Nothing is searched and nothing hashed to find a member: it knows its place.
struct KeyedHeap<Member: HeapMember> {
  /// Which of a member's places is the one here.
  private let number: Int
  private(set) var entries: [(key: Int64, member: Member)] = []
  /// Room for so few is kept when it is empty.
  private static var few: Int { 64 }

  init(_ number: Int) { self.number = number }

  var first: Member? { entries.first?.member }
  var firstKey: Int64? { entries.first?.key }
  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }

  /// Puts a member in, or gives it another key.
  mutating func insert(_ member: Member, key: Int64) {
    if let place = place(of: member) {
      guard entries[place].key != key else { return }
      entries[place].key = key
      return settle(at: place)
    }
    put((key, member), at: entries.count)
    rise(from: entries.count - 1)
  }

  /// Puts a member in with a key, or takes it out where the key is nil.
  mutating func set(_ member: Member, key: Int64?) { if let key { insert(member, key: key) } else { remove(member) } }

  mutating func remove(_ member: Member) {
    guard let place = place(of: member) else { return }
    let last = entries.removeLast()
    if entries.isEmpty, entries.capacity > Self.few { entries = [] }
    guard place < entries.count else { return }
    put(last, at: place)
    settle(at: place)
  }

  mutating func removeAll() { entries = [] }

  /// The first member that is wanted. The cost grows with the number of unwanted members before it.
  func first(where isWanted: (Member) -> Bool) -> Member? {
    guard let top = first, !isWanted(top) else { return first }
    // The places below those that were looked at, the smallest key last.
    var border: [Int] = []
    var place = 0
    repeat {
      if place > 0, isWanted(entries[place].member) { return entries[place].member }
      for child in 2 * place + 1...2 * place + 2 where child < entries.count {
        border.insert(child, at: index(of: entries[child].key, in: border))
      }
      guard let next = border.popLast() else { return nil }
      place = next
    } while true
  }

  /// Where a key belongs among places with falling keys.
  private func index(of key: Int64, in places: [Int]) -> Int {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[places[middle]].key > key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func place(of member: Member) -> Int? {
    let place = Int(member.places[number])
    return place < entries.count && entries[place].member === member ? place : nil
  }

  private mutating func put(_ entry: (key: Int64, member: Member), at place: Int) {
    entry.member.places[number] = Int32(place)
    if place < entries.count { entries[place] = entry } else { entries.append(entry) }
  }

  private mutating func settle(at place: Int) {
    if place > 0, entries[place].key < entries[(place - 1) / 2].key { rise(from: place) } else { sink(from: place) }
  }

  /// Moves the entries on the way down by one level each, and writes the one that rises only where it stays.
  private mutating func rise(from start: Int) {
    let entry = entries[start]
    var place = start
    while place > 0, entry.key < entries[(place - 1) / 2].key {
      put(entries[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    if place != start { put(entry, at: place) }
  }

  private mutating func sink(from start: Int) {
    let entry = entries[start]
    var place = start
    while let child = smallerChild(of: place), entries[child].key < entry.key {
      put(entries[child], at: place)
      place = child
    }
    if place != start { put(entry, at: place) }
  }

  private func smallerChild(of place: Int) -> Int? {
    let left = 2 * place + 1
    guard left < entries.count else { return nil }
    let right = left + 1
    return right < entries.count && entries[right].key < entries[left].key ? right : left
  }
}
