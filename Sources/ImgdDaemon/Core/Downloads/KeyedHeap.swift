/// Values by key, the smallest key first.
struct KeyedHeap<Value> {
  private(set) var entries: [(key: Int64, value: Value)] = []

  var first: (key: Int64, value: Value)? { entries.first }
  var count: Int { entries.count }

  mutating func insert(_ value: Value, key: Int64) {
    entries.append((key, value))
    var place = entries.count - 1
    while place > 0, entries[place].key < entries[(place - 1) / 2].key {
      entries.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  mutating func removeFirst() {
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    sink(from: 0)
  }

  /// Drops what is not wanted any more, all at once.
  mutating func keep(where isWanted: (Int64, Value) -> Bool) {
    entries = entries.filter { isWanted($0.key, $0.value) }
    for place in stride(from: entries.count / 2, through: 0, by: -1) { sink(from: place) }
  }

  private mutating func sink(from start: Int) {
    var place = start
    while true {
      let left = 2 * place + 1
      guard left < entries.count else { return }
      let right = left + 1
      let child = right < entries.count && entries[right].key < entries[left].key ? right : left
      guard entries[child].key < entries[place].key else { return }
      entries.swapAt(child, place)
      place = child
    }
  }
}
