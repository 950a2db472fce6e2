import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// `MaxActive`, `Rate` and `MinFresh` in a section `[Origin …]`.
struct OriginLimitTests {
  @Test func `a rate holds back its host alone`() throws {
    let stage = try CoreStage("Origin 127.0.0.1.Rate=10/s", "Origin 127.0.0.1.MaxActive=50")
    for number in 0..<200 {
      stage.origin.plan("/\(number)", .picture(png()))
      let url = "http://127.0.0.1:8080/\(number)"
      try stage.client.send(#"{"cmd":"fetch","id":\#(number),"url":"\#(url)","deliver":"none"}"#)
    }
    let start = stage.now
    let other = try stage.connect()
    stage.origin.plan("/other", .picture(png()))
    let url = stage.origin.url("/other", host: "other.example")
    #expect(try other.ask(#"{"cmd":"fetch","url":"\#(url)"}"#)["source"]?.text == "\"network\"")
    #expect(stage.now == start)
    while stage.origin.requests.count < 201, stage.now - start < .seconds(60) { stage.pass(.milliseconds(50)) }
    let seconds = (stage.now - start).milliseconds
    #expect((19_000...21_000).contains(seconds), "\(seconds) ms")
  }

  @Test func `a section has places of its own for each host`() throws {
    let stage = try CoreStage("Origin *.example.MaxActive=1")
    let gate = Gate()
    for path in ["/1", "/2", "/3", "/4"] { stage.origin.plan(path, .held(at: gate, then: .picture(png()))) }
    for (path, host) in [("/1", "a.example"), ("/2", "a.example"), ("/3", "b.example"), ("/4", "b.example")] {
      try stage.begin(#"{"cmd":"fetch","url":"\#(stage.origin.url(path, host: host))"}"#)
    }
    #expect(stage.origin.requests.map(\.path) == ["/1", "/3"])
    try stage.apply("Origin *.example.MaxActive=2")
    #expect(stage.origin.requests.map(\.path) == ["/1", "/3", "/2", "/4"])
    gate.open()
  }

  @Test(arguments: [
    ("no-cache", "memory"), ("max-age=0", "memory"), ("max-age=0, must-revalidate", "memory"), ("no-store", "network"),
    ("private", "network"), ("private, max-age=60", "network"),
  ])
  func `a least lifetime yields to what forbids storing alone`(control: String, source: String) throws {
    let stage = try CoreStage("Origin 127.0.0.1.MinFresh=1d")
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", control)]))
    try stage.fetch("/a")
    stage.jump(.seconds(86_399))
    #expect(try stage.fetch("/a")["source"]?.text == "\"\(source)\"")
    guard source == "memory" else { return }
    stage.jump(.seconds(2))
    #expect(try stage.fetch("/a")["source"]?.text != "\"memory\"")
  }

  @Test func `a longer lifetime stays, and a failure is not kept longer`() throws {
    let stage = try CoreStage("Origin 127.0.0.1.MinFresh=1h")
    stage.origin.plan("/a", .picture(png(), headers: [("Cache-Control", "max-age=7200")]))
    stage.origin.plan("/b", .status(404))
    try stage.fetch("/a")
    #expect(try stage.fetch("/a")["fresh_for"]?.integer == 7_200)
    for _ in 0..<2 {
      try stage.play(
        #"> {"cmd":"fetch","url":"ORIGIN/b"}"# + "\n"
          + #"< {"ok":false,"error":{"code":"http_status","details":{"status":404}}}"#)
      stage.jump(.seconds(61))
    }
    #expect(stage.origin.count("/b") == 2)
  }
}
