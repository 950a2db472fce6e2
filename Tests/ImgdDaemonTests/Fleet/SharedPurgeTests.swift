import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

/// Purges of this host that the others are to hear of.
struct SharedPurgeTests {
  private let fleet = PlannedFleet()

  private func stage(_ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(settings, in: fleet)
    stage.origin.plan("/a", .picture(png()))
    fleet.join()
    stage.settle()
    return stage
  }

  private func key(_ stage: CoreStage) -> CacheKey {
    CacheKey(url: CanonicalURL(canonical: stage.origin.url("/a")))
  }

  /// What becomes of a picture that another host has stored with the last purge that this one has heard.
  private func verdict(_ stage: CoreStage) throws -> PurgeVerdict {
    let history = stage.purges.history
    let mark = try #require(history.position)
    return history.verdict(on: key(stage), tags: [], mark: mark, age: .zero)
  }

  // MARK: Sent

  @Test func `a purge is in force here before it is sent, and answered when it is in the log`()
    throws
  {
    let stage = try stage()
    try stage.fetch("/a")
    try stage.begin(#"{"cmd":"purge","id":1,"url":"ORIGIN/a","soft":true}"#)
    let purge = try #require(fleet.sent.first)
    #expect(purge.filter == stage.of("/a") && purge.isSoft)
    #expect(try stage.client.receiveNow() == nil)
    #expect(try verdict(stage) == .stale)
    fleet.tell(.sent(nonce: purge.nonce))
    #expect(try stage.client.receive()["fleet"] == .string("sent"))
    #expect(stage.purges.counts.sent == 1 && stage.purges.pending == 0)
    // The picture may have been stored by a host that has not heard of it.
    #expect(try verdict(stage) == .stale)
    fleet.echo(purge, number: 1)
    stage.settle()
    #expect(try verdict(stage) == .untouched)
    #expect(stage.purges.counts == FleetPurges.Counts(sent: 1, heard: 0, gaps: 0))
  }

  /// Other hosts are not told, but what is gone here must not come back from the server.
  @Test func `a purge of what a user has asked for takes it from the server, if nobody else has`() throws {
    let stage = try stage("Control.Purge=own")
    let (first, second) = (try stage.connect(as: 7), try stage.connect(as: 8))
    let digest = try #require(key(stage).digest)
    for client in [first, second] { try stage.fetch("/a", on: client) }
    for (client, removed) in [(first, []), (second, [digest])] {
      let answer = try client.ask(#"{"cmd":"purge","url":"\#(stage.origin.url("/a"))"}"#)
      #expect(answer["ok"] == .bool(true) && answer["fleet"] == nil)
      #expect(fleet.removed == removed)
    }
    #expect(fleet.sent.isEmpty)
  }

  @Test func `its own purge is not carried out again when it is heard`() throws {
    let stage = try stage()
    try stage.fetch("/a")
    try stage.begin(#"{"cmd":"purge","url":"ORIGIN/a"}"#)
    let purge = try #require(fleet.sent.first)
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network"}
      """#)
    // It may be heard before the server has answered.
    fleet.echo(purge, number: 1)
    #expect(try stage.client.receive()["fleet"] == .string("sent"))
    fleet.tell(.sent(nonce: purge.nonce))
    #expect(try stage.source(of: "/a") == "memory")
    #expect(stage.purges.counts == FleetPurges.Counts(sent: 1, heard: 0, gaps: 0))
    try stage.restart()
    #expect(fleet.joins.last??.number == 1)
  }

  static let local = [
    #""tier":"memory""#, #""tier":"disk","tag":"t""#, #""unused_for":5"#, #""expired":true"#,
    #""expired":true,"host":"h""#,
  ]

  @Test(arguments: local)
  func `what is a matter of each host is not sent`(_ fields: String) throws {
    let stage = try stage()
    let line = try stage.client.ask(#"{"cmd":"purge",\#(fields)}"#)
    #expect(line["ok"] == .bool(true) && line["fleet"] == nil)
    #expect(fleet.sent.isEmpty && stage.purges.pending == 0)
    #expect(try verdict(stage) == .untouched)
  }

  @Test func `a machine alone says nothing of a fleet`() throws {
    let stage = try CoreStage()
    #expect(try stage.client.ask(#"{"cmd":"purge"}"#)["fleet"] == nil)
    #expect(stage.purges.pending == 0 && stage.purges.history.bytes == 0)
  }

  // MARK: Pending

  @Test func `a server that does not answer is waited for no longer than the timeout`() throws {
    let stage = try stage()
    try stage.begin(#"{"cmd":"purge","url":"ORIGIN/a"}"#)
    stage.pass(.milliseconds(49))
    #expect(try stage.client.receiveNow() == nil)
    stage.pass(.milliseconds(1))
    #expect(try stage.client.receive()["fleet"] == .string("pending"))
    #expect(stage.purges.pending == 1)
    let purge = try #require(fleet.sent.first)
    fleet.tell(.sent(nonce: purge.nonce))
    stage.settle()
    #expect(stage.purges.pending == 0)
    try stage.restart()
    fleet.join(last: 1)
    stage.settle()
    #expect(fleet.sent.count == 1)
  }

  @Test(arguments: [FleetState.Phase.down, .refused, .readOnly, .connecting])
  func `a server that is known to be of no use is not waited for`(_ phase: FleetState.Phase) throws {
    let stage = try stage()
    fleet.tell(.state(FleetState(phase)))
    stage.settle()
    let line = try stage.client.ask(#"{"cmd":"purge","url":"\#(stage.origin.url("/a"))"}"#)
    #expect(line["fleet"] == .string("pending"))
    #expect(fleet.sent.isEmpty && stage.purges.pending == 1)
    #expect(try verdict(stage) == .purged)
  }

  @Test func `pending purges are sent in their order, a few at a time, also by the next process`()
    throws
  {
    let stage = try stage()
    fleet.tell(.state(FleetState(.down)))
    stage.settle()
    for number in 0..<40 {
      #expect(
        try stage.client.ask(#"{"cmd":"purge","tag":"t\#(number)"}"#)["fleet"]
          == .string("pending"))
    }
    try stage.restart()
    #expect(stage.purges.pending == 40)
    #expect(fleet.sent.isEmpty)
    fleet.join()
    stage.settle()
    #expect(fleet.sent.count == 16)
    var done = 0
    while done < fleet.sent.count {
      fleet.tell(.sent(nonce: fleet.sent[done].nonce))
      done += 1
      stage.settle()
      #expect(fleet.sent.count - done <= 16)
    }
    #expect(fleet.sent.map(\.filter.tag) == (0..<40).map { "t\($0)" })
    #expect(stage.purges.pending == 0 && stage.purges.counts.sent == 40)
    try stage.restart()
    #expect(stage.purges.pending == 0)
  }

  @Test func `a purge that was refused is pending, and sent again`() throws {
    let stage = try stage()
    try stage.begin(#"{"cmd":"purge","url":"ORIGIN/a"}"#)
    let purge = try #require(fleet.sent.first)
    fleet.tell(.unsent(nonce: purge.nonce, reason: "OOM"))
    #expect(try stage.client.receive()["fleet"] == .string("pending"))
    #expect(fleet.sent.count == 1 && stage.purges.refusal == "OOM")
    stage.pass(.seconds(1))
    #expect(fleet.sent.map(\.nonce) == [purge.nonce, purge.nonce])
    fleet.tell(.state(FleetState(.down)))
    fleet.tell(.state(FleetState(.ok)))
    stage.settle()
    #expect(fleet.sent.count == 3)
    fleet.tell(.sent(nonce: purge.nonce))
    stage.settle()
    #expect(stage.purges.pending == 0 && stage.purges.refusal == nil)
  }

  @Test func `what was not heard from a log that was lost is sent again`() throws {
    let stage = try stage()
    try stage.begin(#"{"cmd":"purge","url":"ORIGIN/a"}"#)
    let purge = try #require(fleet.sent.first)
    fleet.tell(.sent(nonce: purge.nonce))
    stage.settle()
    fleet.join(generation: 2, loss: "the server was emptied")
    stage.settle()
    #expect(fleet.sent.map(\.nonce) == [purge.nonce, purge.nonce])
    #expect(stage.purges.pending == 1)
    try stage.restart()
    #expect(stage.purges.pending == 1)
  }

  /// A master may die between its answer and the copy of what it has answered for.
  @Test(arguments: [true, false])
  func `what was taken and is not in the log when it is read again is sent again`(isHeard: Bool) throws {
    let stage = try stage()
    try stage.begin(#"{"cmd":"purge","url":"ORIGIN/a"}"#)
    let purge = try #require(fleet.sent.first)
    fleet.tell(.sent(nonce: purge.nonce))
    fleet.tell(.state(FleetState(.down)))
    stage.settle()
    if isHeard { fleet.echo(purge, number: 1) }
    fleet.tell(.state(FleetState(.ok)))
    stage.settle()
    #expect(fleet.sent.count == (isHeard ? 1 : 2))
    #expect(stage.purges.pending == (isHeard ? 0 : 1))
  }

  /// A replica may become the master that has never had it, and hosts may have stored older pictures there by then.
  @Test(arguments: [false, true])
  func `what was heard from a log that is lost counts, and is sent again unless the next one has it`(
    isThere: Bool
  ) throws {
    let stage = try stage()
    try stage.begin(#"{"cmd":"purge","url":"ORIGIN/a"}"#)
    let purge = try #require(fleet.sent.first)
    fleet.tell(.sent(nonce: purge.nonce))
    fleet.echo(purge, number: 1)
    stage.settle()
    fleet.tell(.state(FleetState(.connecting)))
    fleet.tell(.joined(FleetJoin(generation: 2, last: 1, isFromBeginning: true, loss: "the server is another one")))
    if isThere { fleet.echo(purge, number: 1) } else { fleet.hear(stage.of("/other")) }
    stage.settle()
    #expect(try verdict(stage) == (isThere ? .untouched : .purged))
    fleet.tell(.state(FleetState(.ok)))
    stage.settle()
    #expect(fleet.sent.map(\.nonce) == Array(repeating: purge.nonce, count: isThere ? 1 : 2))
    #expect(stage.purges.pending == (isThere ? 0 : 1) && stage.purges.counts.sent == 1)
  }

  /// By a host that has had more purges than it remembers, and by one that was started since.
  @Test(arguments: [false, true])
  func `in place of purges that nobody remembers, everything is stale on all hosts`(isStarted: Bool) throws {
    let stage = try stage()
    fleet.takesPurges = true
    let count = isStarted ? 1 : FleetOutbox.mostLogged + 1
    for number in 0..<count {
      #expect(try stage.client.ask(#"{"cmd":"purge","tag":"t\#(number)"}"#)["fleet"] == .string("sent"))
      fleet.echo(try #require(fleet.sent.last), number: UInt64(number + 1))
      stage.settle()
    }
    let heldBytes = stage.purges.heldBytes
    if isStarted { try stage.restart() }
    let before = fleet.sent.count
    fleet.join(generation: 2, loss: "the server is another one")
    stage.settle()
    let again = fleet.sent.dropFirst(before)
    #expect(again.first { $0.filter == PurgeFilter() }?.isSoft == true)
    #expect(again.count == count && Set(again.map(\.filter.tag)).count == count)
    #expect(stage.purges.heldBytes <= heldBytes * 3)
  }

  @Test func `without a disk pending purges are held in memory`() throws {
    let stage = try stage("Disk.Enabled=false")
    fleet.tell(.state(FleetState(.down)))
    stage.settle()
    #expect(try stage.client.ask(#"{"cmd":"purge"}"#)["fleet"] == .string("pending"))
    #expect(stage.purges.pending == 1)
    fleet.tell(.state(FleetState(.ok)))
    stage.settle()
    #expect(fleet.sent.count == 1)
  }

  // MARK: Bounds

  @Test(arguments: [false, true])
  func `too many pending purges become one of everything`(isSoft: Bool) throws {
    let stage = try stage()
    fleet.tell(.state(FleetState(.down)))
    stage.settle()
    var told = 0
    for number in 0...FleetOutbox.most {
      let tag = filter { $0.tag = "t\(number)" }
      let purge = try #require(stage.purges.note(tag, isSoft: isSoft || number != 7))
      stage.purges.send(purge) { told += $0 == .pending ? 1 : 0 }
    }
    stage.settle()
    #expect(told == FleetOutbox.most + 1)
    #expect(stage.purges.pending == 1)
    #expect(try verdict(stage) == (isSoft ? .stale : .purged))
    try stage.restart()
    #expect(stage.purges.pending == 1)
    fleet.join()
    stage.settle()
    #expect(fleet.sent.map(\.filter) == [PurgeFilter()])
    #expect(fleet.sent.map(\.isSoft) == [isSoft])
  }

  @Test func `pending purges take no more bytes than they may`() throws {
    let stage = try stage()
    fleet.tell(.state(FleetState(.down)))
    stage.settle()
    let long = String(repeating: "x", count: 8_000)
    for number in 0..<2_000 {
      let prefix = filter { $0.prefix = "https://\(number)/\(long)" }
      let purge = try #require(stage.purges.note(prefix, isSoft: false))
      stage.purges.send(purge) { _ in }
    }
    #expect(stage.purges.heldBytes < 10 << 20)
    #expect(stage.purges.pending < 600)
  }

  @Test func `damaged rows of purges are one that has everything confirmed`() throws {
    let stage = try stage()
    var notes = FleetNotes()
    notes.damaged = 3
    stage.core.disk.onFleetNotes(.read(notes))
    stage.settle()
    #expect(fleet.sent.map(\.filter) == [PurgeFilter()])
    #expect(fleet.sent.map(\.isSoft) == [true])
  }
}
