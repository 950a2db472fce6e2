import ImgdWire

/// One wish for an order: on whose behalf, and how urgent.
struct DecodeClaim: Hashable {
  let claimant: Claimant
  let priority: Priority
}

extension DecodeClaim {
  /// The wish of a request.
  init(of request: FetchRequest, by connection: Claimant) {
    var claimant = connection
    claimant.share = request.share
    self.init(claimant: claimant, priority: request.priority)
  }
}

/// The wishes for one order.
struct DecodeClaims {
  private var counts: [DecodeClaim: Int] = [:]

  init(_ claims: some Sequence<DecodeClaim>) { for claim in claims { _ = add(claim) } }

  /// Each of them once, in no particular order.
  var all: Dictionary<DecodeClaim, Int>.Keys { counts.keys }

  /// Adds one, and returns whether it is the first of its kind.
  mutating func add(_ claim: DecodeClaim) -> Bool {
    counts[claim, default: 0] += 1
    return counts[claim] == 1
  }

  /// Removes one, and returns whether it was the last of its kind.
  mutating func remove(_ claim: DecodeClaim) -> Bool {
    guard counts[claim] != nil else { return false }
    counts.countDown(claim)
    return counts[claim] == nil
  }
}
