import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

struct PageRoutesTests {
  @Test func `the policy of the page has the digests of its script and its style`() throws {
    let document = PageDocument(
      Array("<style>a{}</style><p>x</p><script>\"use strict\"</script>".utf8))
    // Computed by another program.
    #expect(
      document.policy.contains("style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='"))
    #expect(
      document.policy.contains("script-src 'sha256-TuGI4XRMGYFulaVAsmUO2fAz6gNx506sjnFzVc/Kh0E='"))
    let page = try PageStage().ask("/")
    let policy = page.field("Content-Security-Policy") ?? ""
    for part in [
      "default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "img-src 'self'",
      "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ] {
      #expect(policy.contains(part), "\(part)")
    }
    #expect(!policy.contains("unsafe") && !policy.contains("data:"))
  }

  @Test func `the page needs nothing from elsewhere`() throws {
    let page = try PageStage().ask("/").text
    #expect(page.hasPrefix("<!doctype html>"))
    for part in ["innerHTML", "http://", " style=", " onclick=", "eval("] {
      let places = page.split(separator: part).dropFirst()
      // The name of a kind of document is no address.
      let others = places.filter { !$0.hasPrefix("www.w3.org/2000/svg") }
      #expect(others.isEmpty, "\(part)")
    }
  }

  @Test func `a thumbnail is of what is in the cache, and leaves that as it is`() throws {
    let stage = try PageStage { _ in
      StagedDaemon.Answer(
        #""type":"image/webp","bytes":3,"fds":[{"kind":"encoded","bytes":3,"checksum":"00ff"}]"#,
        picture: [1, 2, 3])
    }
    let exchange = stage.ask("/thumbnail?url=https%3A%2F%2Fexample.org%2Fa+b")
    let request = try #require(stage.daemon.requests.first)
    #expect(request["url"] == "https://example.org/a b")
    #expect(request["cache"] == "peek" && request["resize"]?["fit"] == "cover")
    #expect(exchange.status == 200 && exchange.field("Content-Type") == "image/webp")
    #expect(exchange.field("ETag") == "\"00ff\"")
    guard case .file(let range) = exchange.response?.body else {
      return #expect(Bool(false), "no file")
    }
    #expect(range == 0..<3)
    let again = StagedExchange(
      "/thumbnail?url=x", .get, [("Host", "localhost"), ("If-None-Match", "\"00ff\"")])
    stage.take(again)
    #expect(again.status == 304)
  }

  @Test func `the whole picture is shown small, and as it is in the cache`() throws {
    let stage = try PageStage { _ in
      StagedDaemon.Answer(#""type":"image/tiff","bytes":3,"fds":[{}]"#, picture: [1, 2, 3])
    }
    #expect(stage.ask("/preview?url=x").status == 200)
    #expect(stage.ask("/cached?url=x").field("Content-Type") == "image/tiff")
    #expect(stage.daemon.requests.allSatisfy { $0["cache"] == "peek" })
    #expect(stage.daemon.requests[0]["resize"] == ["width": 640, "height": 640])
    #expect(stage.daemon.requests[1]["resize"] == nil && stage.daemon.requests[1]["format"] == nil)
  }

  @Test func `a picture that is not cached has no thumbnail`() throws {
    let exchange = try PageStage { _ in .refusal("not_cached") }.ask("/thumbnail?url=x")
    #expect(exchange.status == 404 && exchange.json["error"]?["code"] == "not_cached")
  }

  @Test(arguments: [
    "/thumbnail", "/thumbnail?", "/thumbnail?url=", "/thumbnail?url=a&url=b", "/thumbnail?link=x",
    "/thumbnail?url=%2", "/thumbnail?url=%zz", "/thumbnail?url=%00", "/thumbnail?url=%ff",
    "/search?url=x", "/entry", "/search?q=" + String(repeating: "a", count: 8_193),
  ])
  func `a parameter that is missing or wrong is named`(target: String) throws {
    let stage = try PageStage()
    let exchange = stage.ask(target)
    #expect(exchange.status == 400 && exchange.json["error"]?["code"] == "bad_request")
    #expect(["url", "q"].contains(exchange.json["error"]?["field"]?.string))
    #expect(stage.daemon.requests.isEmpty)
  }

  @Test func `one picture is described without the place of its file`() throws {
    let exchange = try PageStage { _ in
      .init(#""tier":"disk","format":"png","width":2,"height":3,"path":"/secret","tags":["t"]"#)
    }.ask("/entry?url=x")
    #expect(exchange.json["entry"]?["tier"] == "disk")
    #expect(exchange.json["entry"]?["tags"]?[0] == "t")
    #expect(!exchange.text.contains("secret"))
  }

  @Test func `a search looks in both tiers, page by page, and shows a picture once`() throws {
    let stage = try PageStage { request in
      let isFirst = request["tier"] == "disk" && request["cursor"] == nil
      return .init(
        #""entries":[{"url":"https://example.org/a","format":"png"}],"cursor":\#(isFirst ? "\"7\"" : "null")"#)
    }
    let exchange = stage.ask("/search?q=ample.org%2FA")
    let asked = stage.daemon.requests.map { request in
      ["tier", "cursor", "contains"].map { request[$0]?.string ?? "-" }
    }
    #expect(asked == [["disk", "-", "ample.org/A"], ["disk", "7", "ample.org/A"], ["-", "-", "ample.org/A"]])
    #expect(exchange.json["entries"]?.array?.count == 1 && exchange.json["more"] == false)
  }

  @Test func `a search in which nothing new is found ends as well`() throws {
    let stage = try PageStage { _ in .init(#""entries":[{"url":"https://example.org/a"}],"cursor":"1""#) }
    let exchange = stage.ask("/search?q=a")
    #expect(exchange.json["entries"]?.array?.count == 1 && exchange.json["more"] == true)
    #expect(stage.daemon.requests.count == 8)
  }

  @Test func `all that is stored under a URL is listed with its tier`() throws {
    let stage = try PageStage { request in
      .init(#""entries":[{"url":"\#(request["url"]?.string ?? "")","width":7,"path":"/secret"}],"cursor":null"#)
    }
    let exchange = stage.ask("/forms?url=http%3A%2F%2Fa%2Fb")
    #expect(exchange.json["entries"]?.array?.map { $0["tier"] } == ["disk", "memory"])
    #expect(exchange.json["entries"]?[0]?["url"] == "http://a/b" && !exchange.text.contains("secret"))
  }

  @Test func `a search ends when it has enough`() throws {
    let many = (0..<120).map { #"{"url":"https://example.org/\#($0)"}"# }.joined(separator: ",")
    let stage = try PageStage { _ in .init(#""entries":[\#(many)],"cursor":"120""#) }
    let exchange = stage.ask("/search?q=https%3A%2F%2Fexample.org")
    #expect(exchange.json["entries"]?.array?.count == 100 && exchange.json["more"] == true)
    #expect(stage.daemon.requests.count == 1)
  }

  @Test func `health is for everybody, and tells nobody about the socket`() throws {
    let stranger = StagedExchange("/health", .get, [("Host", "example.org")])
    try PageStage(access: .no).take(stranger)
    #expect(stranger.status == 200 && stranger.json == ["status": "ok"])
    let ill = StagedExchange("/health", .get, [("Host", "example.org")])
    try PageStage(access: .no) { _ in .refusal("shutting_down") }.take(ill)
    #expect(ill.status == 503 && ill.field("Retry-After") == "1" && !ill.text.contains("/"))
  }

  @Test func `a process is live without its daemon, and ready with it until it is about to stop`() throws {
    let stranger = { (target: String) in
      StagedExchange(target, .get, [("Host", "example.org")], from: .network(.v4(1)))
    }
    let (live, unready) = (stranger("/health/live"), stranger("/health/ready"))
    let ill = try PageStage(access: .no) { _ in .refusal("shutting_down") }
    ill.take(live)
    ill.take(unready)
    #expect(live.status == 200 && live.json == ["status": "ok"] && unready.status == 503)
    let (ready, leaving, alive) = (stranger("/health/ready"), stranger("/health/ready"), stranger("/health/live"))
    let stage = try PageStage(access: .no)
    stage.take(ready)
    stage.handler.isLeaving = true
    stage.take(leaving)
    stage.take(alive)
    #expect(ready.status == 200 && ready.json == ["status": "ok"])
    #expect(leaving.status == 503 && leaving.field("Retry-After") == "1" && alive.status == 200)
  }

  @Test func `the metrics are the daemon's, and those of the gateway`() throws {
    let exchange = try PageStage().ask("/metrics")
    #expect(exchange.field("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
    let lines = exchange.text.split(separator: "\n", omittingEmptySubsequences: false)
    for line in [
      #"imgd_cache_hits_total{tier="memory"} 7"#, "imgd_up 1", "imgd_http_connections 0",
      #"imgd_http_requests_total{code="2xx"} 0"#, "# TYPE imgd_http_requests_total counter",
    ] {
      #expect(lines.contains(Substring(line)), "\(line)")
    }
    #expect(exchange.text.hasSuffix("\n") && !exchange.text.hasSuffix("\n\n"))
  }

  @Test func `without a daemon the metrics say so`() throws {
    let exchange = try PageStage { _ in .refusal("shutting_down") }.ask("/metrics")
    #expect(exchange.status == 200 && exchange.text.contains("\nimgd_up 0\n"))
    #expect(!exchange.text.contains("imgd_cache_hits_total"))
  }

  @Test(arguments: ["/health", "/metrics", "/search?q=h", "/entry?url=http://h/a"])
  func `a daemon that is silent is given up`(target: String) throws {
    let stage = try PageStage { _ in .silence }
    let exchange = stage.ask(target)
    #expect(exchange.response == nil)
    stage.advance(by: .seconds(6))
    #expect(exchange.status == (target == "/metrics" ? 200 : 503))
    #expect(target == "/metrics" || exchange.field("Retry-After") == "1")
  }
}
