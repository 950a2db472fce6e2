/// The keys that one object has had so far.
///
/// Keys are compared as bytes, because two spellings of "é" are equal as Swift strings and different
/// as JSON keys. Few keys are compared one by one, many go into a hash set, so that ten thousand
/// keys do not cost ten million comparisons.
struct KeySet {
  private static let fewest = 8

  private var few: [String] = []
  private var many: Set<[UInt8]> = []

  /// Adds a key; false when it was there already.
  mutating func insert(_ key: String) -> Bool {
    if many.isEmpty, few.count < Self.fewest {
      guard !few.contains(where: { $0.utf8.elementsEqual(key.utf8) }) else { return false }
      few.append(key)
      return true
    }
    if many.isEmpty { many = Set(few.map { Array($0.utf8) }) }
    return many.insert(Array(key.utf8)).inserted
  }

  /// Adds the key that `token` holds, and returns its value; a key that was there already fails.
  mutating func insert(_ token: JSONToken, in text: Span<UInt8>) throws(JSONSyntaxError) -> String {
    let name = token.string(in: text)
    guard insert(name) else { throw JSONSyntaxError(offset: token.sourceRange.lowerBound, expected: .otherKey) }
    return name
  }
}
