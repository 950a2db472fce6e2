/// Bitmaps of Windows and OS/2, with several headers that differ in length.
enum BMP {
  private static let information = 14

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let size = bytes.little32(at: information) else {
      throw NotAPicture(reason: "BMP that ends inside its header")
    }
    let width: Int?
    let height: Int?
    switch size {
    case 12:
      width = bytes.little16(at: information + 4)
      height = bytes.little16(at: information + 6)
    case 16, 40, 52, 56, 64, 108, 124:
      width = bytes.little32(at: information + 4).map(signed)
      // A negative height means that the top row comes first.
      height = bytes.little32(at: information + 8).map { abs(signed($0)) }
    default: throw NotAPicture(reason: "BMP with an unknown header of \(size) bytes")
    }
    guard let width, let height else { throw NotAPicture(reason: "BMP that ends inside its header") }
    return PictureMeasures(format: .bmp, width: width, height: height)
  }

  private static func signed(_ number: Int) -> Int { Int(Int32(truncatingIfNeeded: number)) }
}

/// A table of alternatives, the same picture at several sizes; the widest one counts.
enum ICO {
  private static let table = 6
  private static let entrySize = 16

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let count = bytes.little16(at: 4), bytes.count >= table + count * entrySize else {
      throw NotAPicture(reason: "ICO that ends inside its table")
    }
    let end = table + count * entrySize
    var largest = (width: 0, height: 0)
    for entry in stride(from: table, to: end, by: entrySize) {
      if let sides = sides(of: entry, tableEnd: end, in: bytes), sides > largest { largest = sides }
    }
    guard largest.width > 0 else { throw NotAPicture(reason: "ICO without an entry") }
    return PictureMeasures(format: .ico, width: largest.width, height: largest.height)
  }

  /// nil for an entry that lies in the table. A PNG has its own size; others have two bytes, in which 0 means 256.
  private static func sides(of entry: Int, tableEnd: Int, in bytes: Span<UInt8>) -> (width: Int, height: Int)? {
    guard let width = bytes.byte(at: entry), let height = bytes.byte(at: entry + 1),
      let start = bytes.little32(at: entry + 12), start >= tableEnd
    else { return nil }
    return PNG.size(at: start, in: bytes) ?? (width == 0 ? 256 : width, height == 0 ? 256 : height)
  }
}
