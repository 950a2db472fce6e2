/// Header fields in one piece of memory, for keeping.
///
/// A list of them costs an allocation for every value; a hundred thousand entries with a dozen
/// fields each would hold a million strings that are hardly ever looked at.
package struct StoredHeaders: Sendable {
  /// Names and values in turn, each behind its length in four bytes.
  private let packed: [UInt8]

  package init(_ list: HeaderList) {
    var packed: [UInt8] = []
    packed.reserveCapacity(list.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 8 })
    for (name, value) in list {
      Self.append(name, to: &packed)
      Self.append(value, to: &packed)
    }
    self.packed = packed
  }

  /// The fields as they were stored.
  package var list: HeaderList {
    var list: HeaderList = []
    var offset = 0
    while offset < packed.count {
      let name = part(at: &offset)
      list.append((name, part(at: &offset)))
    }
    return list
  }

  /// The memory held.
  var cost: Int { packed.count }

  private static func append(_ text: String, to packed: inout [UInt8]) {
    var count = UInt32(clamping: text.utf8.count)
    for _ in 0..<4 {
      packed.append(UInt8(truncatingIfNeeded: count))
      count >>= 8
    }
    packed.append(contentsOf: text.utf8)
  }

  private func part(at offset: inout Int) -> String {
    var count = 0
    for place in (0..<4).reversed() { count = count << 8 | Int(packed[offset + place]) }
    let start = offset + 4
    offset = start + count
    return String(decoding: packed[start..<offset], as: UTF8.self)
  }
}
