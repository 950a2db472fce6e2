import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

/// Purges of other hosts.
struct HeardPurgeTests {
  private let fleet = PlannedFleet()

  /// A core that has joined an empty log, with a picture under "/a".
  private func stage(
    _ answer: OriginAnswer = .picture(png(), headers: [("Cache-Groups", #""g""#)]), disk: Bool = true
  ) throws -> CoreStage {
    let stage = try CoreStage(["Disk.Enabled=\(disk)"], in: fleet)
    stage.origin.plan("/a", answer)
    stage.origin.plan("/b", .picture(png()))
    fleet.join()
    stage.settle()
    _ = try stage.fetch("/a", #""tags":["t"]"#)
    return stage
  }

  // MARK: Joining

  @Test(arguments: [false, true])
  func `the first start has no place in the log, and misses nothing`(hasDisk: Bool) throws {
    let stage = try stage(disk: hasDisk)
    #expect(fleet.joins == [nil])
    #expect(stage.purges.history.position == PlannedFleet.position(0))
    #expect(try stage.source(of: "/a") == "memory")
    #expect(stage.purges.counts == FleetPurges.Counts())
  }

  @Test func `a restart goes on where the log was left`() throws {
    let stage = try stage()
    fleet.hear(stage.of("/x"), stage.of("/y"), stage.of("/z"))
    stage.settle()
    #expect(stage.purges.counts.heard == 3 && stage.purges.lag == 0)
    try stage.restart()
    #expect(fleet.joins == [nil, PlannedFleet.position(3)])
    // What was in force is only remembered, and what is new is carried out.
    fleet.join(last: 5)
    fleet.hear(stage.of("/a"), stage.of("/y"), stage.of("/z"))
    stage.settle()
    #expect(try stage.source(of: "/a") == "disk")
    #expect(stage.purges.counts.heard == 0)
    let key = CacheKey(url: CanonicalURL(canonical: stage.origin.url("/a")))
    let history = stage.purges.history
    #expect(
      history.verdict(on: key, tags: [], mark: PlannedFleet.position(0), age: .zero) == .purged)
    fleet.hear(stage.of("/a"), stage.of("/y"), from: 4)
    stage.settle()
    #expect(try stage.source(of: "/a") == "network")
    #expect(stage.purges.counts == FleetPurges.Counts(sent: 0, heard: 2, gaps: 0))
  }

  @Test(arguments: [(first: UInt64(1), gaps: 0), (first: 4_000, gaps: 1)])
  func `a log whose beginning is gone when it is first read is a loss`(
    first: UInt64, gaps: Int
  ) throws {
    let stage = try CoreStage(in: fleet)
    stage.origin.plan("/a", .conditional(png(), tag: "\"1\""))
    _ = try stage.fetch("/a")
    fleet.join(last: first + 1)
    fleet.hear(stage.of("/x"), stage.of("/y"), from: first)
    stage.settle()
    #expect(stage.purges.counts.gaps == gaps)
    #expect(try stage.source(of: "/a") == (gaps == 0 ? "memory" : "revalidated"))
  }

  @Test func `an empty log is a place as well`() throws {
    let stage = try stage()
    try stage.restart()
    #expect(fleet.joins == [nil, PlannedFleet.position(0)])
  }

  // MARK: In force

  static let filters: [@Sendable (PurgeFilter) -> PurgeFilter] = [
    { $0 }, { _ in PurgeFilter() },
    { _ in filter { $0.host = "127.0.0.1" } }, { _ in filter { $0.tag = "t" } },
    { _ in filter { $0.prefix = "http://127" } }, { _ in filter { $0.identifier = "" } },
    { _ in filter { ($0.tag, $0.host) = ("g", "127.0.0.1") } },
  ]

  @Test(arguments: filters.indices)
  func `a purge of another host removes what it means from both tiers`(_ place: Int) throws {
    let stage = try stage()
    try stage.fetch("/b")
    fleet.hear(Self.filters[place](stage.of("/a")))
    stage.settle()
    #expect(stage.core.memory.count == ([0, 3, 6].contains(place) ? 1 : 0))
    #expect(stage.core.disk.count == stage.core.memory.count)
    #expect(try stage.source(of: "/a") == "network")
    #expect(stage.purges.history.position == PlannedFleet.position(1))
  }

  @Test func `a soft one has pictures confirmed`() throws {
    let stage = try stage(.conditional(png(), tag: "\"1\""))
    fleet.hear(stage.of("/a"), isSoft: true)
    stage.settle()
    #expect(try stage.source(of: "/a") == "revalidated")
    #expect(try stage.source(of: "/a") == "memory")
  }

  @Test func `subscribers are told of each, and of a loss`() throws {
    let stage = try stage()
    let listener = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":["cache"]}
      < {"id":1,"ok":true}
      """#, on: listener)
    fleet.hear(stage.of("/x"))
    fleet.hear(stage.of("/x"), from: 2, isSoft: true)
    stage.settle()
    fleet.join(last: 9, loss: "the stream was cut")
    stage.settle()
    try stage.play(
      #"""
      < {"event":"cache","what":"purged","tier":"memory","entries":0,"seq":1}
      < {"event":"cache","what":"marked","tier":"memory","entries":0,"seq":2}
      < {"event":"cache","what":"marked","tier":"memory","entries":1,"seq":3}
      < {"event":"cache","what":"marked","tier":"disk","entries":1,"seq":4}
      """#, on: listener)
  }

  @Test func `an age counts back from where the purge was asked for`() throws {
    let stage = try stage()
    stage.pass(.seconds(100))
    let old = filter { $0.olderThan = .seconds(50) }
    fleet.hear(old, age: .seconds(60))
    stage.settle()
    #expect(try stage.source(of: "/a") == "memory")
    fleet.hear(old, from: 2, age: .seconds(40))
    stage.settle()
    #expect(try stage.source(of: "/a") == "network")
  }

  @Test func `a delay of the server keeps no picture that came just before the purge`() throws {
    let stage = try stage()
    stage.pass(.milliseconds(20))
    fleet.hear(filter { $0.olderThan = .zero }, age: .milliseconds(500))
    stage.settle()
    #expect(try stage.source(of: "/a") == "network")
  }

  @Test func `a purge that is told twice is carried out once`() throws {
    let stage = try stage()
    fleet.hear(stage.of("/a"))
    stage.settle()
    #expect(try stage.source(of: "/a") == "network")
    fleet.join(last: 1)
    fleet.hear(stage.of("/a"))
    stage.settle()
    #expect(try stage.source(of: "/a") == "memory")
    #expect(stage.purges.counts.heard == 1)
  }

  // MARK: Gaps

  @Test func `after a loss everything is confirmed, and what is told is carried out`() throws {
    let stage = try stage(.conditional(png(), tag: "\"1\""))
    try stage.fetch("/b")
    fleet.hear(stage.of("/x"))
    stage.settle()
    fleet.join(last: 9, loss: "the stream was cut")
    fleet.hear(stage.of("/b"), from: 9)
    stage.settle()
    #expect(try stage.source(of: "/a") == "revalidated")
    #expect(try stage.source(of: "/b") == "network")
    #expect(stage.purges.counts == FleetPurges.Counts(sent: 0, heard: 2, gaps: 1))
    #expect(stage.purges.history.position == PlannedFleet.position(9))
  }

  @Test func `a loss outlives a restart`() throws {
    let stage = try stage(.conditional(png(), tag: "\"1\""))
    stage.settle()
    fleet.join(generation: 2, loss: "the server was emptied")
    stage.settle()
    try stage.restart()
    #expect(fleet.joins.last == FleetPosition(generation: 2, number: 0, nonce: 0))
    fleet.join(generation: 2)
    stage.settle()
    #expect(try stage.source(of: "/a") == "revalidated")
    #expect(stage.purges.counts.gaps == 0)
  }

  /// The log is read from its first entry at each start.
  @Test func `what was missed before the place that was noted is missed once`() throws {
    let stage = try stage()
    fleet.hear(stage.of("/x"), stage.of("/y"), stage.of("/a"))
    stage.settle()
    try stage.restart()
    _ = try stage.fetch("/a")
    fleet.join(last: 3)
    fleet.hear(stage.of("/x"))
    let loss = "the purges from 2 to 2 are missing"
    fleet.tell(.joined(FleetJoin(generation: 1, last: 3, isFromBeginning: true, loss: loss)))
    fleet.hear(stage.of("/a"), from: 3)
    stage.settle()
    #expect(try stage.source(of: "/a") == "memory")
    #expect(stage.purges.counts == FleetPurges.Counts())
  }

  @Test func `other data of the server are a loss, even if nobody says so`() throws {
    let stage = try stage(.conditional(png(), tag: "\"1\""))
    fleet.join(generation: 2, last: 0)
    stage.settle()
    #expect(try stage.source(of: "/a") == "revalidated")
    #expect(stage.purges.counts.gaps == 1)
  }

  @Test func `more purges than may wait are a loss`() throws {
    let stage = try stage(.conditional(png(), tag: "\"1\""))
    let count = HeardPurges.most + 1_000
    fleet.hear((0..<count).map { stage.of("/x\($0)") })
    stage.settle()
    #expect(stage.purges.counts.gaps == 1 && stage.purges.lag == 0)
    #expect(try stage.source(of: "/a") == "revalidated")
    try stage.restart()
    #expect(fleet.joins.last == PlannedFleet.position(UInt64(count)))
  }

  // MARK: Turns

  @Test func `clients are served while a thousand purges are carried out`() throws {
    let stage = try stage()
    let victim = try stage.connectObserver()
    stage.settle()
    stage.letWorkTakeTime(.microseconds(10))
    fleet.hear((0..<1_000).map { stage.of("/x\($0)") } + [stage.of("/a")])
    for ticks in 1...20 {
      try victim.send(#"{"cmd":"ping"}"#)
      stage.tick()
      stage.tick()
      #expect(try victim.receiveNow()?["ok"]?.bool == true)
      #expect(stage.core.memory.counts.purges <= ticks * 20)
    }
    #expect(stage.purges.lag > 100)
    stage.letWorkTakeTime(.zero)
    stage.settle()
    #expect(stage.purges.lag == 0)
    #expect(try stage.source(of: "/a") == "network")
  }

  // MARK: The disk

  @Test func `what an index that was begun anew does not know is kept again`() throws {
    let stage = try stage()
    fleet.hear(stage.of("/x"))
    stage.settle()
    stage.core.disk.keepFleetPosition(FleetPosition(generation: 9, number: 9, nonce: 9))
    stage.settle()
    stage.core.disk.onFleetNotes(.read(FleetNotes()))
    stage.settle()
    try stage.restart()
    #expect(fleet.joins.last == PlannedFleet.position(1))
  }
}
