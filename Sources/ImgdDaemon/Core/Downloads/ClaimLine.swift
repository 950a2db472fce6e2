import ImgdSystem

/// Claims of one connection: in the order of the queue, and by who came first.
struct ClaimLine {
  private var byTurn = KeyedHeap<Claim>()
  private var byArrival = KeyedHeap<Claim>()

  var isEmpty: Bool { byTurn.isEmpty }
  var count: Int { byTurn.count }
  var first: Claim? { byTurn.first }
  var oldest: Claim? { byArrival.first }

  mutating func insert(_ claim: Claim) {
    byTurn.insert(claim, key: claim.turnKey)
    byArrival.insert(claim, key: claim.arrival)
  }

  mutating func remove(_ claim: Claim) {
    byTurn.remove(claim)
    byArrival.remove(claim)
  }

  /// What has waited longer than the bound goes first.
  func next(at now: Instant, ageBound: Duration) -> Claim? {
    if let oldest, now - oldest.since > ageBound { return oldest }
    return first
  }
}
