import ImgdWire
import Testing

@testable import ImgdGateway

struct PageAccessTests {
  @Test(arguments: [
    "localhost", "LOCALHOST:8080", "imgd.localhost", "127.0.0.1", "127.9.8.7:80", "[::1]",
    "[::1]:8080", "",
  ])
  func `a request that names this machine is shown the page`(host: String) throws {
    let stage = try PageStage()
    let exchange = StagedExchange("/", .get, [("host", host)])
    #expect(stage.take(exchange) && exchange.status == 200)
  }

  @Test(arguments: [
    "example.org", "localhost.example.org", "notlocalhost", "127.0.0.1.example.org", "127.0.0.256",
    "127.1", "128.0.0.1", "127.0.0.+1", "[::2]", "[::1]evil", "[::1]:port", "localhost:99999",
    "localhost:80:80", "localhost.", "user@localhost", "127.0.0.1:-1", "0.0.0.0",
  ])
  func `a request that names another host is not`(host: String) throws {
    let stage = try PageStage()
    let exchange = StagedExchange("/", .get, [("Host", host)])
    #expect(stage.take(exchange) && exchange.status == 404)
    #expect(exchange.json["error"]?["code"] == "not_found")
    #expect(exchange.text.contains("Page="))
  }

  @Test(arguments: ["X-Forwarded-For", "Forwarded", "x-real-ip", "Via"])
  func `a request that a proxy has forwarded is not`(field: String) throws {
    let stage = try PageStage()
    let exchange = StagedExchange("/", .get, [("Host", "localhost"), (field, "127.0.0.1")])
    #expect(stage.take(exchange) && exchange.status == 404)
  }

  @Test(arguments: ["localhost", "127.0.0.1:8080", "[::1]", ""])
  func `a request from another machine is not, whatever host it names`(host: String) throws {
    let stage = try PageStage()
    for target in ["/", "/metrics", "/events", "/entries"] {
      let exchange = StagedExchange(target, .get, [("Host", host)], from: .network(.v4(1)))
      #expect(stage.take(exchange) && exchange.status == 404)
    }
  }

  @Test func `the metrics are for who has the token as well`() throws {
    for (word, status) in [(PageStage.token, 200), (PageStage.token + "x", 404)] {
      let exchange = StagedExchange(
        "/metrics", .get, [("Host", "h"), ("Authorization", "Bearer \(word)")], from: .network(.v4(1)))
      try PageStage().take(exchange)
      #expect(exchange.status == status)
    }
  }

  @Test func `a request with two hosts is not, and one without is`() throws {
    let stage = try PageStage()
    let two = StagedExchange("/", .get, [("Host", "localhost"), ("Host", "localhost")])
    let none = StagedExchange("/", .get, [])
    stage.take(two)
    stage.take(none)
    #expect(two.status == 404 && none.status == 200)
  }

  @Test func `with Page=all everybody is shown it, and with Page=no nobody`() throws {
    let stranger = [("Host", "example.org"), ("X-Forwarded-For", "192.0.2.1")]
    for (access, status) in [(GatewayConfiguration.PageAccess.all, 200), (.no, 404)] {
      let exchange = StagedExchange("/", .get, stranger)
      try PageStage(access: access).take(exchange)
      #expect(exchange.status == status)
    }
    let local = try PageStage(access: .no).ask("/")
    #expect(local.status == 404)
  }

  @Test(arguments: ["/fetch", "/entries/", "/index.html", "", "//", "/Events"])
  func `other targets are left to others`(target: String) throws {
    let exchange = StagedExchange(target)
    #expect(try !PageStage().take(exchange) && exchange.response == nil)
  }

  @Test(arguments: ["/events", "/entries", "/entry?url=x", "/forms?url=x", "/search?q=x", "/thumbnail?url=x"])
  func `another site cannot use them`(target: String) throws {
    let stage = try PageStage()
    for (site, isRefused) in [("cross-site", true), ("same-site", true), ("same-origin", false)] {
      let exchange = StagedExchange(
        target, .get, [("Host", "localhost"), ("Sec-Fetch-Site", site)])
      stage.take(exchange)
      #expect((exchange.status == 403) == isRefused, "\(site)")
    }
  }

  @Test func `other methods are told which there are`() throws {
    let stage = try PageStage()
    let posted = stage.ask("/", .post)
    #expect(posted.status == 405 && posted.field("Allow") == "GET, HEAD")
    let got = stage.ask("/purge?url=x", .get)
    #expect(got.status == 405 && got.field("Allow") == "POST")
    #expect(stage.ask("/entries", .other).status == 405)
  }

  @Test(arguments: ["/", "/events", "/entries", "/metrics", "/health", "/search", "/favicon.svg"])
  func `nothing can be framed, embedded or guessed at`(target: String) throws {
    let exchange = try PageStage().ask(target)
    #expect(exchange.field("X-Content-Type-Options") == "nosniff")
    #expect(exchange.field("X-Frame-Options") == "DENY")
    #expect(exchange.field("Referrer-Policy") == "no-referrer")
    #expect(exchange.field("Cross-Origin-Resource-Policy") == "same-origin")
    #expect(exchange.field("Cache-Control") == "no-store")
  }
}
