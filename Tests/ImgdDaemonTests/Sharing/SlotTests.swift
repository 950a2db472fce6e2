import ImgdTestSupport
import ImgdWire
import Testing

struct SlotTests {
  static let one = "11111111-1111-4111-8111-111111111111"
  static let two = "22222222-2222-4222-8222-222222222222"

  private func stage(holding gate: Gate) throws -> CoreStage {
    let stage = try CoreStage()
    for path in ["/a", "/b", "/c"] {
      stage.origin.plan(path, .held(at: gate, then: .picture(png())))
    }
    return stage
  }

  @Test func `another picture takes the slot, and the old request is told`() throws {
    let gate = Gate()
    let stage = try stage(holding: gate)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s","receipt":"\#(Self.one)"}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/b","slot":"s","receipt":"\#(Self.two)"}
      < {"id":1,"ok":false,"receipt":"\#(Self.one)","error":{"code":"cancelled","details":{"superseded_by":"\#(Self.two)"}}}
      > {"cmd":"slots","id":3}
      < {"id":3,"ok":true,"slots":[{"slot":"s","url":"ORIGIN/b","receipt":"\#(Self.two)","state":"running"}]}
      """#)
    gate.open()
    try stage.play(
      #"""
      < {"id":2,"ok":true}
      > {"cmd":"slots","id":4}
      < {"id":4,"ok":true,"slots":[{"slot":"s","state":"done","receipt":"\#(Self.two)"}]}
      """#)
  }

  @Test func `the same request again joins, and both are answered`() throws {
    let gate = Gate()
    let stage = try stage(holding: gate)
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s"}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a","slot":"s"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true,"coalesced":false}
      < {"id":2,"ok":true,"coalesced":true}
      """#)
    #expect(stage.origin.count("/a") == 1)
  }

  @Test(arguments: [
    #""deliver":"none""#, #""store":"none""#, #""cache":"reload""#, #""identifier":"x""#,
  ])
  func `the same URL with other options takes the slot`(option: String) throws {
    let gate = Gate()
    let stage = try stage(holding: gate)
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s"}"#)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a","slot":"s",\#(option)}
      < {"id":1,"ok":false,"error":{"code":"cancelled","details":{"superseded_by":"…"}}}
      """#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true}"#)
  }

  @Test func `a refused URL empties the slot and gets an error`() throws {
    let gate = Gate()
    let stage = try stage(holding: gate)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s"}
      > {"cmd":"fetch","id":2,"url":"","slot":"s"}
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":2,"ok":false,"error":{"code":"bad_url"}}
      > {"cmd":"list"}
      < {"ok":true,"jobs":[]}
      """#)
    gate.open()
  }

  @Test func `a hit takes the slot as well`() throws {
    let gate = Gate()
    let stage = try stage(holding: gate)
    stage.origin.plan("/hit", .picture(png()))
    try stage.fetch("/hit")
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s"}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/hit","slot":"s","receipt":"\#(Self.two)"}
      < {"id":1,"ok":false,"error":{"code":"cancelled","details":{"superseded_by":"\#(Self.two)"}}}
      < {"id":2,"ok":true,"source":"memory"}
      > {"cmd":"slots"}
      < {"ok":true,"slots":[{"slot":"s","state":"done","receipt":"\#(Self.two)","url":"ORIGIN/hit"}]}
      """#)
    gate.open()
  }

  @Test func `slots are independent of each other and of other connections`() throws {
    let gate = Gate()
    let stage = try stage(holding: gate)
    let other = try stage.connect()
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s"}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/b","slot":"t"}"#)
    try stage.begin(#"{"cmd":"fetch","id":3,"url":"ORIGIN/c","slot":"s"}"#, on: other)
    try stage.play(
      #"""
      > {"cmd":"cancel","slot":"s","id":"c"}
      < {"id":3,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"cancelled":1}
      > {"cmd":"slots"}
      < {"ok":true,"slots":[{"slot":"s","url":"ORIGIN/c","state":"cancelled"}]}
      """#, on: other)
    gate.open()
    let lines = try stage.client.receive(2)
    #expect(lines.allSatisfy { $0["ok"] == .bool(true) })
  }

  @Test func `a fetch that is cancelled and requested again at once is answered`() throws {
    let gate = Gate()
    let stage = try stage(holding: gate)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s"}
      > {"cmd":"cancel","slot":"s","id":"c"}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a","slot":"s"}
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"cancelled":1}
      """#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true}"#)
  }

  @Test func `a failure leaves the slot failed, and it can be tried again`() throws {
    let stage = try CoreStage("HTTP.NegativeFreshness=0s")
    stage.origin.plan("/a", .status(404), .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s"}
      < {"id":1,"ok":false}
      > {"cmd":"slots"}
      < {"ok":true,"slots":[{"slot":"s","state":"failed"}]}
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a","slot":"s"}
      < {"id":2,"ok":true}
      > {"cmd":"slots"}
      < {"ok":true,"slots":[{"slot":"s","state":"done"}]}
      """#)
  }

  @Test func `a detached fetch keeps its slot until its end`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    stage.origin.plan("/b", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","slot":"s","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      < {"id":2,"ok":true,"format":"png"}
      > {"cmd":"slots"}
      < {"ok":true,"slots":[{"slot":"s","state":"done"}]}
      > {"cmd":"fetch","id":3,"url":"ORIGIN/b","slot":"s"}
      < {"id":3,"ok":true}
      > {"cmd":"wait","id":4,"receipt":"\#(Self.one)"}
      < {"id":4,"ok":true,"format":"png"}
      """#)
  }
}
