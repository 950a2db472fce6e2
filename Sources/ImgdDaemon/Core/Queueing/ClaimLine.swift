/// The claims of one claimant, in the order of their keys and in the order of arrival.
struct ClaimLine {
  private var byTurn = KeyedHeap<Claim>()
  private var byArrival = KeyedHeap<Claim>()
  private var quick = KeyedHeap<Claim>()

  var isEmpty: Bool { byTurn.isEmpty }
  var hasQuick: Bool { !quick.isEmpty }

  mutating func insert(_ claim: Claim) {
    byTurn.insert(claim, key: claim.turnKey)
    byArrival.insert(claim, key: claim.arrival)
    if claim.expected?.isQuick == true { quick.insert(claim, key: claim.turnKey) }
  }

  mutating func remove(_ claim: Claim) {
    byTurn.remove(claim)
    byArrival.remove(claim)
    quick.remove(claim)
  }

  func heads(_ admission: Admission) -> TurnLine.Heads? {
    if admission == .quick { return quick.first.map { ($0, $0) } }
    guard let next = byTurn.first, let oldest = byArrival.first else { return nil }
    return (next, oldest)
  }
}
