/// Header fields as files have them: names and values in turn, each preceded by its length in four bytes.
enum HeaderPacking {
  static func packed(_ list: HeaderList) -> [UInt8] {
    var packed: [UInt8] = []
    packed.reserveCapacity(list.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 8 })
    for (name, value) in list {
      append(name, to: &packed)
      append(value, to: &packed)
    }
    return packed
  }

  /// Nil for bytes that make no sense.
  static func list(of packed: [UInt8]) -> HeaderList? {
    var parts: [String] = []
    var offset = 0
    while offset < packed.count {
      guard let part = part(of: packed, at: offset) else { return nil }
      parts.append(String(decoding: packed[part], as: UTF8.self))
      offset = part.upperBound
    }
    guard parts.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: parts.count, by: 2).map { (parts[$0], parts[$0 + 1]) }
  }

  /// The value of the first field with a name in lower case, found without making a list.
  static func value(of name: String, in packed: [UInt8]) -> String? {
    var offset = 0
    while let key = part(of: packed, at: offset), let value = part(of: packed, at: key.upperBound) {
      if packed[key].elementsEqual(name.utf8) { return String(decoding: packed[value], as: UTF8.self) }
      offset = value.upperBound
    }
    return nil
  }

  /// The range of the part whose length is at an offset; nil when the bytes do not have it.
  private static func part(of packed: [UInt8], at offset: Int) -> Range<Int>? {
    guard packed.count - offset >= 4 else { return nil }
    let (start, count) = (offset + 4, count(packed, at: offset))
    return count <= packed.count - start ? start..<start + count : nil
  }

  private static func count(_ packed: [UInt8], at offset: Int) -> Int {
    (0..<4).reversed().reduce(0) { $0 << 8 | Int(packed[offset + $1]) }
  }

  private static func append(_ text: String, to packed: inout [UInt8]) {
    var count = UInt32(clamping: text.utf8.count)
    for _ in 0..<4 {
      packed.append(UInt8(truncatingIfNeeded: count))
      count >>= 8
    }
    packed.append(contentsOf: text.utf8)
  }
}
