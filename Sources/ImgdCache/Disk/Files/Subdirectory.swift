/// The directories that the pictures are spread over, each known by a number.
///
/// A digest's first digit names a directory, the next two one inside of it: a million pictures are
/// 250 in each.
package enum Subdirectory {
  /// How many there are.
  package static let count = 16 * 256

  /// The way to one from the directory of the layout: `a/bc`.
  static func path(_ number: Int) -> String { parent(number) + "/" + name(number) }

  /// The directory that it lies in.
  static func parent(_ number: Int) -> String { String(number >> 8, radix: 16) }

  static func name(_ number: Int) -> String {
    (number & 0xFF < 16 ? "0" : "") + String(number & 0xFF, radix: 16)
  }

  /// The digests of the files that belong there, from the lowest to the highest.
  static func digests(_ number: Int) -> (first: KeyDigest, last: KeyDigest) {
    let first = UInt64(number) << 52
    return (
      KeyDigest(high: first, low: 0), KeyDigest(high: first | 0xF_FFFF_FFFF_FFFF, low: .max)
    )
  }

  /// The number of the one that a digest's files belong in.
  static func number(of digest: KeyDigest) -> Int { Int(digest.high >> 52) }
}

/// The files in one of the subdirectories.
package struct SubdirectoryContents: Sendable {
  package let pictures: [(file: PictureFile, count: Int)]
  /// How many things lie there that are no pictures of ours; they are left alone.
  package let foreign: Int
}
