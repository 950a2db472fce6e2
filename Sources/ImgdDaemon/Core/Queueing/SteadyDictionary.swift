/// A dictionary that grows in parts.
///
/// When a hash table grows, it hashes all its keys again: with a hundred thousand of them, adding the next one makes
/// everybody wait for tens of milliseconds. Here the keys are spread over many tables, each of which grows by itself.
///
/// It is compiled in the target that uses it: generic code for all kinds of keys costs three times as much.
struct SteadyDictionary<Key: Hashable, Value> {
  private static var parts: Int { 256 }

  private var tables = [[Key: Value]](repeating: [:], count: parts)
  private(set) var count = 0

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
  }

  @discardableResult mutating func removeValue(forKey key: Key) -> Value? {
    let value = tables[Self.part(of: key)].removeValue(forKey: key)
    if value != nil { count -= 1 }
    return value
  }

  /// Uses bits of the hash that the table itself does not use: its size stays far below them.
  private static func part(of key: Key) -> Int {
    Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) >> (UInt.bitWidth - 8))
  }
}
