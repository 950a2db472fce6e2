/// The directories that the pictures are spread over, each known by a number.
///
/// The first two digits of a digest name one: with a million pictures there are 4,000 in each. More directories
/// would make an empty cache expensive: most of its first pictures would need a new one.
package enum Subdirectory {
  /// How many there are.
  package static let count = 256

  /// The name of a subdirectory in the directory of the layout, such as `ab`.
  static func name(_ number: Int) -> String { (number < 16 ? "0" : "") + String(number, radix: 16) }

  /// The lowest and the highest digest of files that belong in a subdirectory.
  static func digests(_ number: Int) -> (first: KeyDigest, last: KeyDigest) {
    let first = UInt64(number) << 56
    return (KeyDigest(high: first, low: 0), KeyDigest(high: first | 0xFF_FFFF_FFFF_FFFF, low: .max))
  }

  /// The number of the subdirectory in which a digest's files belong.
  static func number(of digest: KeyDigest) -> Int { Int(digest.high >> 56) }
}

/// The files in one of the subdirectories.
package struct SubdirectoryContents: Sendable {
  package let pictures: [PictureFile]
  /// How many things in it are not pictures of ours; they are left alone.
  package let foreign: Int
}
