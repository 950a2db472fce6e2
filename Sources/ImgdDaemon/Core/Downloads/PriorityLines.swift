import ImgdWire

/// The lines of all priorities.
struct PriorityLines {
  private let low = PriorityLine()
  private let normal = PriorityLine()
  private let high = PriorityLine()

  /// Whether anything may be picked from any of them.
  var haveOffers: Bool { low.hasOffers || normal.hasOffers || high.hasOffers }
  /// How many claims are offered.
  var offeredCount: Int { low.offeredCount + normal.offeredCount + high.offeredCount }

  subscript(priority: Priority) -> PriorityLine {
    switch priority {
    case .low: low
    case .normal: normal
    case .high: high
    }
  }
}
