import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// What is told of a log of purges, and when it is no longer the one that was heard.
struct PurgeLogTests {
  /// A host that has heard as much of the log of a server's fifth life, and can use it.
  private func host(
    heard number: UInt64, nonce: UInt64? = nil, _ log: @escaping (inout PlannedLog) -> Void
  ) throws -> DeskStage {
    let position = FleetPosition(generation: 5, number: number, nonce: nonce ?? number)
    let stage = try DeskStage(join: position) { $0.change(log) }
    try stage.waitForState(.ok)
    return stage
  }

  /// A log of as many purges, each with its number as its random one.
  private func fill(_ log: inout PlannedLog, _ count: UInt64) {
    for nonce in 1...count { log.add(nonce) }
  }

  private func numbers(_ stage: DeskStage) throws -> [UInt64] { try stage.purges().map(\.number) }

  private func states(_ stage: DeskStage) -> [FleetState.Phase] {
    stage.all.compactMap { if case .state(let state) = $0 { state.phase } else { nil } }
  }

  // MARK: Losses

  @Test(
    arguments: [
      (10, "the purge 10 is not in the log any more, or not yet", 16...20), (17, nil, 16...20),
    ] as [(UInt64, String?, ClosedRange<UInt64>)])
  func `a log that was cut is a loss for who had not read as far, and keeps its life`(
    heard: UInt64, loss: String?, told: ClosedRange<UInt64>
  ) throws {
    let stage = try host(heard: heard) { log in
      fill(&log, 20)
      log.cut(toLast: 5)
    }
    let join = try stage.join()
    #expect(join.loss == loss && join.isFromBeginning && join.last == 20)
    #expect(try numbers(stage) == Array(told))
    // That only one host was away for long is no matter of the others.
    #expect(join.generation == 5 && stage.server.commands("startAnew").isEmpty)
  }

  @Test func `a host that had heard none misses those that were cut off`() throws {
    let stage = try host(heard: 0) { log in
      fill(&log, 20)
      log.cut(toLast: 5)
    }
    #expect(try stage.join().loss == nil)
    let cut = try stage.join()
    #expect(cut.loss == "the purges from 1 to 15 are missing" && cut.isFromBeginning)
    #expect(try numbers(stage) == Array(16...20))
  }

  @Test func `a new host misses nothing of what was before it`() throws {
    let stage = try DeskStage { server in
      server.change { log in
        fill(&log, 20)
        log.cut(toLast: 5)
      }
    }
    let join = try stage.join()
    #expect(join.loss == nil && join.isFromBeginning)
    #expect(try numbers(stage) == Array(16...20))
    #expect(throws: TestFailure.self) { try stage.join() }
  }

  @Test func `a purge that was taken out of the log is a loss`() throws {
    let stage = try host(heard: 3) { log in
      fill(&log, 9)
      log.remove(5)
    }
    #expect(try stage.join().loss == nil)
    #expect(try numbers(stage) == Array(1...4))
    let gap = try stage.join()
    #expect(gap.loss == "the purges from 5 to 5 are missing" && gap.isFromBeginning)
    #expect(try numbers(stage) == Array(6...9))
  }

  @Test func `an entry of somebody else is a loss, and what follows is heard`() throws {
    let stage = try host(heard: 0) { _ in }
    #expect(try stage.join().loss == nil)
    stage.server.change { log in
      log.add(["hello", "world"])
      log.add(2)
    }
    let loss = try stage.join()
    #expect(loss.isFromBeginning && loss.loss?.contains("purge 1 cannot be read") == true)
    #expect(try numbers(stage) == [2])
    stage.pass(.seconds(5))
    #expect(states(stage) == [], "it is the same log as before")
  }

  @Test func `a log with names of another kind is refused until it is deleted`() throws {
    let stage = try host(heard: 0) { _ in }
    stage.server.change { $0.add(["hello", "world"], id: "77-1") }
    #expect(try stage.waitForState(.refused).reason?.contains("somebody else") == true)
    stage.pass(.seconds(2))
    #expect(states(stage).allSatisfy { $0 == .refused })
    stage.server.change { $0 = PlannedLog() }
    stage.pass(.seconds(5))
    try stage.waitForState(.ok)
  }

  @Test func `entries of somebody else, one after the other, are one loss`() throws {
    let stage = try host(heard: 0) { log in
      log.add(1)
      for _ in 0..<20 { log.add(["hello", "world"]) }
      log.add(22)
    }
    #expect(try stage.join().loss == nil)
    #expect(try numbers(stage) == [1])
    #expect(try stage.join().loss?.contains("purge 21 cannot be read") == true)
    #expect(try numbers(stage) == [22])
    #expect(throws: TestFailure.self) { try stage.join() }
  }

  // MARK: Another log

  /// A copy from before the server was emptied has pictures again that were purged since.
  @Test func `data of an earlier life begin another one`() throws {
    let (early, late) = (DataLife.begun(at: 1_000_000), DataLife.begun(at: 2_000_000))
    let position = FleetPosition(generation: late, number: 0, nonce: 0)
    let stage = try DeskStage(join: position) { server in
      server.generation = early
      server.change { fill(&$0, 3) }
    }
    try stage.waitForState(.ok)
    let join = try stage.join()
    #expect(join.loss == "the server was emptied, or is another one" && join.isFromBeginning)
    #expect(DataLife.isEarlier(late, than: join.generation))
    #expect(stage.server.commands("startAnew").count == 1)
  }

  /// By who joins, and by who has joined before: looks at the log come a second apart.
  @Test(arguments: [true, false])
  func `a log that was put back to an earlier time begins another life`(isNew: Bool) throws {
    func old(_ log: inout PlannedLog) { fill(&log, 1) }
    let stage = try host(heard: 2) { log in if isNew { old(&log) } else { fill(&log, 2) } }
    if !isNew {
      #expect(try stage.join().loss == nil)
      #expect(try numbers(stage) == [1, 2])
      stage.server.change { log in
        log = PlannedLog()
        old(&log)
      }
      stage.pass(.seconds(2))
    }
    let join = try stage.join()
    #expect(join.loss == "the purge 2 is not in the log any more, or not yet")
    #expect(join.isFromBeginning && join.last == 1)
    #expect(try numbers(stage) == [1])
    let lives = stage.server.commands("startAnew").map(\.arguments)
    #expect(lives == [["5", "\(stage.server.generation)"]] && join.generation != 5)
    #expect(states(stage) == (isNew ? [] : [.connecting, .ok]))
  }

  @Test func `another history with the same numbers is noticed, and gets another life`() throws {
    let stage = try host(heard: 1) { $0.add(1) }
    _ = try stage.join()
    #expect(try numbers(stage) == [1])
    stage.server.change { log in
      log = PlannedLog()
      log.add(8)
    }
    stage.pass(.seconds(2))
    #expect(try stage.join().loss == "the purge 1 is another one than was heard")
    #expect(try stage.purges().map(\.purge.nonce) == [8])
    #expect(stage.server.commands("startAnew").count == 1)
  }

  @Test(arguments: [.number(0), .nothing, .word("OK"), .failure("OOM x")] as [RedisReply])
  func `a log of an earlier time is not used where no other life can be begun`(reply: RedisReply)
    throws
  {
    let position = FleetPosition(generation: 5, number: 2, nonce: 2)
    let stage = try DeskStage(join: position) { server in
      server.change { fill(&$0, 1) }
      server.plan("startAnew", reply)
    }
    let phase: FleetState.Phase = if case .failure = reply { .refused } else { .down }
    #expect(states(stage) == [phase])
    #expect(throws: TestFailure.self) { try stage.join() }
    stage.pass(.seconds(60))
    #expect(states(stage) == [phase])
  }

  @Test func `an emptied server is noticed, and ends what is under way`() throws {
    let stage = try host(heard: 1) { $0.add(1) }
    #expect(try stage.join().loss == nil)
    #expect(try numbers(stage) == [1])
    stage.server.plan("GETRANGE", .text("#slow:1"))
    stage.server.plan("SET", .nothing)
    let waiting = stage.begin(TestedPicture().digest)
    #expect(stage.answers(to: waiting) == ["held"])
    stage.server.empty()
    stage.pass(.seconds(2))
    let join = try stage.join()
    #expect(join.generation == 6 && join.isFromBeginning && join.last == 0)
    #expect(join.loss == "the server was emptied, or is another one")
    #expect(stage.answers(to: waiting) == ["failed"])
    #expect(states(stage) == [.connecting, .ok])
    stage.server.change { $0.add(2) }
    #expect(try numbers(stage) == [1])
    #expect(stage.server.attempts == 3, "the connections are the same")
  }

  @Test func `a server that has lost its generation is left`() throws {
    let stage = try host(heard: 0) { _ in }
    stage.server.plan("GET generation", .nothing)
    stage.pass(.seconds(2))
    #expect(
      try stage.waitForState(.down).reason?.contains("key imgd:generation is missing") == true)
  }

  // MARK: Numbers

  @Test(
    arguments: [
      ["0-3"], ["0-2"], ["0-5", "0-4"], ["0-4", "0-4"], ["1-4"], ["0-99999999999999999999"], ["0-"],
      ["4"],
    ])
  func `numbers that do not go up are those of somebody else`(ids: [String]) throws {
    let stage = try host(heard: 3) { fill(&$0, 3) }
    #expect(try numbers(stage) == [1, 2, 3])
    let entries = ids.map { RedisReply.list([.text($0), .list([])]) }
    try stage.server.answer(.list([.list([.text("imgd:purges"), .list(entries)])]), to: "XREAD")
    #expect(states(stage) == [.refused])
    #expect(throws: TestFailure.self) { try stage.purges() }
  }

  @Test func `the greatest number of all is one, and nothing comes after it`() throws {
    let stage = try host(heard: 3) { fill(&$0, 3) }
    _ = try stage.join()
    stage.server.change { $0.add(["v", "2"], id: "0-\(UInt64.max)") }
    let loss = try stage.join()
    #expect(loss.last == .max && loss.loss?.contains("from 4 to \(UInt64.max - 1)") == true)
    stage.pass(.seconds(5))
    #expect(states(stage) == [])
  }

  @Test func `the last purge stays known when the connection ends`() throws {
    let stage = try host(heard: 0) { fill(&$0, 2) }
    _ = try stage.join()
    #expect(try numbers(stage) == [1, 2])
    try stage.server.end(stage.server.purges)
    stage.server.change { $0.add(3) }
    stage.pass(.milliseconds(625))
    let join = try stage.join()
    #expect(join.loss == nil && !join.isFromBeginning && join.last == 3)
    #expect(try numbers(stage) == [3])
  }
}
