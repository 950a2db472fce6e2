import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

struct PurgeTests {
  private func purge(_ nonce: UInt64, _ filter: PurgeFilter = PurgeFilter()) -> FleetPurge {
    FleetPurge(filter, isSoft: false, askedAt: WallClock.seconds, nonce: nonce)
  }

  private func filter(_ change: (inout PurgeFilter) -> Void) -> PurgeFilter {
    var filter = PurgeFilter()
    change(&filter)
    return filter
  }

  private func position(_ bench: FleetBench, _ purge: HeardPurge, _ join: FleetJoin)
    -> FleetPosition
  {
    FleetPosition(generation: join.generation, number: purge.number, nonce: purge.purge.nonce)
  }

  /// Sends a purge and takes its report.
  private func send(_ purge: FleetPurge, from bench: FleetBench) throws {
    bench.engine.send(purge)
    _ = try bench.next("report of a purge") { event in
      if case .sent(purge.nonce) = event { true } else { nil }
    }
  }

  private func purges(_ count: Int, on bench: FleetBench) throws -> [HeardPurge] {
    var heard: [HeardPurge] = []
    while heard.count < count { heard += try bench.purges() }
    return heard
  }

  @Test func `a purge reaches all hosts, the one that has sent it among them`() throws {
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let wanted = filter {
      $0.url = try? CanonicalURL.parse("http://o/ä")
      ($0.identifier, $0.prefix, $0.host, $0.tag) = ("i", "http://o/", "o", "a b\u{0}")
      $0.olderThan = .milliseconds(1_500)
    }
    let sent = FleetPurge(wanted, isSoft: true, askedAt: WallClock.seconds - 100, nonce: .max)
    try send(sent, from: one)
    for bench in [one, other] {
      let heard = try #require(try bench.purges().first)
      #expect(heard.number == 1)
      #expect(heard.purge.filter == wanted && heard.purge.isSoft && heard.purge.nonce == .max)
      #expect(abs(heard.purge.askedAt - sent.askedAt) <= 2)
      #expect(heard.age >= .seconds(98) && heard.age < .seconds(160))
    }
  }

  @Test func `purges are told in order, from where a host has left the log`() throws {
    let server = try RedisServer()
    let one = try FleetBench(on: server)
    let join = try one.join()
    #expect(join.isFromBeginning && join.loss == nil && join.last == 0)
    for nonce in 1...250 as ClosedRange<UInt64> { one.engine.send(purge(nonce)) }
    let heard = try purges(250, on: one)
    #expect(heard.map(\.number) == Array(1...250))
    #expect(heard.map(\.purge.nonce) == Array(1...250))
    let late = try FleetBench(on: server, from: position(one, heard[9], join))
    let second = try late.join()
    #expect(!second.isFromBeginning && second.loss == nil && second.last == 250)
    #expect(try purges(240, on: late).map(\.number) == Array(11...250))
    let new = try FleetBench(on: server)
    #expect(try new.join().isFromBeginning)
    #expect(try purges(250, on: new).map(\.number) == Array(1...250))
  }

  @Test func `the fleet can be used when all purges have been told`() throws {
    let server = try RedisServer()
    let one = try FleetBench(on: server)
    for nonce in 1...250 as ClosedRange<UInt64> { one.engine.send(purge(nonce)) }
    _ = try purges(250, on: one)
    let bench = try FleetBench(on: server)
    var told = 0
    for event in bench.all {
      if case .purges(let purges) = event { told += purges.count }
    }
    #expect(told == 250)
  }

  @Test func `a hard purge of a URL ends the fetch of its picture at once`() throws {
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let picture = TestedPicture()
    let url = try CanonicalURL.parse(picture.record.url)
    let generation = try server.generation()
    let serial = try one.claim(picture.digest)
    try send(purge(1, filter { $0.url = url }), from: other)
    #expect(try one.store(picture, serial: serial, generation: generation) == .overtaken)
    #expect(try one.store(picture, generation: generation) == .kept)
    let others = filter { ($0.url, $0.identifier) = (url, "i") }
    try send(purge(2, others), from: other)
    try send(
      FleetPurge(filter { $0.url = url }, isSoft: true, askedAt: 0, nonce: 3), from: other)
    #expect(try server.command("EXISTS", key(picture.digest)) == .number(1))
  }

  @Test func `an emptied server is noticed, and its log read from the beginning`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let first = try bench.join()
    try send(purge(1), from: bench)
    _ = try bench.purges()
    try server.command("FLUSHALL")
    let second = try bench.join()
    #expect(second.generation != first.generation)
    #expect(second.isFromBeginning && second.loss?.contains("emptied") == true && second.last == 0)
    try bench.waitForState(.ok)
    try send(purge(2), from: bench)
    #expect(try bench.purges().first?.number == 1)
  }

  @Test func `a server that was started again without data is noticed`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    _ = try bench.join()
    try send(purge(1), from: bench)
    _ = try bench.purges()
    try server.restartEmpty()
    try bench.waitForState(.down)
    #expect(try bench.join().loss?.contains("emptied") == true)
    try bench.waitForState(.ok)
  }

  @Test func `a log that was cut further than a host has read is a loss`() throws {
    let server = try RedisServer()
    let one = try FleetBench(on: server)
    let join = try one.join()
    for nonce in 1...20 as ClosedRange<UInt64> { one.engine.send(purge(nonce)) }
    let heard = try purges(20, on: one)
    try server.command("XTRIM", "imgd:purges", "MAXLEN", "=", "5")
    let away = try FleetBench(on: server, from: position(one, heard[9], join))
    let cut = try away.join()
    #expect(cut.isFromBeginning && cut.loss?.contains("purge 10 is not in the log") == true)
    #expect(try purges(5, on: away).map(\.number) == Array(16...20))
    let near = try FleetBench(on: server, from: position(one, heard[16], join))
    #expect(try near.join().loss == nil)
    #expect(try purges(3, on: near).map(\.number) == Array(18...20))
  }

  @Test func `a host that had heard none misses those that were cut off`() throws {
    let server = try RedisServer()
    let one = try FleetBench(on: server)
    let join = try one.join()
    for nonce in 1...20 as ClosedRange<UInt64> { one.engine.send(purge(nonce)) }
    _ = try purges(20, on: one)
    try server.command("XTRIM", "imgd:purges", "MAXLEN", "=", "5")
    let start = FleetPosition(generation: join.generation, number: 0, nonce: 0)
    let away = try FleetBench(on: server, from: start)
    #expect(try away.join().loss == nil)
    #expect(try away.join().loss?.contains("from 1 to 15") == true)
    #expect(try purges(5, on: away).map(\.number) == Array(16...20))
  }

  @Test func `a purge that was taken out of the log is a loss`() throws {
    let server = try RedisServer()
    let one = try FleetBench(on: server)
    let join = try one.join()
    for nonce in 1...9 as ClosedRange<UInt64> { one.engine.send(purge(nonce)) }
    let heard = try purges(9, on: one)
    try server.command("XDEL", "imgd:purges", "0-5")
    let away = try FleetBench(on: server, from: position(one, heard[2], join))
    #expect(try away.join().loss == nil)
    #expect(try purges(1, on: away).map(\.number) == [4])
    let gap = try away.join()
    #expect(gap.loss == "the purges from 5 to 5 are missing" && gap.isFromBeginning)
    #expect(try purges(4, on: away).map(\.number) == Array(6...9))
  }

  @Test func `an entry of somebody else is a loss, and what follows is heard`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    #expect(try bench.join().loss == nil)
    try server.purge("hello", "world")
    let loss = try bench.join()
    #expect(loss.isFromBeginning && loss.loss?.contains("purge 1 cannot be read") == true)
    try send(purge(2), from: bench)
    #expect(try bench.purges().first?.number == 2)
  }

  @Test func `a log with names of another kind is refused until it is deleted`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    try server.purge("hello", "world", id: "77-1")
    #expect(try bench.waitForState(.refused).reason?.contains("somebody else") == true)
    try server.command("DEL", "imgd:purges")
    try bench.waitForState(.ok)
  }

  @Test func `an old copy of the data is noticed`() throws {
    let server = try RedisServer(RedisServer.rules + ["--save", "", "--dbfilename", "old.rdb"])
    let bench = try FleetBench(on: server)
    _ = try bench.join()
    try send(purge(1), from: bench)
    try server.command("SAVE")
    try send(purge(2), from: bench)
    _ = try purges(2, on: bench)
    server.kill()
    try bench.waitForState(.down)
    try server.start()
    let join = try bench.join()
    #expect(join.loss?.contains("purge 2 is not in the log any more, or not yet") == true)
    #expect(join.isFromBeginning && join.last == 1)
    try bench.waitForState(.ok)
    #expect(try bench.purges().map(\.number) == [1])
  }

  /// It had not heard what is missing, and has nothing to notice it by.
  @Test func `old data are noticed by a host that has heard less, too`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    _ = try bench.join()
    try send(purge(1), from: bench)
    _ = try purges(1, on: bench)
    let less = try FleetPosition(generation: server.generation(), number: 1, nonce: 1)
    try server.command("SAVE")
    try send(purge(2), from: bench)
    _ = try purges(1, on: bench)
    server.kill()
    try bench.waitForState(.down)
    try server.start()
    #expect(try bench.join().loss?.contains("purge 2") == true)
    #expect(try server.generation() != less.generation)
    let other = try FleetBench(on: server, from: less)
    #expect(try other.join().loss?.contains("is another one") == true)
  }

  /// That only one host was away for long is no matter of the others.
  @Test func `a log that was cut keeps its life`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    _ = try bench.join()
    let generation = try server.generation()
    for nonce in 1...4 as ClosedRange<UInt64> { try send(purge(nonce), from: bench) }
    try server.command("XTRIM", "imgd:purges", "MAXLEN", "1")
    let away = try FleetBench(
      on: server, from: FleetPosition(generation: generation, number: 2, nonce: 2))
    #expect(try away.join().loss != nil)
    #expect(try server.generation() == generation)
  }

  @Test func `another history with the same numbers is noticed`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    _ = try bench.join()
    try send(purge(1), from: bench)
    _ = try bench.purges()
    // In one step, so that no look falls in between.
    try server.command(
      "EVAL",
      """
      redis.call('DEL', 'imgd:purges')
      redis.call('XADD', 'imgd:purges', '0-1', 'v', '1', 'nonce', '8', 'by', 'x', 'at', '1', 'soft', '0')
      """, "0")
    let join = try bench.join()
    #expect(join.loss?.contains("purge 1 is another one than was heard") == true)
    #expect(try bench.purges().map(\.purge.nonce) == [8])
  }

  @Test func `a purge that cannot be sent is told`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    server.kill()
    bench.engine.send(purge(1))
    try bench.waitForState(.down)
    bench.engine.send(purge(2))
    for nonce in [1, 2] as [UInt64] {
      _ = try bench.next { if case .unsent(nonce, _) = $0 { true } else { nil } }
    }
  }
}
