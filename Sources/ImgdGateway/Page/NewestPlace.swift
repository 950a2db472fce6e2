// The disk tier lists its entries in the order in which they were stored, from any place on, and a place is a number
// that grows with each entry. The newest are at the end, which has to be searched for: in growing steps from the place
// that was good the last time until a page has no next one, then by halves between the last two places. A cache of a
// million entries takes about thirty questions the first time, and one or two after that.

/// The search for a place in a listing that is followed by at most one page, and not by a small one.
struct NewestPlace {
  /// Places are numbers of 32 bits.
  static let last = Int(UInt32.max)

  /// The length of a page.
  private let wanted: Int
  /// The page after this place is asked for next.
  private(set) var candidate: Int
  /// After this place there is more than a page; -1 while no such place is known.
  private var low = -1
  /// After this place there are too few entries for a page.
  private var high: Int?
  private var step: Int

  init(wanted: Int, from candidate: Int = 0) {
    self.wanted = wanted
    self.candidate = candidate
    step = wanted
  }

  /// Takes in the page after the candidate, and returns whether it is the one to show; otherwise chooses another
  /// candidate.
  mutating func isFound(by count: Int, hasMore: Bool) -> Bool {
    if hasMore {
      low = candidate
      // Entries have been added since.
      if candidate >= high ?? .max { high = nil }
    } else if count >= wanted / 2 || candidate - low <= 1 {
      return true
    } else {
      high = candidate
    }
    choose()
    return false
  }

  private mutating func choose() {
    if let high {
      // The place above the low one is the last to be asked about.
      candidate = max(low + (high - low) / 2, min(low + 1, high))
    } else {
      candidate = min(candidate + step, Self.last)
      step = min(step * 2, Self.last)
    }
  }
}
