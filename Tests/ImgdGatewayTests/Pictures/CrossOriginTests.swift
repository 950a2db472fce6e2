import ImgdTestSupport
import Testing

@testable import ImgdGateway

/// Pictures for scripts of other origins.
struct CrossOriginTests {
  private static let site = "https://a.example"
  private static let other = "https://b.example"
  private static let allowed = "Access-Control-Allow-Origin"

  private func origin(_ name: String) -> [(String, String)] { [("Origin", name)] }

  @Test func `without origins nothing is said of them`() throws {
    let stage = try PictureStage()
    let answer = stage.ask(.get, origin(Self.site))
    #expect(answer.status == 200 && answer[Self.allowed] == nil && answer["Vary"] == nil)
    let preflight = stage.ask(.options, origin(Self.site))
    #expect(preflight.status == 405 && preflight["Allow"] == "GET, HEAD")
    #expect(!stage.handler.answerPreflight(PlannedExchange(.options, origin(Self.site))))
  }

  @Test(arguments: [[], [("Origin", site)], [("Origin", "null")]])
  func `a star stands for all, whoever asks`(sent: [(String, String)]) throws {
    let stage = try PictureStage(cors: ["*"])
    for answer in [stage.ask(.get, sent), stage.ask(.get, sent)] {
      #expect(answer[Self.allowed] == "*" && answer["Vary"] == nil)
      #expect(answer["Access-Control-Expose-Headers"]?.contains("ETag") == true)
    }
  }

  @Test(arguments: [
    [], [("Origin", other)], [("Origin", "null")], [("Origin", site + ":8443")],
    [("Origin", "http://a.example")], [("Origin", "HTTPS://A.EXAMPLE")],
    [("Origin", site), ("Origin", other)], [("Origin", site), ("Origin", site)],
  ])
  func `an origin that is not listed may not read, and caches are told`(
    sent: [(String, String)]
  ) throws {
    let stage = try PictureStage(cors: [Self.site])
    let answer = stage.ask(.get, sent)
    #expect(answer.status == 200 && answer[Self.allowed] == nil && answer["Vary"] == "Origin")
    #expect(answer["Access-Control-Expose-Headers"] == nil)
  }

  @Test func `each listed origin is named to itself alone, also by what is held`() throws {
    let stage = try PictureStage(cors: [Self.site, Self.other])
    for _ in 0..<2 {
      _ = stage.ask { $0.url = "http://h/first" }
      stage.pass(.seconds(2))
    }
    for round in 0..<3 {
      for name in [Self.site, Self.other] {
        let answer = stage.ask(.get, origin(name))
        #expect(answer[Self.allowed] == name && answer["Vary"] == "Origin", "\(round)")
      }
      #expect(stage.ask(.get, origin("https://c.example"))[Self.allowed] == nil)
      #expect(stage.ask()[Self.allowed] == nil)
    }
    #expect(stage.tally.held.count > 0)
    let fetched = stage.daemon.requests("fetch").count
    for number in 0..<50 { _ = stage.ask(.get, origin("https://\(number).example")) }
    #expect(stage.daemon.requests("fetch").count == fetched)
  }

  @Test func `every answer about a picture can be read`() throws {
    let stage = try PictureStage(cors: [Self.site])
    for sent in [
      ("If-None-Match", "*"), ("If-Match", "\"x\""), ("Range", "bytes=900-"),
      ("Range", "bytes=0-1"),
    ] {
      let answer = stage.ask(.get, origin(Self.site) + [sent]) { $0.format = .auto }
      #expect(answer[Self.allowed] == Self.site && answer["Vary"] == "Accept, Origin")
    }
    stage.daemon.close()
    let failed = PlannedExchange(.get, origin(Self.site))
    stage.begin(failed)
    #expect(failed.status == 503 && failed[Self.allowed] == Self.site)
    let refused = PlannedExchange(.get, origin(Self.site))
    stage.handler.refuse(refused, GatewayError(403, "expired", "it was"))
    #expect(refused.status == 403 && refused[Self.allowed] == Self.site)
  }

  @Test func `a browser is told what a script may send`() throws {
    let stage = try PictureStage(cors: [Self.site])
    let known = PlannedExchange(.options, origin(Self.site))
    #expect(stage.handler.answerPreflight(known))
    #expect(known.status == 204 && known[Self.allowed] == Self.site && known["Vary"] == "Origin")
    #expect(known["Access-Control-Allow-Methods"] == "GET, HEAD")
    #expect(known["Access-Control-Allow-Headers"]?.contains("If-None-Match") == true)
    #expect(known["Access-Control-Max-Age"] == "86400")
    let strange = PlannedExchange(.options, origin(Self.other))
    #expect(stage.handler.answerPreflight(strange))
    #expect(strange.status == 204 && strange.answers[0].fields.count == 1)
    #expect(strange["Vary"] == "Origin" && stage.daemon.requests.isEmpty)
    #expect(!stage.handler.answerPreflight(PlannedExchange(.get, origin(Self.site))))
  }
}
