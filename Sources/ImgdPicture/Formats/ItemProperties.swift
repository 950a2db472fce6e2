/// The box that assigns properties to the items of a HEIF file, by number.
struct ItemProperties {
  private let isWideItem: Bool
  private let isWideIndex: Bool
  private var entriesLeft: Int
  private var offset: Int
  private let end: Int

  /// The numbers, from 1, of an item's properties in the order in which they are to be applied.
  static func indices(of item: Int, in properties: Range<Int>, of bytes: Span<UInt8>) -> [Int] {
    var walk = BoxWalk(properties)
    while let box = walk.next(in: bytes) {
      guard box.name == "ipma", var table = ItemProperties(box.body, of: bytes) else { continue }
      while let entry = table.next(in: bytes) {
        if entry.item == item { return table.indices(at: entry.properties, in: bytes) }
      }
    }
    return []
  }

  private init?(_ body: Range<Int>, of bytes: Span<UInt8>) {
    guard let versionAndFlags = bytes.big32(at: body.lowerBound), let count = bytes.big32(at: body.lowerBound + 4)
    else { return nil }
    isWideItem = versionAndFlags >> 24 > 0
    isWideIndex = versionAndFlags & 1 == 1
    entriesLeft = count
    offset = body.lowerBound + 8
    end = body.upperBound
  }

  /// The next item with the range of its properties. Every entry takes bytes, so the box ends even when
  /// its count is too large.
  private mutating func next(in bytes: Span<UInt8>) -> (item: Int, properties: Range<Int>)? {
    let itemSize = isWideItem ? 4 : 2
    guard entriesLeft > 0, offset + itemSize < end,
      let item = isWideItem ? bytes.big32(at: offset) : bytes.big16(at: offset),
      let count = bytes.byte(at: offset + itemSize)
    else { return nil }
    entriesLeft -= 1
    let start = offset + itemSize + 1
    offset = start + count * indexSize
    return (item, start..<offset)
  }

  /// The top bit of each index marks an essential property, and is ignored.
  private func indices(at place: Range<Int>, in bytes: Span<UInt8>) -> [Int] {
    var indices: [Int] = []
    for offset in stride(from: place.lowerBound, to: place.upperBound, by: indexSize) {
      let index = isWideIndex ? bytes.big16(at: offset) : bytes.byte(at: offset)
      guard let index else { break }
      indices.append(index & (isWideIndex ? 0x7FFF : 0x7F))
    }
    return indices
  }

  private var indexSize: Int { isWideIndex ? 2 : 1 }
}
