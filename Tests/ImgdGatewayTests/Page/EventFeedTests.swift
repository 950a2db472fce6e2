import ImgdConnection
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

struct EventFeedTests {
  private func event(_ bytes: [UInt8]) throws -> (name: String, data: JSONValue) {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    let name = try #require(lines.first { $0.hasPrefix("event: ") }).dropFirst(7)
    let data = try #require(lines.first { $0.hasPrefix("data: ") }).dropFirst(6)
    #expect(String(decoding: bytes.suffix(2), as: UTF8.self) == "\n\n")
    return (String(name), try JSONValue(parsing: String(data)))
  }

  private func list(_ job: String, cursor: String = "null") throws -> Reply {
    try Reply(Array(#"{"ok":true,"jobs":[\#(job)],"cursor":\#(cursor)}"#.utf8), from: "test")
  }

  private func statistics(_ fields: String = PageStage.statistics) throws -> DaemonStatistics {
    DaemonStatistics(
      reply: try Reply(Array("{\"ok\":true,\(fields)}".utf8), from: "test"),
      moment: Instant(nanoseconds: 0))
  }

  @Test func `a look has a sample, the counters and the fetches`() throws {
    var history = TrafficHistory()
    history.add(try statistics(), at: 1_000)
    let fetches = try list(
      #"{"url":"http://a/\u000ab","receipt":"r","received":5,"expected":null}"#)
    let (name, data) = try event(
      EventFrame.look(try statistics(), history, fetches: fetches, failures: try list(""), purges: true))
    #expect(name == "look" && data["sample"] == [1_000, 9, 8, 10, 500])
    #expect(data["purges"] == true && data["stats"]?["memory"]?["hits"] == 7)
    #expect(data["fetches"]?[0]?["url"] == "http://a/\nb")
    #expect(data["fetches"]?[0]?["expected"] == .null)
    #expect(data["more"] == false)
  }

  @Test func `a look says whether there are more fetches than it has`() throws {
    let fetches = try list(#"{"url":"http://a/b","receipt":"r"}"#, cursor: #""1""#)
    let (_, data) = try event(
      EventFrame.look(try statistics(), TrafficHistory(), fetches: fetches, failures: try list(""), purges: true))
    #expect(data["more"] == true)
  }

  @Test func `a look has the latest failures`() throws {
    let failure = #"{"url":"http://a/","code":"dns","message":"none","times":2,"last":"t","uid":7,"path":"/secret"}"#
    let failures = try Reply(Array(#"{"ok":true,"failures":[\#(failure)]}"#.utf8), from: "test")
    let (_, data) = try event(
      EventFrame.look(try statistics(), TrafficHistory(), fetches: try list(""), failures: failures, purges: true))
    #expect(
      data["failures"]
        == [["url": "http://a/", "code": "dns", "message": "none", "last": "t", "status": .null, "times": 2]])
  }

  @Test func `a request that joined a download is one from the cache`() throws {
    var history = TrafficHistory()
    history.add(
      try statistics(
        #""memory":{"hits":7,"misses":3,"coalesced":2},"disk":{"hits":0,"misses":3},"process":{"pid":9}"#
      ), at: 1_000)
    let (_, data) = try event(EventFrame.history(history))
    #expect(data[0] == [1_000, 9, 9, 10, 0])
  }

  @Test func `a stream begins with five minutes at most`() throws {
    var history = TrafficHistory()
    for second in 0..<400 { history.add(try statistics(), at: second) }
    let (name, data) = try event(EventFrame.history(history))
    #expect(name == "history" && data.array?.count == 300)
    #expect(data[0]?[0] == 100 && data[299]?[0] == 399)
    history.add(try statistics(), at: 300_200)
    let (_, later) = try event(EventFrame.history(history))
    #expect(later.array?.count == 201 && later[0]?[0] == 200)
  }

  @Test func `a long URL is cut off`() throws {
    let url = "http://a/" + String(repeating: "é", count: 4_000)
    let bytes = EventFrame.look(
      try statistics(), TrafficHistory(), fetches: try list(#"{"url":"\#(url)"}"#), failures: try list(""),
      purges: false)
    #expect(bytes.count < 1_500)
  }

  @Test func `all viewers share one look a second`() throws {
    let stage = try PageStage()
    let viewers = (0..<3).map { _ in stage.ask("/events") }
    #expect(viewers[0].field("Content-Type") == "text/event-stream")
    #expect(stage.daemon.commands == ["stats", "list", "failures"])
    for _ in 0..<5 { stage.advance(by: .seconds(1)) }
    #expect(stage.daemon.commands.count == 18)
    let unsent = viewers.map { $0.stream?.unsent ?? 0 }
    #expect(unsent.allSatisfy { $0 > 500 })
  }

  @Test func `while nobody watches, the counters alone are asked for every five seconds`() throws {
    let stage = try PageStage()
    stage.handler.gatherPast()
    for _ in 0..<10 { stage.advance(by: .seconds(1)) }
    #expect(stage.daemon.commands == ["stats", "stats", "stats"])
    let viewer = stage.ask("/events")
    #expect(stage.daemon.commands.suffix(3) == ["stats", "list", "failures"])
    viewer.stream?.finish()
    for _ in 0..<10 { stage.advance(by: .seconds(1)) }
    #expect(stage.daemon.commands.suffix(3) == ["failures", "stats", "stats"])
  }

  @Test func `a page that is opened gets the past`() throws {
    let stage = try PageStage()
    stage.handler.gatherPast()
    stage.loop.settle()
    for _ in 0..<4 { stage.advance(by: .seconds(5)) }
    let viewer = stage.ask("/events")
    let first = String(decoding: viewer.stream?.waiting ?? [], as: UTF8.self)
    let history = try #require(first.split(separator: "\n").first { $0.hasPrefix("data: ") })
    #expect(try JSONValue(parsing: String(history.dropFirst(6))).array?.count == 5)
  }

  @Test func `nothing is gathered for a page that nobody can open`() throws {
    let stage = try PageStage(access: .no)
    stage.handler.gatherPast()
    stage.advance(by: .seconds(5))
    #expect(stage.daemon.requests.isEmpty)
  }

  @Test func `so many may watch, and one more when one has gone`() throws {
    let stage = try PageStage()
    let viewers = (0..<32).map { _ in stage.ask("/events") }
    #expect(viewers.allSatisfy { $0.status == 200 })
    #expect(stage.ask("/events").status == 503)
    viewers[7].stream?.finish()
    #expect(stage.ask("/events").status == 200)
  }

  @Test func `a viewer that reads nothing holds little`() throws {
    let stage = try PageStage()
    let viewer = stage.ask("/events")
    for _ in 0..<2_000 { stage.advance(by: .seconds(1)) }
    let unsent = viewer.stream?.unsent ?? 0
    #expect(unsent > 100_000 && unsent < 160_000)
  }

  @Test func `a daemon that refuses is told of, and asked again`() throws {
    var isReady = false
    let stage = try PageStage { request in
      isReady ? PageStage.plain(request) : .refusal("shutting_down")
    }
    let viewer = stage.ask("/events")
    let before = viewer.stream?.unsent ?? 0
    isReady = true
    stage.advance(by: .seconds(1))
    #expect(stage.daemon.commands == ["stats", "stats", "list", "failures"])
    #expect((viewer.stream?.unsent ?? 0) > before)
  }

  @Test func `a request for the head alone opens no stream`() throws {
    let stage = try PageStage()
    let exchange = stage.ask("/events", .head)
    #expect(exchange.status == 200 && exchange.stream == nil && stage.daemon.requests.isEmpty)
  }
}
