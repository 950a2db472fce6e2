import ImgdTestSupport
import ImgdWire
import Testing

struct CancelTests {
  static let one = "11111111-1111-4111-8111-111111111111"
  static let two = "22222222-2222-4222-8222-222222222222"

  private func fetch(_ id: Int, _ path: String, _ receipt: String? = nil, _ more: String = "")
    -> String
  {
    let receipt = receipt.map { #","receipt":"\#($0)""# } ?? ""
    return #"{"cmd":"fetch","id":\#(id),"url":"ORIGIN\#(path)"\#(receipt)\#(more)}"#
  }

  private func cancel(_ receipt: String) -> String {
    #"{"cmd":"cancel","id":"c","receipt":"\#(receipt)"}"#
  }

  @Test func `cancelling one of two requests leaves the other`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.begin(fetch(1, "/a.png", Self.one), fetch(2, "/a.png", Self.two))
    try stage.play(
      #"""
      > \#(cancel(Self.one))
      < {"id":1,"ok":false,"receipt":"\#(Self.one)","error":{"code":"cancelled","retryable":false}}
      < {"id":"c","ok":true,"receipt":"\#(Self.one)","state":"running"}
      """#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true,"source":"network"}"#)
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test func `cancelling the last request aborts the transfer`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .silence)
    try stage.begin(fetch(1, "/a.png", Self.one), fetch(2, "/a.png", Self.two))
    #expect(stage.origin.count("/a.png") == 1)
    try stage.play(
      #"""
      > \#(cancel(Self.one))
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true}
      > \#(cancel(Self.two))
      < {"id":2,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true}
      > {"cmd":"query","url":"ORIGIN/a.png"}
      < {"ok":true,"tier":"none"}
      """#)
    #expect(stage.origin.running == 0 && stage.origin.aborted == 1)
    #expect(try stage.stats("downloads", "cancelled") == 1)
    #expect(try stage.stats("downloads", "active") == 0)
  }

  @Test func `a cancelled queued fetch never reaches the origin`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    stage.origin.plan("/b.png", .picture(png()))
    try stage.begin(fetch(1, "/a.png"), fetch(2, "/b.png", Self.two))
    try stage.play(
      #"""
      > \#(cancel(Self.two))
      < {"id":2,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"state":"queued"}
      """#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/b.png"}
      < {"id":3,"ok":true,"source":"network"}
      """#)
    #expect(stage.origin.count("/b.png") == 1)
  }

  @Test func `more fetches than places are cancelled and requested again, and all are answered`()
    throws
  {
    let stage = try CoreStage()
    for number in 1...5 { stage.origin.plan("/\(number)", .silence, .picture(png())) }
    for number in 1...5 { try stage.begin(fetch(number, "/\(number)")) }
    #expect(stage.origin.requests.count == 4)
    // The fifth has not been sent, so its silence has not been used up.
    stage.origin.plan("/5", .picture(png()))
    try stage.client.send(#"{"cmd":"cancel","id":"c","all":true}"#)
    let lines = try stage.client.receive(6)
    #expect(lines.prefix(5).allSatisfy { $0["error"]?["code"] == .string("cancelled") })
    #expect(lines[5]["cancelled"] == .integer(5))
    try stage.play((1...5).map { "> " + fetch($0 + 10, "/\($0)") }.joined(separator: "\n"))
    let again = try stage.client.receive(5)
    #expect(again.allSatisfy { $0["ok"] == .bool(true) })
  }

  @Test func `cancelling an ended, cancelled or unknown fetch is no error`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > \#(cancel(Self.one))
      < {"id":"c","ok":true,"receipt":"\#(Self.one)","state":"unknown"}
      > \#(fetch(1, "/a.png", Self.one))
      > \#(cancel(Self.one))
      > \#(cancel(Self.one))
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"state":"running"}
      < {"id":"c","ok":true,"state":"finished"}
      """#)
    gate.open()
    try stage.play(
      #"""
      > \#(fetch(2, "/a.png", Self.two))
      < {"id":2,"ok":true}
      > \#(cancel(Self.two))
      < {"id":"c","ok":true,"state":"finished"}
      > {"cmd":"query","url":"ORIGIN/a.png"}
      < {"ok":true,"tier":"memory"}
      """#)
  }

  @Test func `a stale receipt does not touch a new fetch of the same URL`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > \#(fetch(1, "/a.png", Self.one))
      > \#(cancel(Self.one))
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true}
      > \#(fetch(2, "/a.png", Self.two))
      > \#(cancel(Self.one))
      < {"id":"c","ok":true,"state":"finished"}
      """#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true,"source":"network","coalesced":false}"#)
  }

  @Test func `cancelling by tag affects only fetches with that tag`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    for path in ["/a", "/b", "/c"] {
      stage.origin.plan(path, .held(at: gate, then: .picture(png())))
    }
    try stage.begin(
      fetch(1, "/a", nil, #","tags":["x","y"]"#), fetch(2, "/b", nil, #","tags":["y"]"#),
      fetch(3, "/c"))
    try stage.play(
      #"""
      > {"cmd":"cancel","tag":"x","id":"c"}
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"cancelled":1}
      > {"cmd":"cancel","tag":"z","id":"c"}
      < {"id":"c","ok":true,"cancelled":0}
      """#)
    gate.open()
    let rest = try stage.client.receive(2)
    #expect(rest.allSatisfy { $0["ok"] == .bool(true) })
  }

  @Test func `another connection gets its cancelled line before the answer`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    let other = try stage.connect()
    try stage.begin(fetch(1, "/a.png", Self.one), on: other)
    try stage.play(
      #"""
      > \#(cancel(Self.one))
      < {"id":"c","ok":true,"state":"running"}
      """#)
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"cancelled"}}"#, on: other)
    gate.open()
  }

  @Test func `an earlier answer is not taken back`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png()))
    for _ in 0..<50 {
      try stage.client.send(
        #"{"cmd":"fetch","id":1,"url":"\#(stage.base)/a.png","cache":"no-store","receipt":"\#(Self.one)"}"#
      )
      try stage.client.send(cancel(Self.one))
      let lines = try stage.client.receive(2)
      #expect(lines.map { $0["id"] } == [.integer(1), .string("c")])
    }
  }

  @Test(arguments: [true, false])
  func `waiting fetches do not reach the origin when all are cancelled at once`(byCancel: Bool)
    throws
  {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/0", .silence)
    stage.origin.plan("/last", .picture(png()))
    var other: TestClient? = try stage.connect()
    try stage.begin((0..<20).map { fetch($0, "/\($0)") }.joined(separator: "\n> "), on: other)
    if byCancel {
      try stage.play(
        #"""
        > {"cmd":"cancel","id":"c","all":true}
        < {"id":"c","ok":true,"cancelled":20}
        """#)
    } else {
      other?.halfClose()
      other = nil
    }
    stage.settle()
    #expect(stage.origin.running == 0)
    try stage.fetch("/last")
    #expect(stage.origin.requests.map(\.path).filter { $0 != "/0" } == ["/last"])
    #expect(try stage.stats("downloads", "started") == 2)
  }

  @Test func `a lost connection cancels its fetches`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .silence)
    var other: TestClient? = try stage.connect()
    try stage.begin(fetch(1, "/a.png"), on: other)
    #expect(stage.origin.count("/a.png") == 1)
    #expect(other != nil)
    other = nil
    stage.settle()
    #expect(stage.origin.running == 0)
    try stage.play(
      #"""
      > {"cmd":"list"}
      < {"ok":true,"jobs":[]}
      """#)
  }

  @Test func `an orphan that may finish fills the cache`() throws {
    let stage = try CoreStage("Downloads.Orphans=finish")
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":"s","events":["cache"]}
      < {"id":"s","ok":true}
      > \#(fetch(1, "/a.png", Self.one))
      > \#(cancel(Self.one))
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"state":"running"}
      """#)
    #expect(try stage.stats("downloads", "active") == 1)
    gate.open()
    try stage.play(
      #"""
      < {"event":"cache","what":"stored"}
      > \#(fetch(2, "/a.png"))
      < {"id":2,"ok":true,"source":"memory"}
      """#)
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test(arguments: [#""store":"none""#, #""cache":"no-store""#])
  func `an orphan with store none is not kept`(option: String) throws {
    let stage = try CoreStage("Downloads.Orphans=finish")
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > \#(fetch(1, "/a.png", Self.one, "," + option))
      > \#(cancel(Self.one))
      < {"id":1,"ok":false}
      < {"id":"c","ok":true}
      """#)
    gate.open()
    #expect(try stage.stats("downloads", "completed") == 1)
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a.png"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  @Test func `a running orphan can be joined`() throws {
    let stage = try CoreStage("Downloads.Orphans=finish")
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > \#(fetch(1, "/a.png", Self.one))
      > \#(cancel(Self.one))
      < {"id":1,"ok":false}
      < {"id":"c","ok":true}
      > \#(fetch(2, "/a.png"))
      > {"cmd":"ping","id":"p"}
      < {"id":"p","ok":true}
      """#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true,"coalesced":true}"#)
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test(arguments: [
    "{}", #"{"receipt":"11111111-1111-4111-8111-111111111111","all":true}"#, #"{"all":false}"#,
    #"{"receipt":"nonsense"}"#, #"{"tag":""}"#,
  ])
  func `a cancel without exactly one target is refused`(fields: String) throws {
    let stage = try CoreStage()
    let rest = fields == "{}" ? "}" : "," + fields.dropFirst()
    try stage.play(
      #"""
      > {"cmd":"cancel","id":1\#(rest)
      < {"id":1,"ok":false,"error":{"code":"bad_request"}}
      """#)
  }
}
