/// The directories that the pictures are spread over, each known by a number.
///
/// The first two digits of a digest name one: a million pictures are 4,000 in each. More of them would
/// make an empty cache dear: most of its first pictures would need a directory made.
package enum Subdirectory {
  /// How many there are.
  package static let count = 256

  /// The name of one in the directory of the layout: `ab`.
  static func name(_ number: Int) -> String {
    (number < 16 ? "0" : "") + String(number, radix: 16)
  }

  /// The digests of the files that belong there, from the lowest to the highest.
  static func digests(_ number: Int) -> (first: KeyDigest, last: KeyDigest) {
    let first = UInt64(number) << 56
    return (
      KeyDigest(high: first, low: 0), KeyDigest(high: first | 0xFF_FFFF_FFFF_FFFF, low: .max)
    )
  }

  /// The number of the one that a digest's files belong in.
  static func number(of digest: KeyDigest) -> Int { Int(digest.high >> 56) }
}

/// The files in one of the subdirectories.
package struct SubdirectoryContents: Sendable {
  package let pictures: [PictureFile]
  /// How many things lie there that are no pictures of ours; they are left alone.
  package let foreign: Int
}
