import ImgdSystem
import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

/// Claims: what is stored, given back, confirmed and renewed.
struct FleetClaimTests {
  /// How a download may end, and what becomes of its claim.
  static let ends: [(answer: OriginAnswer, fields: String, end: String)] = [
    (FleetScene.fresh(), "", "store #1"),
    (FleetScene.fresh(), #""store":"fleet""#, "store #1"),
    (FleetScene.fresh(), #""store":"local""#, "remove #1"),
    (FleetScene.fresh(), #""store":"none""#, "release #1"),
    (.picture(png(), headers: [("Cache-Control", "no-store")]), "", "remove #1"),
    (.picture(png(), headers: [("Cache-Control", "private")]), "", "remove #1"),
    (.picture(png(), headers: [("Cache-Control", "max-age=0")]), "", "remove #1"),
    (.picture(png(1_100_000)), "", "remove #1"),
    (.body(Array("no picture".utf8)), "", "release #1"),
    (.status(404), "", "remove #1"), (.status(410), "", "remove #1"),
    (.status(500), "", "release #1"), (.fails(.dns), "", "release #1"),
    (.fails(.truncated), "", "release #1"), (.redirect(to: "/a"), "", "release #1"),
    (FleetScene.fresh(), #""max_bytes":10"#, "release #1"),
    (.silence, #""timeout_ms":100"#, "release #1"),
  ]

  @Test(arguments: ends)
  func `each claim ends once`(answer: OriginAnswer, fields: String, end: String) throws {
    let scene = try FleetScene("Downloads.MaxRedirects=0")
    scene.stage.origin.plan("/a", answer)
    try scene.begin("/a", fields)
    scene.stage.pass(.milliseconds(100))
    _ = try scene.stage.client.receive()
    #expect(scene.words == ["look #1", end])
    scene.stage.core.refuseAll(.shuttingDown)
    #expect(scene.words == ["look #1", end])
  }

  @Test(arguments: ["cancel", "finish"])
  func `a claim ends with its transfer, with its last waiter or with the service`(
    orphans: String
  ) throws {
    let scene = try FleetScene("Downloads.Orphans=\(orphans)")
    let gate = Gate()
    scene.stage.origin.plan("/a", .held(at: gate, then: FleetScene.fresh()))
    try scene.begin()
    try scene.stage.client.send(#"{"cmd":"cancel","all":true}"#)
    #expect(try scene.stage.client.receive().outcome == "cancelled")
    #expect(scene.words == (orphans == "cancel" ? ["look #1", "release #1"] : ["look #1"]))
    scene.stage.core.refuseAll(.shuttingDown)
    #expect(scene.words == ["look #1", "release #1"])
    gate.open()
    scene.stage.settle()
    #expect(scene.words.filter { $0.hasSuffix("#1") } == ["look #1", "release #1"])
  }

  @Test func `a picture on its way to the server is counted`() throws {
    let scene = try FleetScene()
    let tier = scene.stage.core.fleet
    scene.stage.origin.plan("/a", FleetScene.fresh(5_000))
    try scene.stage.fetch("/a")
    #expect(tier.heldBytes == 5_000)
    scene.tell(.stored(serial: try #require(scene.fleet.stores.last).serial, .kept))
    #expect(tier.heldBytes == 0 && tier.counts.bytesStored == 5_000)
  }

  @Test func `an orphan that may finish fulfils its claim`() throws {
    let scene = try FleetScene("Downloads.Orphans=finish")
    let gate = Gate()
    scene.stage.origin.plan("/a", .held(at: gate, then: FleetScene.fresh()))
    try scene.begin()
    try scene.stage.client.send(#"{"cmd":"cancel","all":true}"#)
    #expect(try scene.stage.client.receive().outcome == "cancelled")
    gate.open()
    scene.stage.settle()
    #expect(scene.words == ["look #1", "store #1"])
  }

  @Test func `a picture that was purged on its way is not stored`() throws {
    let scene = try FleetScene()
    let gate = Gate()
    scene.stage.origin.plan("/a", .held(at: gate, then: FleetScene.fresh()))
    try scene.begin()
    try scene.stage.play(
      #"""
      > {"cmd":"purge","id":"p"}
      < {"id":"p","ok":true}
      """#)
    gate.open()
    #expect(try scene.stage.client.receive().outcome == "network")
    #expect(scene.words == ["look #1", "release #1"])
  }

  @Test func `a picture carries the last purge before its transfer began`() throws {
    let scene = try FleetScene()
    let gate = Gate()
    scene.stage.origin.plan("/a", .held(at: gate, then: FleetScene.fresh()))
    var filter = PurgeFilter()
    filter.tag = "other"
    scene.fleet.tellPurge(1, filter)
    try scene.begin()
    scene.fleet.tellPurge(2, filter)
    gate.open()
    #expect(try scene.stage.client.receive().outcome == "network")
    #expect(scene.fleet.stores.map(\.mark.number) == [1])
  }

  @Test(arguments: [
    (#""tier":"memory","#, "disk"), (#""tier":"disk","#, "memory"), (#""tag":"other","#, "memory"),
  ])
  func `a picture that was purged from a tier while it was looked for is shown, and not kept there`(
    purge: String, tier: String
  ) throws {
    let scene = try FleetScene()
    let picture = try FleetScene.picture()
    scene.fleet.plan(nil, .found(picture))
    try scene.begin()
    try scene.stage.play(
      #"""
      > {"cmd":"purge",\#(purge)"id":"p"}
      < {"id":"p","ok":true}
      """#)
    scene.answer(.found(picture))
    #expect(try scene.stage.client.receive().outcome == "fleet")
    #expect(try scene.stage.tier(of: "/a") == tier)
  }

  @Test
  func `a stale picture that was purged while it was looked for is not offered to its origin`()
    throws
  {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(nil)
    try scene.begin()
    try scene.stage.play(
      #"""
      > {"cmd":"purge","id":"p"}
      < {"id":"p","ok":true}
      """#)
    scene.answer(.found(try FleetScene.picture(age: .seconds(2_000))))
    #expect(try scene.stage.client.receive().outcome == "network")
    #expect(scene.stage.origin.requests("/a").last?.header("if-none-match") == nil)
  }

  @Test(arguments: [(true, "revalidated", "\"1\""), (false, "network", nil)])
  func `a purge that came after a picture is heeded`(
    isSoft: Bool, outcome: String, condition: String?
  ) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.tellPurge(3, PurgeFilter(), isSoft: isSoft)
    scene.stage.settle()
    scene.fleet.plan(.found(try FleetScene.picture(mark: 2)))
    #expect(try scene.outcome() == outcome)
    #expect(scene.stage.origin.requests("/a").last?.header("if-none-match") == condition)
    #expect(scene.words == ["look #1", "claim #2 for 1", "store #2"])
    #expect(scene.fleet.stores.last?.mark.number == 3)
  }

  @Test func `a stale picture is confirmed under a claim, and stored again`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(.found(try FleetScene.picture(age: .seconds(2_000))))
    #expect(try scene.outcome() == "revalidated")
    #expect(scene.stage.origin.requests("/a").last?.header("if-none-match") == "\"1\"")
    #expect(scene.words == ["look #1", "claim #2 for 1", "store #2"])
    #expect(scene.fleet.stores.last?.age == .zero)
  }

  @Test func `who finds a stale picture that another host confirms waits for that`() throws {
    let scene = try FleetScene()
    let answer = FleetScene.fresh()
    let (stale, fresh) = (
      try FleetScene.picture(by: answer, age: .seconds(2_000)),
      try FleetScene.picture(by: answer)
    )
    scene.fleet.plan(nil, .held)
    let clients = try (0..<3).map { _ in try scene.stage.connect() }
    for client in clients { try scene.begin("/a", on: client) }
    scene.answer(.found(stale))
    #expect(scene.words == ["look #1", "claim #2 for 1"])
    scene.answer(.found(fresh))
    for client in clients { #expect(try client.receive().outcome == "fleet") }
    #expect(scene.origin() == 0)
    #expect(scene.words == ["look #1", "claim #2 for 1"])
  }

  @Test func `a picture that is stale twice is confirmed without another claim`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    let stale = FleetAnswer.found(try FleetScene.picture(age: .seconds(2_000)))
    scene.fleet.plan(stale, stale)
    #expect(try scene.outcome() == "revalidated")
    #expect(scene.words == ["look #1", "claim #2 for 1", "store #3"])
  }

  @Test func `a picture that is gone at its origin goes from the server`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", .status(404))
    scene.fleet.plan(.found(try FleetScene.picture(age: .seconds(2_000))))
    #expect(try scene.outcome() == "http_status")
    #expect(scene.words == ["look #1", "claim #2 for 1", "remove #2"])
  }

  @Test(arguments: [
    ("reload", "", OriginAnswer.status(404)),
    ("reload", #","store":"local""#, FleetScene.fresh()),
    ("reload", "", .picture(png(), headers: [("Cache-Control", "no-store")])),
  ])
  func `what an unclaimed fetch has found wrong is deleted`(
    mode: String, more: String, answer: OriginAnswer
  ) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", answer)
    _ = try scene.outcome("/a", #""cache":"\#(mode)"\#(more)"#)
    #expect(scene.words == ["remove"])
  }

  @Test func `an origin that fails says nothing of what is stored`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", .status(500))
    _ = try scene.outcome("/a", #""cache":"reload""#)
    #expect(scene.words == [])
  }

  @Test func `an age is reckoned by the clock that all hosts go by`() throws {
    let scene = try FleetScene()
    let date = httpDate(-300)
    scene.stage.origin.plan(
      "/a", .picture(png(), headers: [("Cache-Control", "max-age=1000"), ("Date", date)]))
    scene.tell(.clock(secondsAhead: -300))
    try scene.stage.fetch("/a")
    let store = try #require(scene.fleet.stores.last)
    #expect((0...2_000).contains(store.record.initialAgeMs))
  }

  @Test func `a stale picture stands in for an origin that fails`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", .status(500))
    let answer = FleetScene.fresh(1_000, ", stale-if-error=5000")
    scene.fleet.plan(.found(try FleetScene.picture(by: answer, age: .seconds(2_000))))
    #expect(try scene.outcome() == "fleet stale")
    #expect(scene.words == ["look #1", "claim #2 for 1", "release #2"])
  }

  @Test func `a stale picture is shown while one is confirmed`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    let answer = FleetScene.fresh(1_000, ", stale-while-revalidate=5000")
    let stale = FleetAnswer.found(try FleetScene.picture(by: answer, age: .seconds(2_000)))
    scene.fleet.plan(stale, stale)
    #expect(try scene.outcome() == "fleet stale")
    scene.stage.settle()
    #expect(scene.words == ["look #1", "look #2", "claim #3 for 1", "store #3"])
    #expect(try scene.outcome() == "memory")
    #expect(scene.origin() == 1)
  }

  @Test func `who takes pictures of any age takes a stale one, and claims nothing`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(.found(try FleetScene.picture(age: .seconds(2_000))))
    #expect(try scene.outcome("/a", #""cache":"force-cache""#) == "fleet stale")
    #expect(scene.words == ["look #1"])
    #expect(scene.origin() == 0)
  }

  @Test func `many who are shown a stale picture cause one refresh`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    let answer = FleetScene.fresh(1_000, ", stale-while-revalidate=5000")
    let stale = FleetAnswer.found(try FleetScene.picture(by: answer, age: .seconds(2_000)))
    scene.fleet.plan(nil, nil)
    let clients = try (0..<3).map { _ in try scene.stage.connect() }
    for client in clients { try scene.begin("/a", on: client) }
    scene.answer(stale)
    for client in clients { #expect(try client.receive().outcome == "fleet stale") }
    #expect(try scene.outcome() == "memory stale")
    #expect(scene.words == ["look #1", "look #2"])
    #expect(try scene.stage.client.ask(#"{"cmd":"list"}"#).jobCount == 1)
  }

  @Test func `a refresh takes what another host has confirmed`() throws {
    let scene = try FleetScene()
    let answer = FleetScene.fresh(1_000, ", stale-while-revalidate=5000")
    scene.stage.origin.plan("/a", answer)
    try scene.stage.fetch("/a")
    scene.stage.jump(.seconds(2_000))
    scene.fleet.plan(.found(try FleetScene.picture(by: answer)))
    #expect(try scene.outcome() == "memory stale")
    scene.stage.settle()
    #expect(try scene.outcome() == "memory")
    #expect(scene.origin() == 1)
    #expect(scene.words == ["look #1", "store #1", "look #2"])
  }

  @Test func `the newer one of two stale pictures is offered to the origin`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan(
      "/a", .conditional(png(), tag: "\"2\"", headers: [("Cache-Control", "max-age=1000")]))
    try scene.stage.fetch("/a")
    scene.stage.jump(.seconds(2_000))
    scene.fleet.plan(.found(try FleetScene.picture(age: .seconds(5_000))))
    #expect(try scene.outcome() == "revalidated")
    #expect(scene.stage.origin.requests("/a").last?.header("if-none-match") == "\"2\"")
    #expect(scene.words == ["look #1", "store #1", "look #2", "claim #3 for 1", "store #3"])
  }

  @Test(arguments: [false, true])
  func `what is no picture is replaced, and one of a kind that is not wanted stays`(isPicture: Bool) throws {
    let scene = try FleetScene("Downloads.AcceptTypes=jpeg")
    scene.stage.origin.plan("/a", .picture(jpeg()))
    let found = try FleetScene.picture()
    let bytes = isPicture ? png(1_000) : [UInt8](repeating: 7, count: 1_000)
    scene.fleet.plan(
      .found(
        FleetPicture(
          record: found.record, payload: Payload(bytes), mark: found.mark, stamp: 5, age: .zero)))
    #expect(try scene.outcome() == "network")
    #expect(scene.words == (isPicture ? ["look #1"] : ["look #1", "claim #2 for 5", "store #2"]))
    #expect(scene.counts.invalid == (isPicture ? 0 : 1))
  }

  @Test func `a claim is renewed while something comes`() throws {
    let scene = try FleetScene()
    let gate = Gate()
    scene.stage.origin.plan("/a", .held(at: gate, then: .stalls(png(), after: 500)))
    try scene.begin()
    scene.stage.pass(.seconds(3))
    #expect(scene.words == ["look #1"])
    gate.open()
    scene.stage.pass(.seconds(3))
    #expect(scene.words == ["look #1", "renew #1"])
    scene.stage.pass(.seconds(6))
    #expect(scene.words == ["look #1", "renew #1"])
  }

  @Test func `what cannot be confirmed is kept as long as it may be shown`() throws {
    let control = ("Cache-Control", "max-age=100, stale-while-revalidate=20")
    let picture = try FleetScene.stored(by: .picture(png(), headers: [control]))
    #expect(picture.lifetime == .seconds(120))
    let confirmable = try FleetScene.stored(by: FleetScene.fresh())
    #expect(confirmable.lifetime == .seconds(86_400))
  }

  @Test func `what became of stores is counted`() throws {
    let scene = try FleetScene()
    let ends: [FleetStoring] = [.kept, .overtaken, .tooLarge, .refused("full")]
    for (number, end) in ends.enumerated() {
      scene.stage.origin.plan("/\(number)", FleetScene.fresh())
      try scene.stage.fetch("/\(number)")
      scene.tell(.stored(serial: scene.fleet.lastSerial, end))
      scene.tell(.stored(serial: scene.fleet.lastSerial, end))
    }
    let counts = scene.counts
    #expect(counts.stores == 1 && counts.overtaken == 1 && counts.refused == 2)
  }
}
