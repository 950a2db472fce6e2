import ImgdTestSupport
import ImgdWire
import Testing

struct WaitTests {
  static let one = "11111111-1111-4111-8111-111111111111"

  @Test func `an outcome can be waited for before its end and collected after it`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true,"receipt":"\#(Self.one)","state":"running"}
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      > {"cmd":"wait","id":3,"receipt":"\#(Self.one)","deliver":"inline"}
      > {"cmd":"ping","id":4}
      < {"id":4,"ok":true}
      """#)
    gate.open()
    try stage.play(
      #"""
      < {"id":2,"ok":true,"receipt":"\#(Self.one)","source":"network","path":"…"}
      < {"id":3,"ok":true,"receipt":"\#(Self.one)","source":"network","data":"…"}
      > {"cmd":"wait","id":5,"receipt":"\#(Self.one)","deliver":"fd"}
      < {"id":5,"ok":true,"receipt":"\#(Self.one)","url":"ORIGIN/a","fds":[{"kind":"encoded","bytes":1000}]}
      """#, on: stage.client)
    try stage.play(
      #"""
      > {"cmd":"wait","id":6,"receipt":"\#(Self.one)","deliver":"none"}
      < {"id":6,"ok":true,"format":"png"}
      """#, on: try stage.connect())
    #expect(stage.client.takeDescriptor() != nil)
  }

  @Test func `a failure is collected as a failure`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .status(404))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      < {"id":2,"ok":false,"receipt":"\#(Self.one)","error":{"code":"http_status","details":{"status":404}}}
      """#)
  }

  @Test func `a hit without a waiter is collected as well`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true,"state":"done"}
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      < {"id":2,"ok":true,"source":"memory"}
      """#)
  }

  @Test func `waiters are told when the fetch is cancelled`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .silence)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      > {"cmd":"cancel","id":3,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      < {"id":2,"ok":false,"receipt":"\#(Self.one)","error":{"code":"cancelled"}}
      < {"id":3,"ok":true,"state":"running"}
      > {"cmd":"wait","id":4,"receipt":"\#(Self.one)"}
      < {"id":4,"ok":false,"error":{"code":"cancelled"}}
      """#)
    #expect(stage.origin.running == 0)
  }

  @Test func `an outcome that its requester has received cannot be collected afterwards`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      < {"id":2,"ok":false,"receipt":"\#(Self.one)","error":{"code":"unknown_receipt","retryable":false}}
      """#)
  }

  @Test func `a receipt with a kept outcome may be used again`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(1_000)))
    stage.origin.plan("/b", .picture(png(2_000)))
    for (path, bytes) in [("/a", 1_000), ("/b", 2_000)] {
      try stage.play(
        #"""
        > {"cmd":"fetch","id":1,"url":"ORIGIN\#(path)","wait":false,"receipt":"\#(Self.one)"}
        < {"id":1,"ok":true}
        > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
        < {"id":2,"ok":true,"bytes":\#(bytes)}
        > {"cmd":"wait","id":3,"receipt":"\#(Self.one)"}
        < {"id":3,"ok":true,"bytes":\#(bytes)}
        """#)
    }
  }

  /// A receipt that is used again must neither push others out nor hold them.
  @Test(arguments: [0, 1, 5])
  func `the newest thousand outcomes are kept`(reused: Int) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    let line = #"{"cmd":"fetch","url":"\#(stage.base)/a","wait":false"#
    for _ in 0..<reused { try stage.client.send(line + #","receipt":"\#(Self.one)"}"#) }
    for _ in 0..<1_010 { try stage.client.send(line + "}") }
    let receipts = try stage.client.receive(reused + 1_010).dropFirst(reused)
      .map { $0["receipt"]?.string ?? "" }
    try stage.play(
      #"""
      > {"cmd":"wait","receipt":"\#(Self.one)"}
      < {"ok":false,"error":{"code":"unknown_receipt"}}
      > {"cmd":"wait","receipt":"\#(receipts[9])"}
      < {"ok":false,"error":{"code":"unknown_receipt"}}
      > {"cmd":"wait","receipt":"\#(receipts[10])"}
      < {"ok":true}
      > {"cmd":"wait","receipt":"\#(receipts[1009])"}
      < {"ok":true}
      """#)
  }

  @Test func `a receipt that is used again and again keeps one outcome`() throws {
    let stage = try CoreStage(
      "Memory.Capacity=400K", "Memory.Preferred=400K", "Memory.MaxEntry=400K")
    stage.origin.plan("/a", .picture(png(20_000)))
    try stage.fetch("/a")
    for _ in 0..<20 {
      try stage.play(
        #"""
        > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
        < {"id":1,"ok":true}
        > {"cmd":"wait","id":2,"receipt":"\#(Self.one)","deliver":"fd"}
        < {"id":2,"ok":true}
        """#)
    }
  }

  @Test func `a detached fetch continues without its connection`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    var other: TestClient? = try stage.connect()
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","detach":true,"receipt":"\#(Self.one)"}"#, on: other)
    #expect(other != nil)
    other = nil
    try stage.play(
      #"""
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      > {"cmd":"list","id":3}
      < {"id":3,"ok":true,"jobs":[{"receipt":"\#(Self.one)","state":"running"}]}
      """#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true,"source":"network"}"#)
  }

  @Test func `a detached fetch answers its connection while that is open`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","detach":true}
      < {"id":1,"ok":true,"source":"network"}
      """#)
  }

  @Test func `a waiter that disconnects is removed`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      """#)
    var other: TestClient? = try stage.connect()
    try stage.begin(#"{"cmd":"wait","id":2,"receipt":"\#(Self.one)"}"#, on: other)
    #expect(other != nil)
    other = nil
    gate.open()
    try stage.play(
      #"""
      > {"cmd":"wait","id":3,"receipt":"\#(Self.one)"}
      < {"id":3,"ok":true}
      """#)
  }
}
