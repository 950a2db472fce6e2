import Glibc
import ImgdTestSupport
import Testing

/// Requests that get no picture, and why.
struct GatewayRefusalTests {
  @Test func `nothing is open by default`() throws {
    let stage = try GatewayStage([])
    stage.origin.plan("/a.png", .picture(TestPicture.png(bytes: 500)))
    let answer = try stage.gateway.fetch(stage.url("/a.png"))
    #expect(answer.status == 403 && answer.code == "not_allowed")
    #expect(stage.origin.count("/a.png") == 0)
  }

  @Test func `each failure has its status`() throws {
    let stage = try GatewayStage()
    stage.origin.plan("/gone", .status(410))
    stage.origin.plan("/closed", .status(403))
    stage.origin.plan("/broken", .status(500))
    stage.origin.plan("/page", .picture(Array("<html>".utf8)))
    stage.origin.plan(
      "/drawing", .picture(Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)))
    stage.origin.plan("/cut", .stalls(TestPicture.png(bytes: 5_000), after: 100))
    for (path, status, code) in [
      ("/missing", 404, "http_status"), ("/gone", 410, "http_status"),
      ("/closed", 403, "http_status"), ("/broken", 502, "http_status"),
      ("/page", 422, "not_an_image"), ("/drawing", 422, "not_an_image"),
    ] {
      let answer = try stage.gateway.fetch(stage.url(path))
      #expect(answer.status == status && answer.code == code, "\(path): \(answer.text)")
      #expect(answer["content-type"] == "application/json")
      #expect(answer["cache-control"] == "no-store")
    }
    #expect(try stage.gateway.fetch("http://127.0.0.1:1/a").status == 502)
    #expect(try stage.gateway.fetch("http://example.org/a").status == 403)
    #expect(try stage.gateway.get("/nothing").status == 404)
    let post = try stage.gateway.get("/fetch?url=http://127.0.0.1/", method: "POST")
    #expect(post.status == 405 && post["allow"]?.contains("GET") == true)
  }

  @Test func `a picture that takes too long is a timeout`() throws {
    let stage = try GatewayStage(["Allow=127.0.0.1", "Timeout=100ms"])
    stage.origin.plan("/hangs", .silence)
    let answer = try stage.gateway.fetch(stage.url("/hangs"))
    #expect(answer.status == 504 && answer.code == "timeout")
  }

  @Test func `a wrong signature is refused, whatever the host`() throws {
    let directory = TemporaryDirectory()
    let file = directory.path + "/key"
    try write("0123456789abcdef\n", to: file)
    chmod(file, 0o600)
    let stage = try GatewayStage(["Allow=127.0.0.1", "KeyFile=\(file)"])
    stage.origin.plan("/a.png", .picture(TestPicture.png(bytes: 500)))
    #expect(try stage.gateway.fetch(stage.url("/a.png")).status == 200)
    let answer = try stage.gateway.fetch(stage.url("/a.png"), "&signature=AAAA")
    #expect(answer.status == 403 && answer.code == "bad_signature")
  }

  @Test func `an address behind a proxy has a share and no more`() throws {
    let stage = try GatewayStage(["Allow=127.0.0.1", "MaxPerAddress=1"])
    let gate = Gate()
    let picture = TestPicture.png(bytes: 500)
    stage.origin.plan("/a", .held(at: gate, then: .picture(picture)))
    stage.origin.plan("/b", .picture(picture))
    let slow = try HTTPConversation(stage.gateway.socket)
    try slow.send("/fetch?url=" + stage.url("/a"), ["X-Forwarded-For: 192.0.2.9, 192.0.2.1"])
    #expect(gate.waitUntilReached())
    let (same, other) = (["X-Forwarded-For: 192.0.2.1"], ["X-Forwarded-For: 192.0.2.2"])
    let refused = try stage.gateway.fetch(stage.url("/b"), "", same)
    #expect(refused.status == 429 && refused["retry-after"] == "1")
    #expect(try stage.gateway.fetch(stage.url("/b"), "", other).status == 200)
    #expect(try stage.gateway.fetch(stage.url("/b")).status == 200)
    gate.open()
    #expect(try slow.answer().status == 200)
    #expect(try stage.gateway.fetch(stage.url("/b"), "", same).status == 200)
  }

  @Test func `the daemon may go and come again`() throws {
    let stage = try GatewayStage()
    stage.origin.plan("/a.png", .picture(TestPicture.png(bytes: 500)))
    #expect(try stage.gateway.fetch(stage.url("/a.png")).status == 200)
    stage.stage.daemon.stop()
    let answer = try stage.gateway.fetch(stage.url("/a.png"), "&width=10")
    #expect(answer.status == 503 && answer["retry-after"] != nil)
    #expect(try stage.gateway.get("/health").status == 503)
    try stage.stage.restart()
    #expect(try stage.gateway.fetch(stage.url("/a.png"), "&width=10").status == 200)
    #expect(try stage.gateway.get("/health").status == 200)
  }
}
