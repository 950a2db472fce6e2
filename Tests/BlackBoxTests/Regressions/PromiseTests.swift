import ImgdTestSupport
import ImgdWire
import Testing

/// What holds for one who waits, whatever others ask for.
@Suite struct PromiseTests {
  @Test func `a longer deadline of another's does not prolong one's own`() throws {
    let stage = try Stage("Downloads.Timeout=1s")
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    let other = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png"}"#)
    try stage.begin(
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a.png","timeout_ms":600000}"#, on: other)
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"timeout"}}"#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true,"source":"network"}"#, on: other)
  }

  @Test func `a limit in bytes holds for what is cached and for what is confirmed`() throws {
    let stage = try Stage()
    stage.origin.plan(
      "/a.png", .picture(TestPicture.png(bytes: 20_000), headers: [("Cache-Control", "max-age=60")])
    )
    stage.origin.plan(
      "/b.png", .conditional(TestPicture.png(bytes: 20_000), tag: "\"1\""))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png"}
      < {"id":1,"ok":true}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a.png","max_bytes":1000}
      < {"id":2,"ok":false,"error":{"code":"too_large"}}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/b.png"}
      < {"id":3,"ok":true}
      > {"cmd":"fetch","id":4,"url":"ORIGIN/b.png","cache":"no-cache","max_bytes":1000}
      < {"id":4,"ok":false,"error":{"code":"too_large"}}
      """#)
  }

  @Test func `a fetch refused for its URL is answered under its receipt, and takes its slot`()
    throws
  {
    let stage = try Stage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","slot":"s"}"#)
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"","slot":"s","receipt":"5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11"}
      < {"id":1,"ok":false,"error":{"code":"cancelled","details":{"superseded_by":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}}}
      < {"ok":false,"receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11","error":{"code":"bad_url"}}
      """#)
    gate.open()
  }

  @Test func `wait never answers with what an earlier use of the receipt brought`() throws {
    let stage = try Stage()
    stage.origin.plan("/a.png", .picture(png()))
    stage.origin.plan("/b.png", .picture(png()))
    let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","wait":false,"receipt":"\#(receipt)"}
      < {"id":1,"ok":true}
      > {"cmd":"wait","id":2,"receipt":"\#(receipt)"}
      < {"id":2,"ok":true,"url":"ORIGIN/a.png"}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/b.png","receipt":"\#(receipt)"}
      < {"id":3,"ok":true}
      > {"cmd":"wait","id":4,"receipt":"\#(receipt)"}
      < {"id":4,"ok":false,"error":{"code":"unknown_receipt"}}
      """#)
  }

  @Test func `tags of a fetch that was answered by a confirmation are kept`() throws {
    let stage = try Stage()
    stage.origin.plan("/a.png", .conditional(png(), tag: "\"1\""))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","tags":["one"]}
      < {"id":1,"ok":true,"source":"network"}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a.png","cache":"no-cache","tags":["two"]}
      < {"id":2,"ok":true,"source":"revalidated"}
      > {"cmd":"purge","id":3,"tag":"two"}
      < {"id":3,"ok":true,"removed":true,"memory":{"entries":1}}
      """#)
  }

  @Test func `a fetch that nobody waits for counts for the connection that began it`() throws {
    let stage = try Stage("Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    let lines = (0..<10_000).map { _ in
      #"{"cmd":"fetch","url":"\#(stage.base)/a.png","wait":false}"#
    }
    for batch in 0..<100 {
      try stage.client.sendRaw(
        Array((lines[batch * 100..<batch * 100 + 100].joined(separator: "\n") + "\n").utf8))
      _ = try stage.client.receive(100)
    }
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","wait":false}
      < {"id":1,"ok":false,"error":{"code":"too_many_requests"}}
      """#)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a.png","wait":false}
      < {"id":2,"ok":true,"state":"running"}
      """#, on: try stage.connect())
    gate.open()
  }

  @Test func `a daemon that is told to stop sends long lines to their end`() throws {
    let stage = try Stage()
    let gate = Gate()
    stage.origin.plan(
      "/a.png", .held(at: gate, then: .picture(TestPicture.png(bytes: 250_000))))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","deliver":"inline"}"#)
    stage.daemon.signal(15)
    gate.open()
    let line = try stage.client.receive()
    #expect(line["ok"]?.bool == true)
    #expect((line["data"]?.string?.utf8.count ?? 0) > 333_000)
    #expect(stage.daemon.waitForEnd() == 0)
  }
}
