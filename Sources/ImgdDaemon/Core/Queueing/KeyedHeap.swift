/// Values by key, the smallest key first; each value is there once.
///
/// A value's place is found by a linear search while there are few values, and in an index when
/// there are many: most heaps hold one value, and there may be a hundred thousand heaps.
struct KeyedHeap<Value: Hashable> {
  private static var mostWithoutIndex: Int { 16 }

  private var entries: [(key: Int64, value: Value)] = []
  /// The place of each value; nil while there are few.
  private var places: [Value: Int]?

  var first: Value? { entries.first?.value }
  var firstKey: Int64? { entries.first?.key }
  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }

  /// Puts a value in, or gives it another key.
  mutating func insert(_ value: Value, key: Int64) {
    if let place = place(of: value) {
      entries[place].key = key
      return settle(at: place)
    }
    entries.append((key, value))
    places?[value] = entries.count - 1
    if places == nil, entries.count > Self.mostWithoutIndex {
      places = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($0.element.value, $0.offset) })
    }
    rise(from: entries.count - 1)
  }

  /// Puts a value in with a key, or takes it out where the key is nil.
  mutating func set(_ value: Value, key: Int64?) { if let key { insert(value, key: key) } else { remove(value) } }

  mutating func remove(_ value: Value) {
    guard let place = place(of: value) else { return }
    let last = entries.removeLast()
    places?[value] = nil
    if entries.count <= Self.mostWithoutIndex / 2 { places = nil }
    guard place < entries.count else { return }
    set(last, at: place)
    settle(at: place)
  }

  /// The first value that is wanted. The cost grows with the number of unwanted values before it.
  func first(where isWanted: (Value) -> Bool) -> Value? {
    guard let top = entries.first else { return nil }
    if isWanted(top.value) { return top.value }
    guard entries.count > 1 else { return nil }
    var border = KeyedHeap<Int>()
    border.insert(0, key: top.key)
    while let place = border.first {
      border.remove(place)
      if place > 0, isWanted(entries[place].value) { return entries[place].value }
      for child in [2 * place + 1, 2 * place + 2] where child < entries.count {
        border.insert(child, key: entries[child].key)
      }
    }
    return nil
  }

  private func place(of value: Value) -> Int? {
    if let places { return places[value] }
    return entries.firstIndex { $0.value == value }
  }

  private mutating func set(_ entry: (key: Int64, value: Value), at place: Int) {
    entries[place] = entry
    places?[entry.value] = place
  }

  private mutating func settle(at place: Int) {
    if place > 0, entries[place].key < entries[(place - 1) / 2].key { rise(from: place) } else { sink(from: place) }
  }

  /// Moves the entries on the way down by one level each, and writes the one that rises only where it stays.
  private mutating func rise(from start: Int) {
    let entry = entries[start]
    var place = start
    while place > 0, entry.key < entries[(place - 1) / 2].key {
      set(entries[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    if place != start { set(entry, at: place) }
  }

  private mutating func sink(from start: Int) {
    let entry = entries[start]
    var place = start
    while let child = smallerChild(of: place), entries[child].key < entry.key {
      set(entries[child], at: place)
      place = child
    }
    if place != start { set(entry, at: place) }
  }

  private func smallerChild(of place: Int) -> Int? {
    let left = 2 * place + 1
    guard left < entries.count else { return nil }
    let right = left + 1
    return right < entries.count && entries[right].key < entries[left].key ? right : left
  }
}
