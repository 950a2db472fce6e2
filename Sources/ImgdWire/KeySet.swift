/// The keys that one object has had so far.
///
/// Keys are compared as bytes: Swift's strings hold two spellings of "é" to be equal, JSON does
/// not. Few keys are compared one by one, many go into a hash set, so that an object of ten
/// thousand keys costs no ten million comparisons.
struct KeySet {
  private static let fewest = 8

  private var few: [String] = []
  private var many: Set<[UInt8]> = []

  /// Takes a key in; false where it was there already.
  mutating func insert(_ key: String) -> Bool {
    if many.isEmpty, few.count < Self.fewest {
      guard !few.contains(where: { $0.utf8.elementsEqual(key.utf8) }) else { return false }
      few.append(key)
      return true
    }
    if many.isEmpty { many = Set(few.map { Array($0.utf8) }) }
    return many.insert(Array(key.utf8)).inserted
  }
}
