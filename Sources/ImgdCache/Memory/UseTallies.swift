// How often the images of a tier are used, by groups of them that the tier's owner decides.
//
// The group of an image is a mark in its fields, so that a use counts in a few instructions, on lines that are read
// anyway. A group that gives its tally to another one gets its images back one by one, when they are used: their marks are
// not those of the tally any more.

/// The tallies of uses.
@safe package final class UseTallies {
  /// The most tallies; they are numbered from zero.
  package static let most = 1 << bits
  private static let bits = 11
  private static let numbers = UInt32(most - 1)

  private struct Tally {
    /// The images with this mark count at once; 0 for those that have not been used yet.
    var mark: UInt32 = 0
    var uses: UInt64 = 0
  }

  /// Tells a mark from earlier ones of the same tally.
  private var lastTerm: UInt32 = 0
  // Safe: allocated and freed here alone, with as many elements as there are numbers in marks.
  private let tallies: UnsafeMutablePointer<Tally>

  /// Called for a use that no tally has counted, with the mark that the image had; returns the one that it has from now on.
  package var onOther: (CachedImage, UInt32) -> UInt32 = { _, mark in mark }

  package init() {
    unsafe tallies = .allocate(capacity: Self.most)
    unsafe tallies.initialize(repeating: Tally(), count: Self.most)
  }

  deinit { unsafe tallies.deallocate() }

  /// Counts a use of an image.
  @inline(__always) func countUse(of image: CachedImage) {
    let mark = image.header.tallyMark
    let number = Int(mark & Self.numbers)
    guard unsafe tallies[number].mark == mark else { return countOther(image, mark) }
    unsafe tallies[number].uses &+= 1
  }

  @inline(never) private func countOther(_ image: CachedImage, _ mark: UInt32) {
    image.header.tallyMark = onOther(image, mark)
  }

  /// A new mark for images of a tally.
  package func newMark(of number: Int) -> UInt32 {
    lastTerm = (lastTerm &+ 1) & (UInt32.max >> Self.bits)
    if lastTerm == 0 { lastTerm = 1 }
    return lastTerm << Self.bits | UInt32(truncatingIfNeeded: number) & Self.numbers
  }

  /// The number of the tally that a mark is of.
  package static func number(of mark: UInt32) -> Int { Int(mark & numbers) }

  /// The uses that a tally has counted.
  package subscript(number: Int) -> UInt64 {
    get { unsafe tallies[Self.checked(number)].uses }
    set { unsafe tallies[Self.checked(number)].uses = newValue }
  }

  /// The mark of the images that a tally counts at once.
  package func mark(of number: Int) -> UInt32 { unsafe tallies[Self.checked(number)].mark }

  /// Has the images with a mark count at once; nil where each use is to be told.
  package func setMark(_ mark: UInt32?, of number: Int) { unsafe tallies[Self.checked(number)].mark = mark ?? .max }

  private static func checked(_ number: Int) -> Int {
    precondition(0 <= number && number < most, "a tally has a number below \(most)")
    return number
  }
}
