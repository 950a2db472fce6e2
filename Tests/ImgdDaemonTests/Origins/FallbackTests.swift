import ImgdCache
import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdDaemon

/// `Fallback` in a section `[Origin …]`: another server for pictures whose origin is in trouble.
struct FallbackTests {
  private static let rule = "Origin 127.0.0.1.Fallback=https://mirror.example/m{path}"

  @Test(arguments: [
    OriginAnswer.status(503), .status(500), .status(503, headers: [("Retry-After", "60")]), .fails(.connect),
    .fails(.timeout(.firstByte)), .fails(.dns),
  ])
  func `a hundred of a hundred pictures come from the fallback`(trouble: OriginAnswer) throws {
    let stage = try CoreStage(Self.rule)
    for number in 0..<100 {
      stage.origin.plan("/\(number)?x=1", trouble)
      stage.origin.plan("/m/\(number)?x=1", .picture(png()))
      #expect(try stage.fetch("/\(number)?x=1")["source"]?.text == "\"network\"")
    }
    #expect(stage.origin.requests.count == 200)
    #expect(stage.origin.orders.last?.url == "https://mirror.example/m/99?x=1")
    // Stored under the URL that was asked for, alone.
    #expect(try stage.fetch("/5?x=1")["source"]?.text == "\"memory\"")
    try stage.play(
      #"""
      > {"cmd":"query","url":"https://mirror.example/m/5?x=1"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  @Test func `the limits of the fallback's host hold`() throws {
    let stage = try CoreStage(Self.rule, "Origin mirror.example.MaxActive=2", "Origin mirror.example.Bandwidth=1M")
    let gate = Gate()
    for number in 0..<6 {
      stage.origin.plan("/\(number)", .status(503))
      stage.origin.plan("/m/\(number)", .held(at: gate, then: .picture(png())))
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"\#(stage.base)/\#(number)"}"#)
    }
    #expect(stage.origin.requests.filter { $0.path.hasPrefix("/m/") }.map(\.path) == ["/m/0", "/m/1"])
    #expect(stage.origin.orders.filter { $0.throttle != nil }.map(\.url).allSatisfy { $0.contains("mirror.example") })
    #expect(stage.origin.orders.filter { $0.throttle != nil }.count == 2)
    let held = try stage.connect().ask(#"{"cmd":"list"}"#)["jobs"]?.array ?? []
    #expect(held.filter { $0["held"]?.string == "host_places" }.count == 4)
    gate.open()
    for _ in 0..<6 { #expect(try stage.client.receive()["source"]?.string == "network") }
  }

  @Test func `a fallback that wants to be left alone is`() throws {
    let stage = try CoreStage(Self.rule)
    for path in ["/1", "/2"] { stage.origin.plan(path, .status(503)) }
    stage.origin.plan("/m/1", .status(503, headers: [("Retry-After", "20")]))
    stage.origin.plan("/m/2", .picture(png()))
    try stage.play(#"> {"cmd":"fetch","url":"ORIGIN/1"}"# + "\n" + #"< {"ok":false}"#)
    try stage.begin(#"{"cmd":"fetch","url":"\#(stage.base)/2"}"#)
    #expect(stage.origin.count("/m/2") == 0)
    stage.pass(.seconds(21))
    #expect(stage.origin.count("/m/2") == 1)
  }

  @Test func `who leaves while a fallback is waited for takes nobody's place`() throws {
    let stage = try CoreStage(Self.rule, "Origin mirror.example.MaxActive=1")
    let gate = Gate()
    for path in ["/1", "/2"] {
      stage.origin.plan(path, .status(503))
      stage.origin.plan("/m" + path, .held(at: gate, then: .picture(png())))
    }
    try stage.begin(#"{"cmd":"fetch","url":"\#(stage.base)/1"}"#)
    let (first, second) = (try stage.connect(), try stage.connect())
    try first.send(#"{"cmd":"fetch","url":"\#(stage.base)/2","tags":["first"]}"#)
    try second.send(#"{"cmd":"fetch","url":"\#(stage.base)/2"}"#)
    stage.settle()
    #expect(stage.origin.count("/m/2") == 0)
    try first.send(#"{"cmd":"cancel","tag":"first"}"#)
    stage.settle()
    gate.open()
    let line = try second.receive()
    #expect(line["source"]?.string == "network", "\(line.text)")
  }

  @Test(arguments: [404, 410, 403, 429])
  func `an origin that has answered is not replaced`(status: Int) throws {
    let stage = try CoreStage(Self.rule)
    stage.origin.plan("/a", .status(status))
    stage.origin.plan("/m/a", .picture(png()))
    try stage.play(#"> {"cmd":"fetch","url":"ORIGIN/a"}"# + "\n" + #"< {"ok":false}"#)
    #expect(stage.origin.count("/m/a") == 0)
  }

  @Test func `without a picture from the fallback the failure is the origin's`() throws {
    let stage = try CoreStage(Self.rule)
    let answers: [OriginAnswer] = [
      .status(404), .redirect(to: "https://elsewhere.example/"), .body(Array("<html>".utf8)), .fails(.connect),
    ]
    for (number, answer) in answers.enumerated() {
      stage.origin.plan("/\(number)", .status(500))
      stage.origin.plan("/m/\(number)", answer)
      try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/\#(number)"}
        < {"ok":false,"error":{"code":"http_status","details":{"status":500}}}
        """#)
      #expect(stage.origin.requests.count == 2 * (number + 1))
    }
  }

  @Test func `a fallback gets no credentials, and confirms nothing`() throws {
    let stage = try CoreStage(Self.rule)
    let tagged = OriginAnswer.conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0")])
    stage.origin.plan("/a", tagged, .status(500))
    stage.origin.plan("/m/a", .picture(png(2_000)))
    let fetch = #"{"cmd":"fetch","url":"ORIGIN/a","headers":{"Authorization":"Bearer x","Referer":"r","X-A":"b"}}"#
    for bytes in [1_000, 2_000] {
      try stage.play("> \(fetch)\n" + #"< {"ok":true,"bytes":\#(bytes)}"#)
    }
    #expect(stage.origin.orders.last?.headers == [HeaderField("x-a", "b")])
  }

  @Test func `parameters that are not part of the key are not for the fallback`() throws {
    let stage = try CoreStage(Self.rule, "Origin 127.0.0.1.Key=without sig")
    stage.origin.plan("/a?sig=secret&b=1", .status(500))
    stage.origin.plan("/m/a?b=1", .picture(png()))
    #expect(try stage.fetch("/a?sig=secret&b=1")["source"]?.text == "\"network\"")
  }

  @Test(arguments: [
    "https://m.example", "https://m.example{path}{path}", "m.example{path}", "ftp://m.example{path}", "{path}",
    "https://m.example/{query}",
  ])
  func `what is no URL with a place for a path is refused`(text: String) { #expect(FallbackURL(text) == nil) }

  @Test func `path and query take their place`() throws {
    let url = try CanonicalURL.parse("http://a.example:81/p/q?r=s")
    for (text, expected) in [
      ("https://m.example{path}", "https://m.example/p/q?r=s"),
      ("http://m.example:81/x{path}", "http://m.example:81/x/p/q?r=s"),
      ("https://m.example/get?u={path}&v=1", "https://m.example/get?u=/p/q?r=s&v=1"),
    ] {
      #expect(try #require(FallbackURL(text)).url(for: url)?.text == expected)
    }
  }
}
