import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Pictures in place of those that cannot be shown.
struct GatewayFallbackTests {
  private static let usual = TestPicture.jpeg(width: 640, height: 480)
  private static let icon = TestPicture.png(bytes: 700)
  private let directory = TemporaryDirectory()

  private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
    let path = directory.path + "/" + name
    try write(bytes, to: path)
    return path
  }

  private func stage(_ settings: String...) throws -> GatewayStage {
    let words = try [file("usual", Self.usual), "icon:" + file("icon", Self.icon)].joined(separator: " ")
    return try GatewayStage(
      ["Allow=127.0.0.1", "Presets=icon wide:64x48:webp", "Fallback=\(words)"] + settings)
  }

  @Test func `it has the status of the failure, and is kept for a minute`() throws {
    let stage = try stage()
    stage.origin.plan("/busy", .status(429))
    for (path, status, text) in [
      ("/missing", 404, "fwd=miss; fwd-status=404; detail=http_status"),
      ("/busy", 503, "fwd=miss; fwd-status=429; detail=http_status"),
    ] {
      let answer = try stage.gateway.fetch(stage.url(path), "", ["If-None-Match: *", "Range: bytes=0-9"])
      #expect(answer.status == status && answer.body == Self.usual, "\(path): \(answer.text.prefix(200))")
      #expect(answer["content-type"] == "image/jpeg" && answer["etag"] != nil && answer["age"] == "0")
      #expect(answer["cache-control"] == "public, max-age=60" && answer["last-modified"] == nil)
      #expect(answer["cache-status"] == "imgd; " + text)
      #expect((answer["retry-after"] != nil) == (status == 503))
    }
    let away = try stage.gateway.fetch("http://127.0.0.1:1/a")
    #expect(away.status == 502 && away.body == Self.usual)
  }

  @Test func `it is shown where a picture takes too long`() throws {
    let stage = try stage("Timeout=1s")
    stage.origin.plan("/hangs", .silence)
    #expect(try stage.gateway.fetch(stage.url("/hangs")).body == Self.usual)
  }

  @Test func `with 200 it is a picture like any other`() throws {
    let stage = try stage("FallbackStatus=200")
    let answer = try stage.gateway.fetch(stage.url("/missing"))
    #expect(answer.status == 200 && answer.body == Self.usual)
    let tag = try #require(answer["etag"])
    #expect(try stage.gateway.fetch(stage.url("/other"), "", ["If-None-Match: \(tag)"]).status == 304)
    let part = try stage.gateway.fetch(stage.url("/missing"), "", ["Range: bytes=0-9"])
    #expect(part.status == 206 && part.body == Array(Self.usual[..<10]))
  }

  @Test func `it comes in the form that was wanted, and presets have their own`() throws {
    let stage = try stage()
    for _ in 0..<2 {
      let small = try stage.gateway.fetch(stage.url("/missing"), "&width=40&format=png")
      #expect(small.status == 404 && small["content-type"] == "image/png")
      let wide = try stage.gateway.fetch(stage.url("/missing"), "&preset=wide")
      #expect(wide.status == 404 && wide["content-type"] == "image/webp")
      #expect(try stage.gateway.fetch(stage.url("/missing"), "&preset=icon").body == Self.icon)
      let path = try stage.gateway.get("/pr:wide:icon/plain/" + stage.url("/missing"))
      #expect(path.status == 404 && path["content-type"] == "image/webp")
    }
    let auto = try stage.gateway.fetch(
      stage.url("/missing"), "&format=auto", ["Accept: image/webp"])
    #expect(auto["content-type"] == "image/webp" && auto["vary"] == "Accept")
  }

  @Test func `many failures hand it in once for each form, and more forms than are kept are made again`() throws {
    let stage = try stage("Workers=1")
    for width in Array(1...20) + [1, 20] {
      for _ in 0..<3 {
        let answer = try stage.gateway.fetch(stage.url("/missing"), "&width=\(width)&format=png")
        #expect(answer.status == 404 && answer["content-type"] == "image/png", "\(width)")
      }
    }
    let stats = try stage.stage.daemon.connect().ask(#"{"cmd":"list"}"#)
    #expect(stats["jobs"]?.array?.isEmpty == true)
  }

  @Test func `what is wrong with the request is said, and facts are not made up`() throws {
    let stage = try stage()
    for (target, status) in [
      ("/fetch?url=x", 400), ("/fetch?url=http://closed.example/", 403), ("/nothing", 404),
      ("/fetch?signature=A&url=http://127.0.0.1/", 400), ("/info?url=" + stage.url("/missing"), 404),
    ] {
      let answer = try stage.gateway.get(target)
      #expect(answer.status == status && answer.code != nil, "\(target)")
    }
    stage.stage.daemon.stop()
    let answer = try stage.gateway.fetch(stage.url("/missing"))
    #expect(answer.status == 503 && answer.code == "unavailable")
  }

  @Test(
    arguments: [
      ("<html>", "an HTML page"), ("", "empty"),
      ("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>", "a drawing"),
    ])
  func `what is no picture keeps the gateway from starting`(text: String, what: String) throws {
    let path = try file("picture", Array(text.utf8))
    let checked = try check(path)
    #expect(checked.code == EX_CONFIG && checked.output.contains("Fallback=\(path) is \(what)"), "\(checked.output)")
  }

  @Test func `what cannot be read, and what is large, keeps it from starting as well`() throws {
    #expect(try check(directory.path).output.contains("cannot be read"))
    #expect(try check(directory.path + "/none").output.contains("cannot be read"))
    let large = try check(file("large", TestPicture.png(bytes: (4 << 20) + 1)))
    #expect(large.code == EX_CONFIG && large.output.contains("more than 4194304 bytes"))
  }

  private func check(_ path: String) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      BuiltProduct.path(of: "imgd-http"),
      ["--config", "/dev/null", "--set", "HTTP-Gateway.Fallback=\(path)", "--check-config"])
  }
}
