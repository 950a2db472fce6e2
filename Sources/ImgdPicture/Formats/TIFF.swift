/// A chain of directories, one for each page; the first one has the size.
enum TIFF {
  private static let widthTag = 256
  private static let heightTag = 257
  private static let samplesTag = 277
  /// Further pages are not counted: the classic library cannot number more either.
  private static let mostDirectories = 65_535

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    guard let directories = TIFFDirectories(bytes) else {
      throw NotAPicture(reason: "TIFF that ends inside its header")
    }
    let first = directories.first
    guard let width = directories.number(widthTag, at: first, in: bytes),
      let height = directories.number(heightTag, at: first, in: bytes)
    else { throw NotAPicture(reason: "TIFF whose first directory states no size") }
    return PictureMeasures(
      format: .tiff, width: width, height: height, frames: countPages(directories, in: bytes),
      orientation: directories.orientation(in: bytes) ?? 1,
      // One is grey, three are colours; more may be alpha.
      isOpaque: [1, 3].contains(directories.number(samplesTag, at: first, in: bytes) ?? 1))
  }

  /// A repeated directory ends the chain, as does one outside the bytes.
  private static func countPages(_ directories: TIFFDirectories, in bytes: Span<UInt8>) -> Int {
    var seen: Set<Int> = []
    var directory = directories.first
    while seen.count < mostDirectories, directories.hasEntries(at: directory, in: bytes),
      seen.insert(directory).inserted, let next = directories.next(after: directory, in: bytes), next != 0
    {
      directory = next
    }
    return seen.count
  }
}

/// The directories of one TIFF: either byte order, 32 or 64-bit offsets.
struct TIFFDirectories {
  private static let orientationTag = 274

  private let order: ByteOrder
  /// BigTIFF: counts and offsets of 64 bits.
  private let isBig: Bool
  /// The offset of the first directory; it may lie outside the bytes.
  let first: Int

  init?(_ bytes: Span<UInt8>) {
    switch bytes.big16(at: 0) {
    case 0x4949: order = .little
    case 0x4D4D: order = .big
    default: return nil
    }
    let version = bytes.read16(at: 2, order)
    isBig = version == 43
    guard isBig || version == 42, let first = isBig ? bytes.read64(at: 8, order) : bytes.read32(at: 4, order) else {
      return nil
    }
    self.first = first
  }

  /// EXIF's orientation from the first directory; nil when absent or out of range.
  func orientation(in bytes: Span<UInt8>) -> Int? {
    guard let number = number(Self.orientationTag, at: first, in: bytes), (1...8).contains(number) else { return nil }
    return number
  }

  /// The value of an entry that holds one whole number in place; nil for every other entry.
  func number(_ tag: Int, at directory: Int, in bytes: Span<UInt8>) -> Int? {
    guard let count = entryCount(at: directory, in: bytes) else { return nil }
    let start = directory + countSize
    for entry in stride(from: start, to: start + count * entrySize, by: entrySize)
    where bytes.read16(at: entry, order) == tag { return value(of: entry, in: bytes) }
    return nil
  }

  func hasEntries(at directory: Int, in bytes: Span<UInt8>) -> Bool { (entryCount(at: directory, in: bytes) ?? 0) > 0 }

  /// The offset of the next directory; 0 ends the chain.
  func next(after directory: Int, in bytes: Span<UInt8>) -> Int? {
    guard let count = entryCount(at: directory, in: bytes) else { return nil }
    let place = directory + countSize + count * entrySize
    return isBig ? bytes.read64(at: place, order) : bytes.read32(at: place, order)
  }

  /// The number of entries, limited to what fits into the bytes, so that arithmetic with it is safe.
  private func entryCount(at directory: Int, in bytes: Span<UInt8>) -> Int? {
    let count = isBig ? bytes.read64(at: directory, order) : bytes.read16(at: directory, order)
    guard let count else { return nil }
    return min(count, bytes.count / entrySize)
  }

  private func value(of entry: Int, in bytes: Span<UInt8>) -> Int? {
    let place = entry + (isBig ? 12 : 8)
    return switch bytes.read16(at: entry + 2, order) {
    case 3: bytes.read16(at: place, order)
    case 4: bytes.read32(at: place, order)
    case 16: bytes.read64(at: place, order)
    default: nil
    }
  }

  private var countSize: Int { isBig ? 8 : 2 }
  private var entrySize: Int { isBig ? 20 : 12 }
}
