/// Keys in the order in which they came, of which any can be taken out.
struct KeyQueue {
  private var newer: [Int32: Int32] = [:]
  private var older: [Int32: Int32] = [:]
  private(set) var sizes: [Int32: Int] = [:]
  private var newest: Int32?
  private(set) var oldest: Int32?
  /// The bytes of all of them.
  private(set) var bytes = 0

  func contains(_ key: Int32) -> Bool { sizes[key] != nil }

  func next(after key: Int32) -> Int32? { newer[key] }

  mutating func append(_ key: Int32, size: Int) {
    if let newest {
      newer[newest] = key
      older[key] = newest
    } else {
      oldest = key
    }
    newest = key
    sizes[key] = size
    bytes += size
  }

  /// Takes a key out, and answers its size.
  @discardableResult
  mutating func remove(_ key: Int32) -> Int {
    let (after, before) = (newer.removeValue(forKey: key), older.removeValue(forKey: key))
    if let before { newer[before] = after } else { oldest = after }
    if let after { older[after] = before } else { newest = before }
    let size = sizes.removeValue(forKey: key) ?? 0
    bytes -= size
    return size
  }
}
