import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// Notes about the fleet, over the lives of a process.
struct TierFleetTests {
  private static let purges = FleetRowsTests.purges
  private static let position = FleetRowsTests.position

  /// What was kept of a purge, once that is known.
  private func keep(_ purge: FleetPurge, _ stage: TierStage) -> Bool? {
    var isKept: Bool?
    stage.tier.keepFleetPurge(purge) { isKept = $0 }
    stage.turn()
    return isKept
  }

  @Test(arguments: [false, true])
  func `notes outlive a restart, and a kill`(isKill: Bool) throws {
    let stage = try TierStage()
    #expect(stage.notes == [FleetNotes()])
    #expect(keep(Self.purges[0], stage) == true)
    #expect(keep(Self.purges[1], stage) == true)
    stage.tier.dropFleetPurge(Self.purges[0].nonce)
    stage.tier.keepFleetPosition(Self.position)
    if isKill { stage.turn() }
    try stage.next(isKill)
    #expect(stage.notes.map(\.position) == [Self.position])
    #expect(stage.notes.map(\.purges) == [[Self.purges[1]]])
  }

  @Test func `a purge that was dropped may be kept again`() throws {
    let stage = try TierStage()
    let busy = stage.busyWriter()
    stage.tier.keepFleetPosition(Self.position)
    stage.tier.keepFleetPurge(Self.purges[0]) { _ in }
    stage.tier.dropFleetPurge(Self.purges[0].nonce)
    stage.tier.keepFleetPurge(Self.purges[0]) { _ in }
    stage.tier.dropFleetPurge(Self.purges[1].nonce)
    busy.with { $0 = true }
    stage.turn()
    try stage.crash()
    #expect(stage.notes.map(\.purges) == [[Self.purges[0]]])
  }

  @Test func `what comes together is written together`() throws {
    let stage = try TierStage()
    let busy = stage.busyWriter()
    var kept = 0
    for number in 0..<1_000 {
      stage.tier.keepFleetPosition(
        FleetPosition(generation: 1, number: UInt64(number), nonce: 0))
      stage.tier.keepFleetPurge(
        FleetPurge(PurgeFilter(), isSoft: false, askedAt: 0, nonce: UInt64(number))
      ) { kept += $0 ? 1 : 0 }
    }
    #expect(stage.parts.threads.pending == 2)
    busy.with { $0 = true }
    stage.turn()
    #expect(kept == 1_000)
    try stage.restart()
    #expect(stage.notes.first?.position?.number == 999)
    #expect(stage.notes.first?.purges.count == 1_000)
  }

  @Test func `one purge takes the place of all`() throws {
    let stage = try TierStage()
    for purge in Self.purges { stage.tier.keepFleetPurge(purge) { _ in } }
    stage.turn()
    stage.tier.keepFleetPurges(inPlaceOfAll: [Self.purges[3]]) { _ in }
    stage.turn()
    try stage.crash()
    #expect(stage.notes.map(\.purges) == [[Self.purges[3]]])
  }

  @Test func `a position is written behind the purge that it stands for`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let busy = stage.busyWriter()
    var filter = PurgeFilter()
    filter.url = CanonicalURL(canonical: url(0))
    stage.tier.purge(filter, soft: false) { [tier = stage.tier] _ in
      tier.keepFleetPosition(Self.position)
    }
    busy.with { $0 = true }
    // At any moment of a kill there is no position whose purge is not there.
    while stage.hasJobs { stage.loop.tick(waiting: true) }
    try stage.crash()
    #expect(stage.notes.map(\.position) == [Self.position])
    #expect(stage.fetch(url(0)) == nil)
  }

  @Test func `what the disk refuses is asked for when it works again`() throws {
    let stage = try TierStage()
    let lock = try Connection(path: stage.place.path + "/1/index.db", isReadOnly: false)
    try lock.execute("BEGIN IMMEDIATE")
    #expect(keep(Self.purges[0], stage) == false)
    stage.tier.keepFleetPosition(Self.position)
    #expect(keep(Self.purges[1], stage) == false)
    #expect(stage.parts.fleet.heldBytes == 0)
    #expect(stage.news.fleet.count == 1)
    try lock.execute("ROLLBACK")
    lock.close()
    stage.pass(.seconds(3))
    guard stage.news.fleet.count == 2, case .incomplete = stage.news.fleet[1] else {
      Issue.record("it was not asked for")
      return
    }
    #expect(keep(Self.purges[0], stage) == true)
  }

  @Test func `an index that was lost is told of with nothing in it`() throws {
    let stage = try TierStage()
    stage.tier.keepFleetPosition(Self.position)
    stage.turn()
    stage.parts.recovery.reopen(beginningAnew: true)
    stage.turn()
    #expect(stage.notes == [FleetNotes(), FleetNotes()])
  }

  @Test func `a directory that cannot be opened has no notes`() throws {
    let stage = try TierStage { place in try overwrite(place.path, [1]) }
    stage.pass(.seconds(2))
    guard case .unreadable? = stage.news.fleet.first else {
      Issue.record("\(stage.news.fleet)")
      return
    }
  }

  @Test func `a tier that is off keeps nothing`() throws {
    let tier = DiskTier(offOn: try EventLoop(clock: .manual()))
    var isKept: Bool?
    tier.keepFleetPurge(Self.purges[0]) { isKept = $0 }
    #expect(isKept == false)
    tier.keepFleetPurges(inPlaceOfAll: []) { isKept = $0 }
    tier.keepFleetPosition(Self.position)
    tier.dropFleetPurge(1)
  }
}

extension TierStage {
  /// The notes that were told of in this life.
  fileprivate var notes: [FleetNotes] {
    news.fleet.compactMap { news in
      if case .read(let notes) = news { notes } else { nil }
    }
  }
}

extension TierStage {
  /// Begins the next life, after a kill or an end in order.
  fileprivate func next(_ isKill: Bool) throws { try isKill ? crash() : restart() }

  /// Keeps the writer busy until it is set.
  fileprivate func busyWriter() -> Shared<Bool> {
    let mayGoOn = Shared(false)
    parts.threads.order({ _ in _ = mayGoOn.wait { $0 ? true : nil } }, then: { _ in })
    return mayGoOn
  }
}
