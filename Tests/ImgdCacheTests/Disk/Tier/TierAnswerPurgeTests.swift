import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// Purges and the rows of remembered answers: no purged answer comes back.
@Suite struct TierAnswerPurgeTests {
  /// A tier with four answers, of which every second one has the tag that is purged.
  private func filled() throws -> TierStage {
    let stage = try TierStage()
    for number in 0..<4 { stage.tier.keepAnswer(tagged(number, on: stage)) }
    stage.turn()
    return stage
  }

  private func tagged(_ number: Int, on stage: TierStage) -> CachedImage {
    answer(number, tags: number.isMultiple(of: 2) ? ["t"] : [], on: stage)
  }

  /// Keeps the index from being written until the lock is let go.
  private func lock(_ place: DiskPlace) throws -> Connection {
    let connection = try Connection(path: place.path + "/1/index.db", isReadOnly: false)
    try connection.execute("BEGIN IMMEDIATE")
    return connection
  }

  private func letGo(_ lock: Connection) throws {
    try lock.execute("ROLLBACK")
    lock.close()
  }

  private var order: RemovalOrder {
    RemovalOrder(TierStage.tagged, isSoft: false, askedAt: TierStage.start)
  }

  // MARK: In order

  @Test func `a purge that was reported done survives a kill`() throws {
    let stage = try filled()
    let mayGoOn = stage.busyWriter()
    // A change is under way, and others wait for it.
    stage.tier.keepAnswer(tagged(4, on: stage))
    stage.loop.settle()
    stage.tier.dropAnswers([0, 2, 4].map { digest($0) })
    var isDone = false
    stage.tier.purge(TierStage.tagged, soft: false) { _ in isDone = true }
    mayGoOn.with { $0 = true }
    while !isDone { stage.loop.tick(waiting: true) }
    try stage.crash()
    #expect(stage.answered == [1, 3])
  }

  @Test func `a purge of everything is told of when the rows have gone`() throws {
    let stage = try filled()
    let before = stage.busyWriter()
    stage.tier.keepAnswer(tagged(4, on: stage))
    stage.loop.settle()
    stage.tier.dropAnswers((0..<5).map { digest($0) })
    var isDone = false
    stage.tier.purge(PurgeFilter(), soft: false) { _ in isDone = true }
    // Nothing that is asked of the writer from here on has been done when the purge is told of.
    let after = stage.busyWriter()
    before.with { $0 = true }
    while !isDone { stage.loop.tick(waiting: true) }
    #expect(try stage.place.answerCount() == 0)
    after.with { $0 = true }
    stage.turn()
  }

  @Test func `an answer that comes after a purge stays`() throws {
    let stage = try filled()
    let mayGoOn = stage.busyWriter()
    stage.tier.dropAnswers([0, 2].map { digest($0) })
    stage.tier.purge(TierStage.tagged, soft: false) { _ in }
    stage.tier.keepAnswer(tagged(0, on: stage))
    mayGoOn.with { $0 = true }
    stage.turn()
    try stage.crash()
    #expect(stage.answered == [0, 1, 3])
  }

  // MARK: A disk that refuses

  @Test(arguments: [false, true])
  func `a kill while the disk refuses every write brings nothing back`(everything: Bool) throws {
    let stage = try filled()
    let lock = try lock(stage.place)
    stage.tier.dropAnswers([0, 2].map { digest($0) })
    #expect(stage.outcome(of: everything ? PurgeFilter() : TierStage.tagged) == .pending)
    try stage.crash(turning: false)
    try letGo(lock)
    stage.pass(.seconds(2))
    #expect(stage.answered == (everything ? [] : [1, 3]))
    try stage.crash()
    #expect(stage.answered == (everything ? [] : [1, 3]))
  }

  @Test func `removals that were refused go with the next purge`() throws {
    let stage = try filled()
    let lock = try lock(stage.place)
    stage.tier.dropAnswers([0, 2].map { digest($0) })
    stage.turn()
    try letGo(lock)
    #expect(stage.outcome(of: TierStage.tagged) == .done(.none))
    try stage.crash()
    #expect(stage.answered == [1, 3])
  }

  @Test func `removals that were refused go when the disk works again`() throws {
    let stage = try filled()
    let lock = try lock(stage.place)
    stage.tier.dropAnswers([digest(0)])
    stage.turn()
    // The disk is known to refuse.
    stage.tier.dropAnswers([digest(2)])
    stage.turn()
    try letGo(lock)
    stage.pass(.seconds(2))
    try stage.crash()
    #expect(stage.answered == [1, 3])
  }

  @Test func `an answer that cannot be written does not leave an older one`() throws {
    let stage = try filled()
    let lock = try lock(stage.place)
    stage.tier.keepAnswer(answer(0, status: 410, on: stage))
    stage.turn()
    stage.tier.keepAnswer(answer(1, status: 410, on: stage))
    stage.turn()
    try letGo(lock)
    stage.pass(.seconds(2))
    try stage.crash()
    #expect(stage.answered == [2, 3])
  }

  @Test func `removals that were refused go at the end`() throws {
    let stage = try filled()
    let lock = try lock(stage.place)
    stage.tier.dropAnswers([digest(0)])
    stage.turn()
    try letGo(lock)
    try stage.restart()
    #expect(stage.answered == [1, 2, 3])
  }

  @Test func `a purge goes on without a row on a full disk, but not without the removals`() throws {
    let place = try DiskPlace()
    let directory = try place.open()
    let index = try IndexFile(path: directory.indexPath, access: .readWrite)
    let record = answerRecord(url(0))
    try index.write { () throws(IndexProblem) in try index.answers.put(record) }
    let pages = try index.connection.number("page_count")
    try index.connection.execute("PRAGMA max_page_count = \(pages)")
    let disk = OpenDisk(directory, index, AnswerDebts())
    let large = RemovalOrder(
      Self.filter { $0.prefix = String(repeating: "x", count: 20_000) }, isSoft: false, askedAt: 0)
    #expect(try EntryRemoval(disk).record([large]).map(\.id) == [nil])
    disk.answerDebts.add([record.digest])
    #expect(throws: DiskTrouble.self) { try EntryRemoval(disk).record([large]) }
    #expect(try index.answers.rows(after: [], limit: 9).count == 1)
    try index.connection.execute("PRAGMA max_page_count = \(pages + 99)")
    #expect(try EntryRemoval(disk).record([large]).map(\.id) == [1])
    #expect(try index.answers.rows(after: [], limit: 9).isEmpty)
  }

  // MARK: Purges that an earlier process has left

  @Test func `answers that a purge in force means are not handed on`() throws {
    let stage = try filled()
    stage.end()
    try stage.place.record([order])
    try stage.begin(at: TierStage.start)
    #expect(stage.answered == [1, 3])
    try stage.crash()
    #expect(stage.answered == [1, 3])
  }

  @Test func `answers that were stored after it are`() throws {
    let stage = try filled()
    stage.pass(.seconds(5))
    stage.tier.keepAnswer(tagged(0, on: stage))
    stage.end()
    try stage.place.record([order])
    try stage.begin(at: TierStage.start + 10)
    #expect(stage.answered == [0, 1, 3])
  }

  @Test func `a soft purge in force marks them`() throws {
    let stage = try filled()
    stage.end()
    try stage.place.record([
      RemovalOrder(TierStage.tagged, isSoft: true, askedAt: TierStage.start)
    ])
    try stage.begin(at: TierStage.start)
    try stage.crash()
    #expect(stage.answered == [0, 1, 2, 3])
    for image in stage.news.answers.joined() { #expect(image.isStale == (image.tags == ["t"])) }
  }

  @Test(arguments: [
    (filter { $0.url = key(url(1)).url }, [0, 2, 3]), (filter { $0.prefix = url(3) }, [0, 1, 2]),
    (filter { $0.host = "example.org" }, []), (filter { $0.host = "example.com" }, [0, 1, 2, 3]),
    (filter { $0.olderThan = .seconds(60) }, [0, 1]),
    (filter { $0.unusedFor = .seconds(60) }, [0, 1]), (filter { $0.expired = true }, [1, 2, 3]),
    (filter { $0.digest = digest(0) }, [0, 1, 2, 3]),
  ])
  func `each condition of a purge is asked of an answer`(
    filter: PurgeFilter, left: [Int]
  ) throws {
    let stage = try TierStage()
    for number in 2..<4 { stage.tier.keepAnswer(answer(number, on: stage)) }
    stage.pass(.seconds(100))
    stage.tier.keepAnswer(
      answer(0, headers: [("cache-control", "no-cache"), ("etag", "\"e\"")], on: stage))
    stage.tier.keepAnswer(answer(1, on: stage))
    stage.end()
    try stage.place.record([
      RemovalOrder(filter, isSoft: false, askedAt: TierStage.start + 100)
    ])
    try stage.begin(at: TierStage.start + 100)
    #expect(stage.answered == left)
  }

  private static func filter(_ change: (inout PurgeFilter) -> Void) -> PurgeFilter {
    var filter = PurgeFilter()
    change(&filter)
    return filter
  }

  @Test func `too many purges mean all answers`() throws {
    let stage = try filled()
    stage.end()
    try stage.place.record((0..<65).map { _ in order })
    try stage.begin(at: TierStage.start)
    #expect(stage.answered == [])
  }

  @Test func `where purges cannot be carried out, no answer is read any more`() throws {
    let place = try DiskPlace()
    let directory = try place.open()
    let index = try IndexFile(path: directory.indexPath, access: .readWrite)
    try index.write { () throws(IndexProblem) in
      for number in 0..<2 { try index.answers.put(answerRecord(url(number), tags: ["t"])) }
    }
    let disk = OpenDisk(directory, index, AnswerDebts())
    let lock = try lock(place)
    #expect(throws: DiskTrouble.self) { try AnswerWork(disk).purge([order], after: []) }
    let part = try AnswerWork(disk).read(after: [], at: TierStage.start)
    #expect(part.answers.isEmpty && part.next == nil)
    try letGo(lock)
    #expect(try index.answers.rows(after: [], limit: 9).count == 2)
    // Whatever is committed next takes them along.
    try disk.note([(1, 1)])
    #expect(try index.answers.rows(after: [], limit: 9).isEmpty)
    #expect(disk.answerDebts.isEmpty)
  }

  // MARK: While the rows are read

  private func reading(_ count: Int) throws -> TierStage {
    let stage = try TierStage()
    stage.end()
    try stage.place.fill(count)
    try stage.begin(at: TierStage.start, turning: false)
    stage.turnToAnswers()
    #expect(stage.answered.count == 64)
    return stage
  }

  @Test func `a purge means the answers that have not been read, too`() throws {
    let stage = try reading(300)
    let known = stage.answered
    stage.tier.dropAnswers(known.filter { $0.isMultiple(of: 2) }.map { digest($0) })
    stage.purge { $0.tag = "t" }
    let later = Set(stage.answered).subtracting(known)
    #expect(!later.isEmpty)
    #expect(later.allSatisfy { !$0.isMultiple(of: 2) })
    try stage.crash()
    #expect(stage.answered == Array(stride(from: 1, to: 300, by: 2)))
  }

  @Test func `many purges take all rows`() throws {
    let stage = try reading(300)
    let known = stage.answered.count
    for number in 0..<9 {
      stage.tier.purge(Self.filter { $0.host = "\(number).net" }, soft: false) { _ in }
    }
    stage.turn()
    #expect(stage.answered.count == known)
    try stage.crash()
    #expect(stage.answered == [])
  }

  @Test func `a row that goes while it is being read is not handed on`() throws {
    let stage = try reading(128)
    let known = stage.answered
    let left = Set(0..<128).subtracting(known)
    let gone = try #require(left.first)
    stage.tier.dropAnswers([digest(gone)])
    stage.turn()
    #expect(stage.answered == Array(0..<128).filter { $0 != gone })
  }

  @Test(arguments: [false, true])
  func `none is handed on when all go`(oneByOne: Bool) throws {
    let stage = try reading(6_000)
    if oneByOne {
      stage.tier.dropAnswers((0..<6_000).map { digest($0) })
    } else {
      stage.tier.dropAllAnswers()
    }
    stage.turn()
    #expect(stage.answered.count == 64)
    try stage.crash()
    #expect(stage.answered == [])
  }

  /// A purge is known to this process alone where it could not be written down.
  @Test(arguments: [false, true])
  func `an index that is opened again is read without what was purged meanwhile`(
    isObstructed: Bool
  ) throws {
    let stage = try reading(300)
    if isObstructed {
      let name = "purges-" + KeyDigest(url: stage.place.path, identifier: nil).hex
      for path in [stage.runtime, stage.place.path] {
        try Directory.make("\(path)/\(name)", permissions: 0o700)
      }
    }
    stage.parts.threads.report(DiskTrouble(.gone, "it is said to be"))
    stage.tier.dropAnswers([digest(1)])
    stage.tier.purge(TierStage.tagged, soft: false) { _ in }
    let known = stage.answered.count
    stage.turn()
    #expect(stage.answered.count - known == 149)
    try stage.crash()
    #expect(stage.answered == Array(stride(from: 3, to: 300, by: 2)))
  }
}
