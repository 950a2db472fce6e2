import ImgdSystem

/// Figures that take a pass over everything of a kind: all descriptors, all clients.
///
/// Each `stats` gets new ones, up to eight in a tenth of a second; any others in that time get the last of them. A
/// client that asks a few times sees the effect of what it did in between, and a flood of `stats` costs no more than
/// that.
struct MeasuredFigures {
  struct Figures {
    let facts: ProcessFacts
    let clientBytes: Int
  }

  static let limit = 8
  static let period = Duration.milliseconds(100)

  private let facts: () -> ProcessFacts
  private var last: Figures?
  private var periodBegan: Instant?
  private var takenInPeriod = 0

  init(_ facts: @escaping () -> ProcessFacts) { self.facts = facts }

  mutating func figures(at now: Instant, of clients: Clients) -> Figures {
    if periodBegan.map({ now - $0 >= Self.period }) ?? true {
      periodBegan = now
      takenInPeriod = 0
    }
    if takenInPeriod >= Self.limit, let last { return last }
    takenInPeriod += 1
    let new = Figures(facts: facts(), clientBytes: clients.heldBytes)
    last = new
    return new
  }
}
