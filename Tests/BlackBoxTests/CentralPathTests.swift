import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The ways that everything takes, through the process, its threads, libcurl and the kernel. What is
/// decided on them is tested with the core.
struct CentralPathTests {
  private static let one = "11111111-1111-4111-8111-111111111111"

  @Test func `many clients share one transfer`() throws {
    let stage = try Stage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    let clients = try (0..<30).map { _ in try stage.connect() }
    for client in clients {
      try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a.png"}"#, on: client)
    }
    gate.open()
    let lines = try clients.map { try $0.receive() }
    #expect(lines.map { $0["coalesced"]?.bool } == [false] + [Bool](repeating: true, count: 29))
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test func `when the last one goes the origin sees the connection closed`() throws {
    let stage = try Stage()
    stage.origin.plan("/a.png", .silence)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","receipt":"\#(Self.one)"}"#)
    #expect(stage.origin.waitForRequests("/a.png"))
    try stage.play(
      #"""
      > {"cmd":"cancel","id":"c","receipt":"\#(Self.one)"}
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"state":"running"}
      """#)
    #expect(stage.origin.waitForOpenConnections(0))
    #expect(try stage.stats("downloads", "active") == 0)
  }

  @Test func `when a client vanishes the origin sees the connection closed`() throws {
    let stage = try Stage()
    stage.origin.plan("/a.png", .silence)
    var other: TestClient? = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a.png"}"#, on: other)
    #expect(stage.origin.waitForRequests("/a.png"))
    #expect(other != nil)
    other = nil
    #expect(stage.origin.waitForOpenConnections(0))
    try stage.play(
      #"""
      > {"cmd":"list"}
      < {"ok":true,"jobs":[]}
      """#)
  }

  @Test func `one that waits to be tried again ends at once`() throws {
    let stage = try Stage("Downloads.Retries=20")
    stage.origin.plan("/a.png", .status(503))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","receipt":"\#(Self.one)"}"#)
    #expect(stage.origin.waitForRequests("/a.png"))
    try stage.play(
      #"""
      > {"cmd":"cancel","id":"c","receipt":"\#(Self.one)"}
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"state":"running"}
      """#)
    #expect(try stage.stats("downloads", "active") == 0)
  }

  @Test func `a redirect is followed and reported`() throws {
    let stage = try Stage()
    stage.origin.plan("/old.png", .redirect(to: stage.origin.url("/new.png")))
    stage.origin.plan("/new.png", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/old.png"}
      < {"ok":true,"source":"network","url":"ORIGIN/old.png","final_url":"ORIGIN/new.png"}
      > {"cmd":"query","url":"ORIGIN/new.png"}
      < {"ok":true,"tier":"memory"}
      """#)
  }

  @Test func `what is purged while it comes is delivered and not kept`() throws {
    let stage = try Stage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png(1_000))), .picture(png(2_000)))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#)
    #expect(gate.waitUntilReached())
    try stage.play(
      #"""
      > {"cmd":"purge"}
      < {"ok":true,"memory":{"entries":0}}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a"}
      < {"id":2,"ok":true,"coalesced":false,"bytes":2000}
      """#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true,"bytes":1000}
      > {"cmd":"purge","url":"ORIGIN/a"}
      < {"ok":true,"removed":true,"memory":{"entries":1},"disk":{"entries":1}}
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      """#)
  }

  @Test func `a picture comes in every form`() throws {
    let stage = try Stage()
    stage.origin.plan("/a.png", .picture(png(20_000)))
    let line = try stage.fetch("/a.png")
    #expect(try readBytes(#require(line["path"]?.string)) == png(20_000))
    for form in ["none", "inline", "fd"] {
      let line = try stage.ask("/a.png", #""deliver":"\#(form)""#)
      #expect(line["source"] == .string("memory") && line["bytes"] == .integer(20_000))
      let data = line["data"]?.string.flatMap(Base64.decode)
      #expect(data == (form == "inline" ? png(20_000) : nil))
    }
    let descriptor = try #require(stage.client.takeDescriptor())
    defer { close(descriptor) }
    #expect(contents(of: descriptor) == png(20_000))
    #expect(write(descriptor, "x", 1) == -1)
    #expect(stage.client.takeDescriptor() == nil)
  }
}
