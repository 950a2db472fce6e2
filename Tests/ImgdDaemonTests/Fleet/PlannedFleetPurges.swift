import ImgdWire

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

extension PlannedFleet {
  /// From where the log was joined, each time.
  var joins: [FleetPosition?] {
    orders.compactMap { order -> FleetPosition?? in
      if case .join(let position) = order { .some(position) } else { nil }
    }
  }

  /// The purges that were sent, each time.
  var sent: [FleetPurge] {
    orders.compactMap { order in
      if case .send(let purge) = order { purge } else { nil }
    }
  }

  /// What was to be deleted from the server without a claim.
  var removed: [KeyDigest] {
    orders.compactMap { order in
      if case .remove(let digest) = order { digest } else { nil }
    }
  }

  /// Has the core join a log, and use the server.
  func join(
    generation: UInt64 = 1, last: UInt64 = 0, isFromBeginning: Bool = true, loss: String? = nil
  ) {
    // What is read again is not used meanwhile.
    if loss != nil { tell(.state(FleetState(.connecting))) }
    tell(
      .joined(
        FleetJoin(
          generation: generation, last: last, isFromBeginning: isFromBeginning, loss: loss)))
    tell(.state(FleetState(.ok)))
  }

  /// Has it hear purges of other hosts, the first of which has a number.
  func hear(
    _ filters: PurgeFilter..., from number: UInt64 = 1, isSoft: Bool = false, age: Duration = .zero
  ) {
    hear(filters, from: number, isSoft: isSoft, age: age)
  }

  func hear(
    _ filters: [PurgeFilter], from number: UInt64 = 1, isSoft: Bool = false, age: Duration = .zero
  ) {
    let heard = zip(number..., filters).map { number, filter in
      HeardPurge(
        number: number,
        purge: FleetPurge(filter, isSoft: isSoft, askedAt: 0, nonce: Self.nonce(number)), age: age)
    }
    tell(.purges(heard))
  }

  /// Has it hear one of its own.
  func echo(_ purge: FleetPurge, number: UInt64) {
    tell(.purges([HeardPurge(number: number, purge: purge, age: .zero)]))
  }

  static func nonce(_ number: UInt64) -> UInt64 { number &* 0x9E37_79B9_7F4A_7C15 }

  static func position(_ number: UInt64) -> FleetPosition {
    FleetPosition(generation: 1, number: number, nonce: number == 0 ? 0 : nonce(number))
  }
}

extension CoreStage {
  var purges: FleetPurges { core.parts.fleetPurges }

  /// The purge of a path of the origin.
  func of(_ path: String) -> PurgeFilter {
    var filter = PurgeFilter()
    filter.url = CanonicalURL(canonical: origin.url(path))
    return filter
  }
}
