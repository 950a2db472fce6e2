import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdDaemon

/// A header whose name says that it is a credential is one.
struct CredentialNameTests {
  static let names = [
    "Authorization", "Cookie", "X-Api-Key", "apikey", "X-Auth", "X-Auth-Token", "Private-Token",
    "X-Amz-Security-Token", "X-Client-Secret", "X-Goog-AuthUser", "x-functions-KEY",
  ]

  @Test(arguments: names)
  func `a picture for a credential is its user's, and is in memory only`(name: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    let mine = #""headers":{"\#(name)":"mine"}"#
    let line = try stage.ask("/a", mine)
    #expect(line["path"] == .null)
    #expect(line["deliver_note"]?.string?.contains("credentials") == true)
    #expect(try stage.outcome("/a", mine) == "memory")
    #expect(try stage.outcome("/a", mine, on: try stage.connect(as: 4_242)) == "network")
    #expect(try stage.outcome("/a", #""headers":{"\#(name)":"other"}"#) == "network")
    #expect(stage.files.isEmpty)
    #expect(try stage.outcome("/a") == "network")
  }

  @Test func `the operator adds names`() throws {
    let stage = try CoreStage("HTTP.CredentialFields=X-Who, x-sesame")
    stage.origin.plan("/a", .picture(png()))
    for name in ["x-who", "X-Sesame"] {
      let mine = #""headers":{"\#(name)":"1"}"#
      #expect(try stage.ask("/a", mine)["path"] == .null)
      #expect(try stage.outcome("/a", mine, on: try stage.connect(as: 4_242)) == "network")
    }
    #expect(try stage.ask("/a", #""headers":{"X-Else":"1"}"#)["path"]?.string != nil)
    try stage.apply("HTTP.CredentialFields=X-Else")
    #expect(try stage.ask("/a", #""headers":{"X-Else":"1"}"#)["path"] == .null)
  }

  @Test func `another origin that a redirect leads to sees no credentials`() throws {
    let stage = try CoreStage("HTTP.CredentialFields=X-Who")
    stage.origin.plan("/a", .redirect(to: stage.origin.url("/b", host: "other.org")))
    stage.origin.plan("/b", .redirect(to: stage.origin.url("/c")))
    stage.origin.plan("/c", .picture(png()))
    try stage.ask(
      "/a",
      #""headers":{"X-Api-Key":"1","X-Who":"2","Accept-Language":"de","COOKIE":"3","Referer":"r"}"#)
    let names = stage.origin.orders.map { $0.headers.map(\.name) }
    #expect(names.first == ["accept-language", "cookie", "referer", "x-api-key", "x-who"])
    // Not even on the way back: the other origin has chosen it.
    #expect(names.dropFirst().elementsEqual([["accept-language"], ["accept-language"]]))
  }

  @Test func `the same origin sees them again behind its redirect`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b"))
    stage.origin.plan("/b", .picture(png()))
    try stage.ask("/a", #""headers":{"Authorization":"secret","Cookie":"c=1"}"#)
    for path in ["/a", "/b"] {
      let request = try #require(stage.origin.requests(path).first)
      #expect(request.header("authorization") == "secret" && request.header("cookie") == "c=1")
    }
  }

  // MARK: The origin's own secrets

  @Test(arguments: HitTier.allCases)
  func `a cookie that an origin sets is shown to nobody`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .picture(
        png(),
        headers: [
          ("Set-Cookie", "session=1"), ("Set-Cookie2", "session=2"),
          ("Authentication-Info", "nextnonce=3"), ("X-Else", "shown"),
        ]))
    let first = try stage.ask("/a", #""http":true"#)
    try stage.leave(in: tier)
    let second = try stage.ask("/a", #""http":true"#)
    #expect(second.outcome == tier.rawValue)
    for line in [first, second] {
      #expect(line.header("x-else") == "shown")
      for name in ["set-cookie", "set-cookie2", "authentication-info"] {
        #expect(line.header(name) == nil)
      }
    }
  }

  @Test func `a cookie that comes with an error is shown to nobody`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404, headers: [("Set-Cookie", "session=1")]))
    for _ in 0..<2 {
      #expect(try stage.ask("/a", #""http":true"#).header("set-cookie") == nil)
    }
  }
}
