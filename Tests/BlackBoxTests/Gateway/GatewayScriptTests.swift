import ImgdTestSupport
import Testing

/// Pictures that scripts of other sites read.
struct GatewayScriptTests {
  private static let site = "https://a.example"
  private let stage: GatewayStage

  init() throws {
    stage = try GatewayStage(["Allow=127.0.0.1", "Cors=\(Self.site)", "Page=all"])
    stage.origin.plan(
      "/a.png", .picture(TestPicture.png(bytes: 500), headers: [("Cache-Control", "max-age=600")]))
  }

  private func permission(_ answer: HTTPAnswer) -> String? { answer["access-control-allow-origin"] }

  @Test func `those of a listed origin may, and no others`() throws {
    for _ in 0..<3 {
      for origin in [Self.site, "https://b.example"] {
        let answer = try stage.gateway.fetch(stage.url("/a.png"), "", ["Origin: \(origin)"])
        #expect(answer.status == 200 && answer["vary"] == "Origin")
        #expect(permission(answer) == (origin == Self.site ? origin : nil))
      }
      #expect(try permission(stage.gateway.fetch(stage.url("/a.png"))) == nil)
    }
  }

  @Test func `errors are read as well, and what is no picture is not`() throws {
    let origin = ["Origin: \(Self.site)"]
    for (target, status) in [
      ("/fetch?url=" + stage.url("/missing"), 404), ("/fetch?url=http://closed.example/", 403),
      ("/fetch?url=x", 400), ("/w:x/plain/http://127.0.0.1/a", 400),
    ] {
      let answer = try stage.gateway.get(target, origin)
      #expect(answer.status == status && permission(answer) == Self.site, "\(target)")
    }
    for target in ["/", "/health", "/metrics", "/entries", "/search?q=a", "/purge?url=x", "/entry"] {
      #expect(try permission(stage.gateway.get(target, origin)) == nil, "\(target)")
      #expect(try stage.gateway.get(target, origin, method: "OPTIONS").status == 405, "\(target)")
    }
  }

  @Test func `a browser may ask first`() throws {
    let connection = try HTTPConversation(stage.gateway.socket)
    let target = "/fetch?url=" + stage.url("/a.png")
    try connection.send(
      target, ["Origin: \(Self.site)", "Access-Control-Request-Method: GET"], method: "OPTIONS")
    let answer = try connection.answer(isHead: true)
    #expect(answer.status == 204 && permission(answer) == Self.site)
    #expect(answer["content-length"] == nil && answer["access-control-max-age"] != nil)
    try connection.send(target)
    #expect(try connection.answer().status == 200)
    #expect(try stage.gateway.get("/nothing", method: "OPTIONS").status == 404)
    #expect(try stage.gateway.get("/fetch?url=x", method: "OPTIONS").status == 400)
    let closed = try GatewayStage().gateway.get(target, method: "OPTIONS")
    #expect(closed.status == 405)
  }
}
