/// A chain of directories, one for each page; the first one has the size.
enum TIFF {
  private static let widthTag = 256
  private static let heightTag = 257
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
      orientation: directories.orientation(in: bytes) ?? 1)
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
