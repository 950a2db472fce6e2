/// Quarter turns and mirrors put together, and what EXIF calls the result.
///
/// Every mixture equals some quarter turns against the clock, then at most one exchange of top and
/// bottom.
struct Orientation: Equatable {
  static let upright = Orientation(quarters: 0, isFlipped: false)

  private var quarters: Int
  private var isFlipped: Bool

  private init(quarters: Int, isFlipped: Bool) {
    self.quarters = quarters
    self.isFlipped = isFlipped
  }

  /// Against the clock. Behind a flip a turn is the opposite turn in front of it.
  mutating func rotate(quarters more: Int) {
    quarters = (isFlipped ? quarters - more : quarters + more) & 3
  }

  /// An exchange of left and right is one of top and bottom and half a turn.
  mutating func mirror(leftToRight: Bool) {
    if leftToRight { rotate(quarters: 2) }
    isFlipped.toggle()
  }

  /// EXIF's number from 1 to 8.
  var exif: Int {
    let numbers = isFlipped ? [4, 5, 2, 7] : [1, 8, 3, 6]
    return numbers[quarters]
  }
}
