/// A dictionary that grows in parts.
///
/// When a hash table grows, it hashes all its keys again: with a hundred thousand of them, adding the next one makes
/// everybody wait for tens of milliseconds. Here the keys are spread over many tables, each of which grows by itself, and
/// gives its memory back when its last key has gone.
///
/// It is compiled in the target that uses it: generic code for all kinds of keys costs three times as much.
struct SteadyDictionary<Key: Hashable, Value> {
  private static var parts: Int { 256 }
  /// A table with room for so few is kept.
  private static var few: Int { 16 }

  private(set) var tables = [[Key: Value]](repeating: [:], count: parts)
  private(set) var count = 0

  var all: some Sequence<(key: Key, value: Value)> { tables.lazy.joined() }

  subscript(key: Key) -> Value? {
    get { tables[Self.part(of: key)][key] }
    set { update(key) { $0 = newValue } }
  }

  /// Changes the value of a key in place; nil stands for none, before and after.
  mutating func update(_ key: Key, _ change: (inout Value?) -> Void) {
    let part = Self.part(of: key)
    let before = tables[part].count
    change(&tables[part][key])
    count += tables[part].count - before
    giveBack(part)
  }

  @discardableResult mutating func removeValue(forKey key: Key) -> Value? {
    let part = Self.part(of: key)
    let value = tables[part].removeValue(forKey: key)
    if value != nil { count -= 1 }
    giveBack(part)
    return value
  }

  private mutating func giveBack(_ part: Int) {
    if tables[part].isEmpty, tables[part].capacity > Self.few { tables[part] = [:] }
  }

  /// Uses bits of the hash that the table itself does not use: its size stays far below them.
  private static func part(of key: Key) -> Int {
    Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) >> (UInt.bitWidth - 8))
  }
}
