import ImgdTestSupport
import ImgdWire
import Testing

/// A client that does not read must not affect other clients.
struct SlowReaderTests {
  @Test func `a subscriber that reads nothing does not delay other clients`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    let listener = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":["jobs"]}
      < {"id":1,"ok":true}
      """#, on: listener)
    let hits = [String](repeating: #"{"cmd":"fetch","url":"\#(stage.base)/a"}"#, count: 100)
    for _ in 0..<80 {
      try stage.client.send(hits.joined(separator: "\n"))
      _ = try stage.client.receive(100)
    }
    try stage.play(
      #"""
      > {"cmd":"ping","id":"still here"}
      < {"id":"still here","ok":true}
      """#)
  }

  @Test func `descriptors that are not read stop the reading, and all arrive later`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png(5_000)))
    try stage.fetch("/a")
    let hit = #"{"cmd":"fetch","url":"\#(stage.base)/a","deliver":"fd"}"#
    try stage.client.send([String](repeating: hit, count: 1_000).joined(separator: "\n"))
    try stage.play(
      #"""
      > {"cmd":"ping"}
      < {"ok":true}
      """#, on: try stage.connect())
    #expect(try stage.client.receive(1_000).allSatisfy { $0["fds"] != nil })
    var taken = 0
    while stage.client.takeDescriptor() != nil { taken += 1 }
    #expect(taken == 1_000)
  }

  @Test func `progress that is not read is replaced and does not accumulate`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .body(png(400_000), heldAfter: 200_000, at: gate))
    for id in 0..<20 {
      try stage.client.send(
        #"{"cmd":"fetch","id":\#(id),"url":"\#(stage.base)/a","progress":true}"#)
    }
    gate.open()
    #expect(try stage.client.receiveAnswers(20).allSatisfy { $0["ok"] == .bool(true) })
  }
}
