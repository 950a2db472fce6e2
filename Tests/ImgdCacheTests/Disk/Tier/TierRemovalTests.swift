import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// Purges that are interrupted: a purge is a row in the index file as soon as it can be.
struct TierRemovalTests {
  private static let gone = [url(0), url(2)]
  private static let kept = [url(1), url(3)]

  private func indexPath(_ stage: TierStage) -> String { stage.place.path + "/1/index.db" }

  private func rows(_ stage: TierStage) throws -> [RemovalOrder] {
    try IndexFile(path: indexPath(stage), access: .readOnly).removals.all()
  }

  private func expectGone(_ stage: TierStage) throws {
    for url in Self.gone { #expect(stage.fetch(url) == nil, "\(url)") }
    for url in Self.kept { #expect(stage.fetch(url) != nil, "\(url)") }
    stage.turn()
    #expect(stage.tier.count == 2)
    #expect(try stage.pictures().count == 2)
    #expect(try rows(stage) == [])
    #expect(stage.parts.removals.isIdle && !stage.parts.gate.isClosed)
  }

  // MARK: A kill

  /// The jobs that the writer has are finished; the next ones are not begun.
  @Test(arguments: 0..<5)
  func `a kill at any step of a purge brings nothing back`(ticks: Int) throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    stage.tier.purge(TierStage.tagged, soft: false) { _ in }
    for _ in 0..<ticks where stage.hasJobs { stage.loop.tick(waiting: true) }
    try stage.crash(turning: false)
    try expectGone(stage)
  }

  @Test func `a purge is recorded before its entries are searched`() throws {
    let stage = try TierStage.withTagged()
    let names = try stage.pictures().compactMap { $0.split(separator: "/").last }
    let numbers = names.compactMap { PictureFile(name: String($0))?.number }
    stage.tier.purge(TierStage.tagged, soft: false) { _ in }
    while try rows(stage).isEmpty { stage.loop.tick(waiting: true) }
    let order = try #require(try rows(stage).first)
    #expect(order.filter == TierStage.tagged && !order.isSoft && order.ceiling == numbers.max())
    stage.turn()
    try expectGone(stage)
  }

  @Test func `a purge that the last process has left is in force at once`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    stage.tier.purge(TierStage.tagged, soft: false) { _ in }
    try stage.crash(turning: false)
    while stage.tier.isOpening { stage.loop.tick(waiting: true) }
    #expect(!stage.parts.gate.isClosed && !stage.parts.removals.isIdle)
    var answers: [Bool] = []
    for url in Self.gone + Self.kept {
      guard case .later = stage.tier.fetch(key(url), then: { answers.append($0 != nil) }) else {
        Issue.record("only the rows say which tags a picture has")
        return
      }
    }
    var (seen, listed): ([Bool], [String]) = ([], [])
    stage.tier.look(for: key(url(0))) { seen.append($0 != nil) }
    stage.tier.page(after: nil, limit: 9) { listed = $0.entries.map(\.url) }
    #expect(answers.isEmpty && seen.isEmpty && listed.isEmpty)
    stage.turn()
    #expect(answers == [false, false, true, true])
    #expect(seen == [false] && listed == Self.kept)
  }

  @Test func `a purge that comes before the listing is read covers it`() throws {
    let stage = try TierStage.withTagged()
    let mayRead = Shared(false)
    stage.parts.threads.ask({ _ in _ = mayRead.wait { $0 ? true : nil } }, then: {})
    var (seen, listed): ([Bool], [String]) = ([], [])
    stage.tier.look(for: key(url(0))) { seen.append($0 != nil) }
    stage.tier.page(after: nil, limit: 9) { listed = $0.entries.map(\.url) }
    stage.tier.purge(TierStage.tagged, soft: false) { _ in }
    mayRead.with { $0 = true }
    stage.turn()
    #expect(seen == [false] && listed == Self.kept)
  }

  @Test func `a soft purge outlives a kill`() throws {
    let stage = try TierStage.withTagged()
    stage.tier.purge(TierStage.tagged, soft: true) { _ in }
    try stage.crash(turning: false)
    #expect(stage.fetch(url(0))?.isStale == true)
    #expect(stage.fetch(url(1))?.isStale == false)
    #expect(try rows(stage) == [])
    try stage.restart()
    #expect(stage.fetch(url(2))?.isStale == true)
  }

  @Test(arguments: [false, true])
  func `a soft purge marks pictures on their way to the disk, and keeps them`(isBeingWritten: Bool) throws {
    let stage = try TierStage()
    stage.tier.add(photo(url(1), tags: ["t"], on: stage))
    stage.tier.add(photo(url(2), on: stage))
    if isBeingWritten { stage.parts.stores.send() }
    var outcome: PurgeOutcome?
    stage.tier.purge(TierStage.tagged, soft: true) { outcome = $0 }
    #expect(stage.fetch(url(1))?.isStale == true)
    stage.turn()
    #expect(outcome?.entries == 1)
    for _ in 0..<2 {
      #expect(stage.fetch(url(1))?.isStale == true)
      #expect(stage.fetch(url(2))?.isStale == false)
      try stage.restart()
    }
  }

  @Test func `a soft purge marks a picture that is written only after it`() throws {
    let stage = try TierStage()
    let mayWrite = Shared(false)
    stage.parts.threads.order({ _ in _ = mayWrite.wait { $0 ? true : nil } }, then: { _ in })
    TemporaryDirectory.remove(stage.place.path)
    stage.tier.add(photo(url(1), tags: ["t"], on: stage))
    stage.parts.stores.send()
    stage.tier.purge(TierStage.tagged, soft: true) { _ in }
    mayWrite.with { $0 = true }
    stage.turn()
    #expect(stage.fetch(url(1))?.isStale == true)
    try stage.restart()
    #expect(stage.fetch(url(1))?.isStale == true)
  }

  @Test func `ages count from the purge and not from the restart`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    stage.jump(.seconds(100))
    stage.store(photo(url(2), on: stage))
    var filter = PurgeFilter()
    filter.olderThan = .seconds(50)
    stage.tier.purge(filter, soft: false) { _ in }
    try stage.crash(wall: stage.wall + 200, turning: false)
    #expect(stage.known([url(1), url(2)]) == [url(2)])
  }

  @Test func `a picture that is stored after the purge outlives a kill`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    stage.tier.purge(TierStage.tagged, soft: false) { _ in }
    stage.tier.add(photo(url(9), tags: ["t"], on: stage))
    while !stage.parts.stores.isEmpty { stage.loop.tick(waiting: true) }
    try stage.crash(turning: false)
    #expect(stage.fetch(url(9)) != nil)
  }

  /// Leases are not known to the process that finishes the purge.
  @Test(arguments: [false, true])
  func `a lease outlives a kill during a purge`(everything: Bool) throws {
    let stage = try TierStage.withTagged()
    let image = try #require(stage.fetch(url(0)))
    #expect(stage.lend(image) == .lent)
    let (path, end) = (try #require(image.file?.path), stage.parts.leases.lastEnd)
    stage.tier.purge(everything ? PurgeFilter() : TierStage.tagged, soft: false) { _ in }
    try stage.crash(turning: false)
    #expect(stage.fetch(url(0)) == nil)
    #expect(access(path, F_OK) == 0)
    stage.pass(.seconds(end - stage.wall + 61))
    #expect(access(path, F_OK) != 0)
    #expect(try stage.pictures().count == (everything ? 0 : 2))
  }

  // MARK: A disk that cannot be written

  @Test func `a purge that could not be recorded is recorded before it is carried out`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    #expect(stage.outcome(of: TierStage.tagged) == .pending)
    #expect(stage.tier.state == .down && stage.parts.removals.isOwing)
    #expect(stage.fetch(url(0)) == nil)
    try lock.execute("ROLLBACK")
    lock.close()
    // The disk can be written again: killed as soon as the row is there.
    stage.advance(.seconds(60))
    while try rows(stage).isEmpty { stage.loop.tick(waiting: true) }
    try stage.crash(turning: false)
    try expectGone(stage)
  }

  @Test func `a purge that could not be recorded is carried out later`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    stage.purge { $0.tag = "t" }
    #expect(stage.tier.state == .down)
    try lock.execute("ROLLBACK")
    lock.close()
    stage.pass(.seconds(2))
    #expect(stage.tier.state == .ok && stage.news.recoveries == 1)
    try expectGone(stage)
  }

  @Test func `too many purges that could not be recorded remove everything`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    for number in 0..<65 { stage.purge { $0.tag = "\(number)" } }
    try lock.execute("ROLLBACK")
    lock.close()
    stage.pass(.seconds(2))
    #expect(stage.tier.state == .ok)
    #expect(stage.tier.count == 0)
    #expect(try stage.pictures() == [])
    try stage.restart()
    #expect(stage.tier.count == 0)
  }

  // MARK: The end

  @Test func `a stop without time leaves a purge to the next start`() throws {
    let place = try DiskPlace()
    let directory = try place.open()
    let index = try IndexFile(path: directory.indexPath, access: .readWrite)
    let number = try index.add([sampleRow(1, tags: ["t"])])[0]
    let disk = OpenDisk(directory, index: index)
    let order = RemovalOrder(TierStage.tagged, isSoft: false, askedAt: 0)
    LastRemovals(disk: disk, leases: LeaseEnds()).carryOut(recording: [order], within: .zero)
    #expect(try index.removals.all().map(\.filter) == [TierStage.tagged])
    #expect(try index.entries.row(number: number) != nil)
    LastRemovals(disk: disk, leases: LeaseEnds(ends: [number: 7]))
      .carryOut(recording: [], within: .seconds(60))
    #expect(try index.removals.all() == [])
    #expect(try index.entries.row(number: number) == nil)
    #expect(try index.unlinks.due().map(\.keepUntil) == [7])
  }

  // MARK: Another layout

  @Test func `an index of an older layout is set aside`() throws {
    let stage = try TierStage.withTagged()
    stage.end()
    let connection = try Connection(path: indexPath(stage), isReadOnly: false)
    try connection.execute("PRAGMA user_version = 1")
    connection.close()
    try stage.begin(at: TierStage.start)
    #expect(stage.tier.state == .ok && stage.tier.count == 0)
    #expect(stage.news.troubles == ["the index is damaged: it has layout 1; it is set aside"])
    #expect(try names(stage.place.path + "/1").contains("index.db.aside"))
    #expect(try stage.pictures() == [])
    #expect(stage.store(photo(url(1), on: stage)) == nil)
    #expect(stage.fetch(url(1)) != nil)
  }
}
