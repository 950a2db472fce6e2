import ImgdFleet
import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon

/// Looks at the fleet's server: when they are made, who shares them, and how they end.
struct FleetLookTests {
  @Test func `a picture of another host is shown and kept, and its origin is not asked`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.found(try FleetScene.picture()))
    #expect(try scene.outcome() == "fleet")
    #expect(try scene.outcome() == "memory")
    try scene.stage.leave(in: .disk)
    #expect(try scene.outcome() == "disk")
    #expect(scene.words == ["look #1"])
    #expect(scene.origin() == 0)
    #expect(scene.counts.hits == 1 && scene.counts.bytesRead == 1_000)
    #expect(scene.stage.core.fleet.latency.count == 1)
  }

  @Test(arguments: [
    (#""store":"memory""#, "memory"), (#""store":"disk""#, "disk"), (#""store":"none""#, "fleet"),
    (#""store":"fleet""#, "fleet"), (#""store":"local""#, "memory"),
  ])
  func `a found picture rises into the tiers that are wanted`(fields: String, next: String) throws {
    let scene = try FleetScene()
    let picture = try FleetScene.picture()
    scene.fleet.plan(.found(picture), .found(picture))
    #expect(try scene.outcome("/a", fields) == "fleet")
    #expect(try scene.outcome() == next)
  }

  @Test func `what nobody has is fetched under a claim and stored`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    #expect(try scene.outcome() == "network")
    #expect(scene.words == ["look #1", "store #1"])
    scene.tell(.stored(serial: scene.fleet.lastSerial, .kept))
    #expect(scene.counts.stores == 1 && scene.counts.misses == 1)
    #expect(scene.counts.bytesStored == 1_000)
  }

  @Test(arguments: [FleetAnswer.nothing, .failed])
  func `without a claim the origin is asked, and the picture is stored`(answer: FleetAnswer) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(answer)
    #expect(try scene.outcome() == "network")
    #expect(scene.words == ["look #1", "store #2"])
  }

  @Test func `a server that does not answer in time costs its timeout, and a late claim goes back`()
    throws
  {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(nil)
    try scene.begin()
    scene.stage.jump(.milliseconds(49))
    #expect(scene.origin() == 0)
    scene.stage.jump(.milliseconds(1))
    #expect(try scene.stage.client.receive().outcome == "network")
    #expect(scene.words == ["look #1", "release #1", "store #2"])
    #expect(scene.counts.timeouts == 1)
    scene.answer(.claimed)
    #expect(scene.words.last == "release #1")
    #expect(scene.words.count == 4)
  }

  @Test func `who is brought a picture waits for all of it`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.arriving)
    try scene.begin()
    scene.stage.jump(.seconds(10))
    #expect(scene.origin() == 0 && scene.counts.timeouts == 0)
    scene.answer(.found(try FleetScene.picture()))
    #expect(try scene.stage.client.receive().outcome == "fleet")
    #expect(scene.counts.hits == 1 && scene.stage.core.fleet.latency.count == 1)
  }

  @Test func `a picture that never comes to its end is fetched from its origin`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(.arriving)
    try scene.begin()
    scene.stage.jump(.milliseconds(10_050))
    #expect(try scene.stage.client.receive().outcome == "network")
    #expect(scene.counts.timeouts == 1)
  }

  @Test func `who waits for another host waits longer`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.held)
    try scene.begin()
    scene.stage.jump(.seconds(3))
    #expect(scene.origin() == 0)
    scene.answer(.found(try FleetScene.picture()))
    #expect(try scene.stage.client.receive().outcome == "fleet")
    #expect(scene.words == ["look #1"])
    #expect(scene.counts.waits == 1 && scene.counts.hits == 1)
  }

  @Test func `who has waited long enough for another host fetches without a claim`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(.held)
    try scene.begin()
    scene.stage.jump(.milliseconds(3_049))
    #expect(scene.origin() == 0)
    scene.stage.jump(.milliseconds(1))
    #expect(try scene.stage.client.receive().outcome == "network")
    #expect(scene.words == ["look #1", "release #1", "store #2"])
  }

  @Test func `a client's own time ends in the phase of the fleet`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.held)
    try scene.begin("/a", #""timeout_ms":200"#)
    scene.stage.jump(.milliseconds(200))
    let line = try scene.stage.client.receive()
    #expect(line.outcome == "timeout")
    #expect(line["error"]?["details"]?["phase"]?.string == "fleet")
    #expect(scene.words == ["look #1", "release #1"])
    #expect(scene.origin() == 0)
  }

  @Test(arguments: [nil, FleetAnswer.held])
  func `a look ends with the last who waits for it`(answer: FleetAnswer?) throws {
    let scene = try FleetScene()
    scene.fleet.plan(answer)
    let others = try (0..<2).map { _ in try scene.stage.connect() }
    for (number, other) in others.enumerated() {
      try scene.begin("/a", #""tags":["\#(number)"]"#, on: other)
    }
    for (number, other) in others.enumerated() {
      #expect(scene.words == ["look #1"])
      try other.send(#"{"cmd":"cancel","tag":"\#(number)"}"#)
      #expect(try other.receive().outcome == "cancelled")
    }
    #expect(scene.words == ["look #1", "release #1"])
    scene.answer(.nothing)
    #expect(scene.origin() == 0)
  }

  @Test(arguments: [true, false])
  func `fifty clients share one look and one transfer`(isFound: Bool) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(nil)
    let clients = try (0..<50).map { _ in try scene.stage.connect() }
    for client in clients { try scene.begin("/a", on: client) }
    #expect(scene.words == ["look #1"])
    scene.answer(isFound ? .found(try FleetScene.picture()) : .claimed)
    for client in clients {
      let outcome = try client.receive().outcome
      #expect(isFound ? outcome == "fleet" : outcome == "network" || outcome == "memory")
    }
    #expect(scene.words == (isFound ? ["look #1"] : ["look #1", "store #1"]))
    #expect(scene.origin() == (isFound ? 0 : 1))
  }

  @Test func `fetches for which a look was claimed go to the origin together, however many`() throws {
    let scene = try FleetScene()
    let gate = Gate()
    scene.stage.origin.plan("/a", .held(at: gate, then: .picture(png(), headers: Self.unkept)))
    scene.fleet.plan(nil)
    let clients = try (0..<40).map { _ in try scene.stage.connect() }
    for client in clients { try scene.begin("/a", on: client) }
    scene.answer(.claimed)
    gate.open()
    for client in clients { #expect(try client.receive().outcome == "network") }
    #expect(scene.words == ["look #1", "remove #1"])
    #expect(scene.origin() == 1)
  }

  private static let unkept = [("Cache-Control", "no-store")]

  @Test func `a transfer that is under way is joined without a look`() throws {
    let scene = try FleetScene()
    let gate = Gate()
    scene.stage.origin.plan("/a", .held(at: gate, then: FleetScene.fresh()))
    try scene.begin()
    let other = try scene.stage.connect()
    try scene.begin("/a", on: other)
    gate.open()
    #expect(try other.receive().outcome == "network")
    #expect(scene.words == ["look #1", "store #1"])
    #expect(scene.origin() == 1)
  }

  @Test(arguments: [FleetState.Phase.down, .refused, .connecting])
  func `a server that cannot be used is not asked`(phase: FleetState.Phase) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.tell(.state(FleetState(phase)))
    #expect(try scene.outcome() == "network")
    #expect(scene.words == [])
  }

  @Test func `nothing is looked for or stored before the purges are known`() throws {
    let fleet = PlannedFleet()
    let stage = try CoreStage(in: fleet)
    stage.origin.plan("/a", FleetScene.fresh())
    fleet.tell(.state(FleetState(.ok)))
    stage.settle()
    #expect(try stage.outcome("/a") == "network")
    #expect(fleet.words == [])
  }

  @Test func `a server that takes nothing is read`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.tell(.state(FleetState(.readOnly)))
    scene.fleet.plan(.held, .found(try FleetScene.picture("/b")))
    #expect(try scene.outcome() == "network")
    #expect(try scene.outcome("/b") == "fleet")
    #expect(scene.words == ["read #1", "release #1", "read #2"])
  }

  @Test func `only-if-cached reads, and neither claims nor waits`() throws {
    let scene = try FleetScene()
    let fields = #""cache":"only-if-cached""#
    scene.fleet.plan(.found(try FleetScene.picture()), .nothing, .held)
    #expect(try scene.outcome("/a", fields) == "fleet")
    #expect(try scene.outcome("/b", fields) == "not_cached")
    #expect(try scene.outcome("/b", fields) == "not_cached")
    #expect(scene.words == ["read #1", "read #2", "read #3", "release #3"])
    #expect(scene.stage.origin.requests.isEmpty)
  }

  @Test func `a stop waits for a picture of another host`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.held)
    try scene.begin()
    var isDrained = false
    scene.stage.core.drain { isDrained = true }
    #expect(!isDrained)
    scene.answer(.found(try FleetScene.picture()))
    #expect(isDrained)
    #expect(try scene.stage.client.receive().outcome == "fleet")
  }

  @Test func `a stop that waits no longer ends the looks`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.held)
    try scene.begin()
    scene.stage.core.refuseAll(.shuttingDown)
    #expect(try scene.stage.client.receive().outcome == "shutting_down")
    #expect(scene.words == ["look #1", "release #1"])
  }

  /// Requests whose pictures are not for all, or that want what their origin says.
  static let own = [
    #""headers":{"Authorization":"Basic eA=="}"#, #""headers":{"X-Api-Key":"k"}"#,
    #""headers":{"If-None-Match":"\"9\""}"#, #""cache":"no-store""#,
  ]

  @Test(arguments: own)
  func `what is not for all is neither looked for nor stored`(fields: String) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan(
      "/a", .picture(png(), headers: [("Cache-Control", "public, max-age=1000")]))
    #expect(try scene.outcome("/a", fields) == "network")
    #expect(scene.words == [])
  }

  @Test(arguments: [#""cache":"reload""#, #""cache":"no-cache""#])
  func `who asks the origin does not look, and stores without a claim`(fields: String) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    #expect(try scene.outcome("/a", fields) == "network")
    #expect(scene.words == ["store #1"])
  }

  /// Memory, which compares their order, has neither of the two.
  @Test func `a picture that is put during a look stays`() throws {
    let scene = try FleetScene("Control.Put=all", "Memory.MaxEntry=500")
    try scene.putDuringLook(thatFinds: .found(try FleetScene.picture()))
    #expect(try scene.stage.client.receive().outcome == "fleet")
    #expect(try scene.stage.ask("/a", #""cache":"only-if-cached""#)["bytes"]?.integer == 900)
  }

  @Test func `the age goes on by the server's clock`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.found(try FleetScene.picture(age: .milliseconds(400_700))))
    let line = try scene.stage.ask("/a")
    #expect(line["age"]?.integer == 400)
    #expect(line["fresh_for"]?.integer == 599)
    scene.stage.pass(.milliseconds(300))
    #expect(try scene.stage.ask("/a")["age"]?.integer == 401)
  }

  @Test func `a redirect is fetched, and its target is looked for`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", .redirect(to: "/b"))
    scene.fleet.plan(.claimed, .found(try FleetScene.picture("/b")))
    #expect(try scene.outcome() == "fleet")
    #expect(scene.words == ["look #1", "release #1", "look #2"])
    #expect(scene.origin("/b") == 0)
  }

  /// Requests that are told apart from a plain one.
  static let variants = [
    #""identifier":"i""#, #""headers":{"Accept":"image/png"}"#,
    #""identifier":"i","headers":{"Accept":"image/png","X-A":"b"}"#,
  ]

  @Test(arguments: variants)
  func `a picture is found by requests of its kind alone`(fields: String) throws {
    let answer = FleetScene.fresh(headers: [("Vary", "Accept")])
    let scene = try FleetScene()
    let picture = try FleetScene.picture("/a", fields, by: answer)
    scene.stage.origin.plan("/a", answer)
    scene.fleet.plan(.found(picture), .found(picture))
    #expect(try scene.outcome("/a", fields) == "fleet")
    #expect(try scene.outcome("/a") == "network")
    #expect(scene.words == ["look #1", "look #2", "claim #3 for 1", "store #3"])
    #expect(scene.counts.invalid == 1)
  }
}
