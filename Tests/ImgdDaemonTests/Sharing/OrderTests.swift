import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

struct OrderTests {
  /// A core with one busy place, and an origin that lets it go when the gate opens.
  private func busyStage(_ settings: String..., gate: Gate, places: Int = 1) throws -> CoreStage {
    let stage = try CoreStage(
      "Downloads.MaxActive=\(places)", settings.first ?? "Downloads.Order=fifo")
    stage.origin.plan("/busy", .held(at: gate, then: .picture(png())))
    try stage.begin(#"{"cmd":"fetch","id":"busy","url":"ORIGIN/busy"}"#)
    return stage
  }

  private func ask(_ stage: CoreStage, _ path: String, _ more: String = "") throws {
    stage.origin.plan(path, .picture(png()))
    try stage.begin(#"{"cmd":"fetch","id":"\#(path)","url":"ORIGIN\#(path)"\#(more)}"#)
  }

  /// Opens the gate, takes all answers, and tells in which order the origin was asked.
  private func order(_ stage: CoreStage, _ gate: Gate, answers: Int) throws -> [String] {
    gate.open()
    let lines = try stage.client.receive(answers)
    #expect(lines.allSatisfy { $0["ok"] == .bool(true) })
    return stage.origin.requests.map(\.path)
  }

  @Test func `fifo starts the oldest fetch first`() throws {
    let gate = Gate()
    let stage = try busyStage(gate: gate)
    for number in 1...13 { try ask(stage, "/\(number)") }
    #expect(try order(stage, gate, answers: 14) == ["/busy"] + (1...13).map { "/\($0)" })
  }

  @Test func `lifo starts the newest waiting fetch first`() throws {
    let gate = Gate()
    let stage = try busyStage("Downloads.Order=lifo", gate: gate)
    for number in 1...13 { try ask(stage, "/\(number)") }
    #expect(try order(stage, gate, answers: 14) == ["/busy"] + (1...13).reversed().map { "/\($0)" })
  }

  @Test func `high priority starts before normal, and normal before low`() throws {
    let gate = Gate()
    let stage = try busyStage(gate: gate)
    try ask(stage, "/low", #","priority":"low""#)
    try ask(stage, "/normal1")
    try ask(stage, "/high1", #","priority":"high""#)
    try ask(stage, "/normal2", #","priority":"normal""#)
    try ask(stage, "/high2", #","priority":"high""#)
    #expect(
      try order(stage, gate, answers: 6)
        == ["/busy", "/high1", "/high2", "/normal1", "/normal2", "/low"])
  }

  @Test func `a joined request raises the priority of a waiting fetch`() throws {
    let gate = Gate()
    let stage = try busyStage(gate: gate)
    try ask(stage, "/a")
    try ask(stage, "/b", #","priority":"low""#)
    try ask(stage, "/b", #","priority":"high""#)
    try stage.play(
      #"""
      > {"cmd":"stats"}
      < {"ok":true,"downloads":{"active":1,"queued":2}}
      """#)
    #expect(try order(stage, gate, answers: 4) == ["/busy", "/b", "/a"])
  }

  @Test func `a fetch falls back when the request that raised it leaves`() throws {
    let gate = Gate()
    let stage = try busyStage(gate: gate)
    let receipt = "11111111-1111-4111-8111-111111111111"
    try ask(stage, "/low", #","priority":"low""#)
    try ask(stage, "/low", #","priority":"high","receipt":"\#(receipt)""#)
    try ask(stage, "/normal")
    try stage.play(
      #"""
      > {"cmd":"cancel","id":"c","receipt":"\#(receipt)"}
      < {"ok":false,"error":{"code":"cancelled"}}
      < {"id":"c","ok":true,"state":"queued"}
      """#)
    #expect(try order(stage, gate, answers: 3) == ["/busy", "/normal", "/low"])
  }

  @Test func `one of several places is kept free from low priority`() throws {
    let stage = try CoreStage("Downloads.MaxActive=3")
    let gate = Gate()
    for number in 1...5 {
      stage.origin.plan("/low\(number)", .held(at: gate, then: .picture(png())))
      try stage.begin(
        #"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/low\#(number)","priority":"low"}"#)
    }
    #expect(gate.arrivals == 2)
    #expect(try stage.stats("downloads", "active") == 2)
    stage.origin.plan("/normal", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":"n","url":"ORIGIN/normal"}
      < {"id":"n","ok":true}
      """#)
    #expect(try stage.stats("downloads", "active") == 2)
    gate.open()
    #expect(try stage.client.receive(5).allSatisfy { $0["ok"] == .bool(true) })
  }

  @Test func `a single place is open to low priority`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/low", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/low","priority":"low"}
      < {"id":1,"ok":true}
      """#)
  }

  @Test func `a host at its limit does not delay another`() throws {
    let stage = try CoreStage("Downloads.MaxActive=3", "Downloads.MaxPerHost=1")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    stage.origin.plan("/b", .held(at: gate, then: .picture(png())))
    stage.origin.plan("/c", .picture(png()))
    let elsewhere = stage.origin.url("/c", host: "localhost")
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#, #"{"cmd":"fetch","id":2,"url":"ORIGIN/b"}"#)
    try stage.play(
      #"""
      > {"cmd":"fetch","id":3,"url":"\#(elsewhere)"}
      < {"id":3,"ok":true}
      """#)
    #expect(stage.origin.count("/b") == 0)
    gate.open()
    #expect(try stage.client.receive(2).allSatisfy { $0["ok"] == .bool(true) })
  }

  @Test(arguments: [1, 2, 4])
  func `at most the allowed number run at once, and all are answered`(places: Int) throws {
    let stage = try CoreStage("Downloads.MaxActive=\(places)", "Downloads.MaxPerHost=100")
    let gates = (0..<20).map { _ in Gate() }
    for (number, gate) in gates.enumerated() {
      stage.origin.plan("/\(number)", .held(at: gate, then: .picture(png())))
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/\#(number)"}"#)
    }
    for (number, gate) in gates.enumerated() {
      #expect(gate.arrivals == 1)
      #expect(stage.origin.requests.count <= number + places)
      gate.open()
      try stage.play(#"< {"id":\#(number),"ok":true}"#)
    }
    #expect(try stage.stats("downloads", "peak_active") == places)
  }

  @Test func `every kind of failure frees the place`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/cut", .fails(.truncated))
    stage.origin.plan("/closed", .fails(.connect))
    stage.origin.plan("/nowhere", .fails(.dns))
    stage.origin.plan("/text", .picture(Array("no".utf8)))
    stage.origin.plan("/empty", .picture([]))
    stage.origin.plan("/large", .endless())
    stage.origin.plan("/silent", .silence)
    stage.origin.plan("/good", .picture(png()))
    let more = ["/large": #","max_bytes":1000"#, "/silent": #","timeout_ms":30"#]
    for path in ["/cut", "/closed", "/nowhere", "/text", "/empty", "/large", "/silent", "/none"] {
      try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN\#(path)"\#(more[path] ?? "")}"#)
      if path == "/silent" { stage.pass(.milliseconds(30)) }
      try stage.play(#"< {"id":1,"ok":false}"#)
      #expect(try stage.stats("downloads", "active") == 0, "\(path)")
    }
    try stage.fetch("/good")
  }

  @Test func `a larger MaxActive drains the queue at once`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1", "Downloads.MaxPerHost=10")
    let gate = Gate()
    for number in 1...4 {
      stage.origin.plan("/\(number)", .held(at: gate, then: .picture(png())))
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/\#(number)"}"#)
    }
    #expect(try stage.stats("downloads", "queued") == 3)
    try stage.apply("Downloads.MaxActive=3")
    #expect(gate.arrivals == 3)
    #expect(try stage.stats("downloads", "active") == 3)
    gate.open()
    #expect(try stage.client.receive(4).allSatisfy { $0["ok"] == .bool(true) })
  }
}
