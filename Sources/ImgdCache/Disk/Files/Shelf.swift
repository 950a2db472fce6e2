/// What stands in one of the directories that the pictures are spread over.
///
/// A digest's first digit names a directory, the next two one inside of it: a million pictures are
/// 250 in each.
package struct Shelf: Sendable {
  /// How many there are.
  package static let all = 16 * 256

  package let pictures: [(file: PictureFile, count: Int)]
  /// How many things stand there that are no pictures of ours; they are left alone.
  package let foreign: Int

  /// The way to a shelf: `a/bc`.
  static func path(_ number: Int) -> String {
    rack(number) + "/" + (number & 0xFF < 16 ? "0" : "") + String(number & 0xFF, radix: 16)
  }

  /// The directory that a shelf is in.
  static func rack(_ number: Int) -> String { String(number >> 8, radix: 16) }
}
