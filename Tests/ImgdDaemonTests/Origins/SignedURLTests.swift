import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// `Key` in a section `[Origin …]`: many URLs of one object.
struct SignedURLTests {
  private static let rule = "Origin 127.0.0.1.Key=without sig"

  @Test func `a thousand signatures are one transfer`() throws {
    let stage = try CoreStage(Self.rule)
    stage.origin.plan("/a?sig=0", .picture(png()))
    for signature in 0..<1_000 {
      let answer = try stage.fetch("/a?sig=\(signature)")
      #expect(answer["source"]?.text == (signature == 0 ? "\"network\"" : "\"memory\""))
      #expect(answer["url"]?.text == "\"\(stage.base)/a?sig=\(signature)\"")
    }
    #expect(stage.origin.requests.count == 1)
    #expect(try stage.stats("memory", "hits") == 999)
    #expect(try stage.stats("memory", "entries") == 1)
    // The URL of the key can be asked for itself.
    #expect(try stage.fetch("/a")["source"]?.text == "\"memory\"")
    try stage.restart()
    #expect(try stage.fetch("/a?sig=x")["source"]?.text == "\"disk\"")
  }

  @Test func `without a section every URL is another object`() throws {
    let stage = try CoreStage()
    for signature in 0..<3 {
      stage.origin.plan("/a?sig=\(signature)", .picture(png()))
      try stage.fetch("/a?sig=\(signature)")
    }
    #expect(stage.origin.requests.count == 3)
  }

  @Test func `every URL of a key means its entry`() throws {
    let stage = try CoreStage(Self.rule)
    stage.origin.plan("/a?sig=1", .picture(png()))
    try stage.fetch("/a?sig=1")
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a?sig=2"}
      < {"ok":true,"tier":"memory","url":"ORIGIN/a"}
      > {"cmd":"entries","prefix":"ORIGIN/a"}
      < {"ok":true,"entries":[{"url":"ORIGIN/a"}]}
      > {"cmd":"purge","url":"ORIGIN/a?sig=3"}
      < {"ok":true,"removed":true,"memory":{"entries":1},"disk":{"entries":1}}
      > {"cmd":"query","url":"ORIGIN/a?sig=1"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  @Test func `a download that waits goes with the newest URL`() throws {
    let stage = try CoreStage(Self.rule, "Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/first", .held(at: gate, then: .picture(png())))
    stage.origin.plan("/a?sig=2", .picture(png()))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/first"}"#, #"{"cmd":"fetch","id":2,"url":"ORIGIN/a?sig=1"}"#,
      #"{"cmd":"fetch","id":3,"url":"ORIGIN/a?sig=2"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true}
      < {"id":2,"ok":true,"coalesced":false}
      < {"id":3,"ok":true,"coalesced":true}
      """#)
    #expect(stage.origin.count("/a?sig=1") == 0 && stage.origin.count("/a?sig=2") == 1)
  }

  @Test func `the newest URL asks whether a stale picture is still right`() throws {
    let stage = try CoreStage(Self.rule)
    let stale = [("Cache-Control", "max-age=0")]
    stage.origin.plan("/a?sig=1", .conditional(png(), tag: "\"1\"", headers: stale))
    stage.origin.plan("/a?sig=2", .conditional(png(), tag: "\"1\"", headers: stale))
    try stage.fetch("/a?sig=1")
    #expect(try stage.fetch("/a?sig=2")["source"]?.text == "\"revalidated\"")
    #expect(stage.origin.count("/a?sig=1") == 1)
  }

  @Test func `a picture that is confirmed after it was shown is confirmed with the URL that was shown`() throws {
    let stage = try CoreStage(Self.rule)
    let stale = [("Cache-Control", "max-age=0, stale-while-revalidate=60")]
    stage.origin.plan("/a?sig=1", .conditional(png(), tag: "\"1\"", headers: stale))
    stage.origin.plan("/a?sig=2", .conditional(png(), tag: "\"1\"", headers: stale))
    try stage.fetch("/a?sig=1")
    #expect(try stage.fetch("/a?sig=2")["stale"]?.text == "true")
    stage.settle()
    #expect(stage.origin.count("/a?sig=2") == 1)
  }

  @Test(arguments: [400, 401, 403])
  func `a refused signature is no verdict on the object`(status: Int) throws {
    let stage = try CoreStage(Self.rule)
    stage.origin.plan("/a?sig=1", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0")]))
    stage.origin.plan("/a?sig=old", .status(status, headers: [("Cache-Control", "max-age=3600")]))
    try stage.fetch("/a?sig=1")
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a?sig=old"}
      < {"ok":false,"error":{"code":"http_status","details":{"status":\#(status)}}}
      > {"cmd":"fetch","url":"ORIGIN/a?sig=old","cache":"only-if-cached"}
      < {"ok":true,"stale":true}
      > {"cmd":"fetch","url":"ORIGIN/a?sig=1"}
      < {"ok":true,"source":"revalidated"}
      """#)
  }

  @Test func `who brought another URL than the refused one goes on with it`() throws {
    let stage = try CoreStage(Self.rule)
    let gate = Gate()
    stage.origin.plan("/a?sig=old", .held(at: gate, then: .status(403)))
    stage.origin.plan("/a?sig=new", .picture(png()))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a?sig=old"}"#, #"{"cmd":"fetch","id":2,"url":"ORIGIN/a?sig=new"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":false,"error":{"code":"http_status"}}
      < {"id":2,"ok":true,"source":"network"}
      """#)
  }

  /// Somebody else's bad URLs, before and after, cost a fetch with a good one two transfers at most.
  @Test func `bad URLs of others keep nobody from a picture`() throws {
    let stage = try CoreStage(Self.rule)
    let gate = Gate()
    stage.origin.plan("/a?sig=bad0", .held(at: gate, then: .status(403)))
    for number in 1...30 { stage.origin.plan("/a?sig=bad\(number)", .status(403)) }
    stage.origin.plan("/a?sig=good", .picture(png()))
    let bad = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","id":0,"url":"ORIGIN/a?sig=bad0"}"#, on: bad)
    for number in 1...15 {
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/a?sig=bad\#(number)"}"#, on: bad)
    }
    try stage.begin(#"{"cmd":"fetch","id":"good","url":"ORIGIN/a?sig=good"}"#)
    for number in 16...30 {
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/a?sig=bad\#(number)"}"#, on: bad)
    }
    gate.open()
    try stage.play(#"< {"id":"good","ok":true,"source":"network"}"#)
    stage.settle()
    #expect(stage.origin.requests.count <= 32)
    #expect(stage.origin.running == 0)
  }

  @Test func `the target of a redirect has a key of its own section`() throws {
    let stage = try CoreStage("Origin files.example.Key=without sig")
    stage.origin.plan("/a", .redirect(to: stage.origin.url("/f?sig=1", host: "files.example")))
    stage.origin.plan("/b", .redirect(to: stage.origin.url("/f?sig=2", host: "files.example")))
    stage.origin.plan("/f?sig=1", .picture(png()))
    #expect(try stage.fetch("/a")["final_url"]?.text == "\"\(stage.origin.url("/f", host: "files.example"))\"")
    #expect(try stage.fetch("/b")["source"]?.text == "\"memory\"")
    #expect(stage.origin.count("/f?sig=1") == 1)
  }

  @Test func `a reload with another rule leaves nothing under the former key`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a?sig=1", .picture(png(1_000)), .picture(png(2_000)))
    try stage.fetch("/a?sig=1")
    #expect(try stage.fetch("/a?sig=1")["source"]?.text == "\"memory\"")
    try stage.apply(Self.rule)
    // Neither by the shape of its line nor otherwise.
    #expect(try stage.fetch("/a?sig=1")["bytes"]?.integer == 2_000)
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a?sig=1"}
      < {"ok":true,"removed":true}
      > {"cmd":"fetch","url":"ORIGIN/a?sig=1","cache":"only-if-cached"}
      < {"ok":false,"error":{"code":"not_cached"}}
      """#)
  }
}
