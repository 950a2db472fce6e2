import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

/// Answers without a picture in a fleet: redirects, 404 and 410.
struct FleetAnswerTests {
  private static let named = [("Cache-Control", "max-age=1000")]

  /// An answer as another host has stored it.
  private func stored(_ answer: OriginAnswer) throws -> FleetStore {
    let other = try FleetScene("Downloads.MaxRedirects=0")
    other.stage.origin.plan("/a", answer)
    _ = try other.outcome()
    let store = try #require(other.fleet.stores.last)
    #expect(store.payload.count == 0)
    return store
  }

  private func found(_ answer: OriginAnswer, mark: UInt64 = 0, age: Duration = .zero) throws -> FleetAnswer {
    .found(FleetPicture(try stored(answer), mark: PlannedFleet.mark(mark), age: age))
  }

  private static let gone = OriginAnswer.status(404, headers: named)

  /// What becomes of a claim.
  static let ends: [(answer: OriginAnswer, fields: String, end: String)] = [
    (.status(404, headers: named), "", "store #1"), (.status(410, headers: named), "", "store #1"),
    (.redirect(to: "/b", status: 301, headers: named), "", "store #1"),
    (.redirect(to: "/b", status: 302, headers: named), "", "store #1"),
    (.redirect(to: "/b", status: 302, headers: [("Expires", httpDate(1_000))]), "", "store #1"),
    (.status(404), "", "remove #1"), (.status(404, headers: [("Last-Modified", httpDate(-9_000))]), "", "remove #1"),
    (.redirect(to: "/b", status: 301), "", "remove #1"), (.redirect(to: "/b", status: 302), "", "release #1"),
    (.redirect(to: "/b", status: 302), #""ttl":1000"#, "remove #1"),
    (.status(404, headers: [("Cache-Control", "no-cache, max-age=1000")]), "", "remove #1"),
    (.status(404, headers: [("Cache-Control", "private, max-age=1000")]), "", "remove #1"),
    (.status(404, headers: [("Cache-Control", "max-age=0")]), "", "remove #1"),
    (.status(403, headers: named), "", "release #1"), (.status(503, headers: named), "", "release #1"),
    (.status(404, headers: named), #""store":"local""#, "remove #1"),
    (.status(404, headers: named), #""store":"none""#, "release #1"),
  ]

  @Test(arguments: ends)
  func `hosts share what their origin has named a time for`(
    answer: OriginAnswer, fields: String, end: String
  ) throws {
    let scene = try FleetScene("Downloads.MaxRedirects=0", "HTTP.NegativeFreshness=60s")
    scene.stage.origin.plan("/a", answer)
    _ = try scene.outcome("/a", fields)
    #expect(scene.words == ["look #1", end])
    scene.stage.core.refuseAll(.shuttingDown)
    #expect(scene.words == ["look #1", end])
  }

  @Test(arguments: [
    #""headers":{"Authorization":"Basic eA=="}"#, #""headers":{"If-None-Match":"\"7\""}"#,
  ])
  func `what was said to one client is not shared`(fields: String) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", Self.gone)
    _ = try scene.outcome("/a", fields)
    #expect(scene.words == [])
  }

  @Test func `an answer lives no longer than its origin has said`() throws {
    #expect(try stored(Self.gone).lifetime == .seconds(1_000))
    let more = [("Cache-Control", "max-age=1000, stale-while-revalidate=50"), ("ETag", "\"1\"")]
    #expect(try stored(.status(404, headers: more)).lifetime == .seconds(1_000))
  }

  @Test func `a failure of another host's origin is answered and remembered`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(try found(Self.gone, age: .seconds(10)))
    let url = scene.stage.origin.url("/a")
    for _ in 0..<2 {
      let line = try scene.stage.client.ask(#"{"cmd":"fetch","url":"\#(url)"}"#)
      #expect(line.outcome == "http_status cached")
      #expect(line["error"]?["details"]?["age"]?.integer == 10 || line["error"]?["age"]?.integer == 10)
    }
    #expect(scene.words == ["look #1"] && scene.origin() == 0)
    #expect(scene.counts.hits == 1)
  }

  @Test func `all who wait are given it`() throws {
    let scene = try FleetScene()
    scene.fleet.plan(nil)
    let clients = try (0..<3).map { _ in try scene.stage.connect() }
    for client in clients { try scene.begin(on: client) }
    scene.answer(try found(Self.gone))
    for client in clients { #expect(try client.receive().outcome == "http_status cached") }
    #expect(scene.words == ["look #1"])
  }

  @Test func `a redirect of another host's origin is followed`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/b", FleetScene.fresh())
    scene.fleet.plan(try found(.redirect(to: "/b", status: 302, headers: Self.named)))
    #expect(try scene.outcome() == "network")
    #expect(scene.words == ["look #1", "look #2", "store #2"])
    #expect(scene.origin() == 0 && scene.origin("/b") == 1)
    #expect(try scene.outcome() == "memory")
    #expect(scene.words == ["look #1", "look #2", "store #2"])
  }

  @Test(arguments: [true, false])
  func `an answer that was purged since is asked for anew`(isSoft: Bool) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.tellPurge(1, PurgeFilter(), isSoft: isSoft)
    scene.stage.settle()
    scene.fleet.plan(try found(Self.gone))
    #expect(try scene.outcome() == "network")
    #expect(scene.words == ["look #1", "claim #2 for 1", "store #2"])
  }

  @Test func `a purge while it is looked for is heeded`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(nil)
    try scene.begin()
    _ = try scene.stage.connect().ask(#"{"cmd":"purge","id":"p"}"#)
    scene.answer(try found(Self.gone))
    #expect(try scene.stage.client.receive().outcome == "network")
  }

  @Test func `an answer whose time is over is asked for anew`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(try found(Self.gone, age: .seconds(1_001)))
    #expect(try scene.outcome() == "network")
    #expect(scene.words == ["look #1", "claim #2 for 1", "store #2"])
    #expect(scene.fleet.stores.last?.payload.count ?? 0 > 0)
  }

  @Test func `an answer takes the place of an older picture`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    try scene.stage.fetch("/a")
    scene.stage.jump(.seconds(2_000))
    scene.fleet.plan(try found(Self.gone))
    #expect(try scene.outcome() == "http_status cached")
    #expect(try scene.outcome("/a", #""cache":"force-cache""#) == "http_status cached")
    #expect(scene.origin() == 1)
  }

  @Test func `an older answer does not take the place of a picture`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh(1_000))
    try scene.stage.fetch("/a")
    scene.stage.jump(.seconds(1_100))
    let control = [("Cache-Control", "max-age=5000")]
    scene.fleet.plan(try found(.status(404, headers: control), age: .seconds(3_000)))
    #expect(try scene.outcome() == "revalidated")
    #expect(scene.words == ["look #1", "store #1", "look #2", "claim #3 for 1", "store #3"])
  }

  @Test func `a picture that is put while an answer is looked for stays`() throws {
    let scene = try FleetScene("Control.Put=all", "Memory.MaxEntry=500")
    try scene.putDuringLook(thatFinds: try found(Self.gone))
    #expect(try scene.stage.client.receive().outcome == "http_status cached")
    #expect(try scene.stage.ask("/a", #""cache":"only-if-cached""#)["bytes"]?.integer == 900)
  }

  @Test(
    arguments: [
      (200, nil), (500, nil), (403, nil), (200, "http://127.0.0.1:8080/b"), (302, "no URL"), (304, nil),
    ] as [(Int, String?)])
  func `an answer that no host would store is replaced`(status: Int, target: String?) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    var store = FleetPicture(try stored(Self.gone))
    var record = store.record
    (record.status, record.redirectTarget) = (status, target)
    store = FleetPicture(record: record, payload: Payload([]), mark: store.mark, stamp: 1, age: .zero)
    scene.fleet.plan(.found(store))
    #expect(try scene.outcome() == "network")
    #expect(scene.words == ["look #1", "claim #2 for 1", "store #2"] && scene.counts.invalid == 1)
  }

  @Test func `a redirect of a public address leads to no private one`() throws {
    var store = try stored(.redirect(to: "/b", status: 302, headers: Self.named))
    var record = store.record
    record.flags.insert(.publicAddress)
    store = FleetStore(
      serial: 1, record: record, payload: store.payload, age: .zero, begunAgo: .zero, mark: store.mark,
      lifetime: store.lifetime)
    let scene = try FleetScene()
    scene.stage.origin.plan("/b", FleetScene.fresh())
    scene.fleet.plan(.found(FleetPicture(store)))
    _ = try scene.outcome()
    // Such a fetch has a key of its own: it shares no transfer with those that may go anywhere.
    #expect(
      scene.stage.core.parts.pictures.answers.tier.peek(CacheKey(url: try CanonicalURL.parse(record.url)))?
        .isFromPublicAddress == true)
  }
}
