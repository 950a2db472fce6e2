/// A pass over all hosts, and then over all fetches, after the network has come or gone.
struct NetworkReview {
  /// How many hosts or fetches are reviewed in one step.
  static let most = 64

  enum Stage {
    case hosts(after: UInt64)
    case fetches(after: UInt64)
    case over
  }

  private(set) var stage = Stage.over
  /// Later fetches know already.
  private(set) var newest: UInt64 = 0

  var isUnderWay: Bool { if case .over = stage { false } else { true } }

  /// Begins, from the start if it is under way; returns whether somebody has to carry it out.
  mutating func begin(upTo newest: UInt64) -> Bool {
    defer { stage = .hosts(after: 0) }
    self.newest = newest
    return !isUnderWay
  }

  /// Goes on after a number; without one the stage is over.
  mutating func move(to number: UInt64?) {
    switch (stage, number) {
    case (.hosts, let number?): stage = .hosts(after: number)
    case (.hosts, nil): stage = .fetches(after: 0)
    case (.fetches, let number?): stage = .fetches(after: number)
    case (.fetches, nil), (.over, _): stage = .over
    }
  }
}
