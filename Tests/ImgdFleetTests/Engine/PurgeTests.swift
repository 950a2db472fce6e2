import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

@Suite(.eachServer) struct PurgeTests {
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
  private func send(_ purge: FleetPurge, from host: some FleetHost) throws {
    host.order(.send(purge))
    _ = try host.next("report of a purge") { event in
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
    let begun = Instant.current
    let sent = FleetPurge(wanted, isSoft: true, askedAt: WallClock.seconds - 100, nonce: .max)
    try send(sent, from: one)
    for bench in [one, other] {
      let heard = try #require(try bench.purges().first)
      #expect(heard.number == 1)
      #expect(heard.purge.filter == wanted && heard.purge.isSoft && heard.purge.nonce == .max)
      #expect(abs(heard.purge.askedAt - sent.askedAt) <= 2)
      #expect(heard.age >= .seconds(98) && heard.age <= .seconds(102) + (.current - begun))
    }
  }

  /// What the server has is judged by those before, too.
  @Test func `purges are told in order, once more to a host that comes back`() throws {
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
    #expect(second.isFromBeginning && second.loss == nil && second.last == 250)
    #expect(try purges(250, on: late).map(\.number) == Array(1...250))
    let new = try FleetBench(on: server)
    #expect(try new.join().isFromBeginning)
    #expect(try purges(250, on: new).map(\.number) == Array(1...250))
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

  @Test func `a server that was started again without data is noticed`() throws {
    let server = try RedisServer()
    let stage = try DeskStage(on: server)
    _ = try stage.join()
    try send(purge(1), from: stage)
    _ = try stage.purges()
    try server.restartEmpty()
    try stage.waitForState(.down)
    stage.jump(.seconds(5))
    let join = try stage.join()
    #expect(join.loss?.contains("emptied") == true && join.isFromBeginning && join.last == 0)
    try stage.waitForState(.ok)
    try send(purge(2), from: stage)
    #expect(try stage.purges().first?.number == 1)
  }

  /// Who had not heard what is missing has nothing to notice it by but the new life of the data.
  @Test func `an old copy of the data is noticed, by a host that has heard less, too`() throws {
    let server = try RedisServer()
    let stage = try DeskStage(on: server)
    _ = try stage.join()
    try send(purge(1), from: stage)
    _ = try stage.purges()
    let less = try FleetPosition(generation: server.generation(), number: 1, nonce: 1)
    try server.command("SAVE")
    try send(purge(2), from: stage)
    _ = try stage.purges()
    server.kill()
    try stage.waitForState(.down)
    try server.start()
    stage.jump(.seconds(5))
    let join = try stage.join()
    #expect(join.loss?.contains("purge 2 is not in the log any more, or not yet") == true)
    #expect(join.isFromBeginning && join.last == 1)
    try stage.waitForState(.ok)
    #expect(try stage.purges().map(\.number) == [1])
    #expect(try server.generation() != less.generation)
    let other = try DeskStage(on: server, join: less)
    #expect(try other.join().loss?.contains("is another one") == true)
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
    #expect(try purges(5, on: near).map(\.number) == Array(16...20))
  }

}
