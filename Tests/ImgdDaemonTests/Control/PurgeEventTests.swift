import ImgdTestSupport
import ImgdWire
import Testing

/// Events of purges, by which those who keep copies of pictures know that these are out of date.
struct PurgeEventTests {
  private func subscribe(_ client: TestClient, of stage: CoreStage) throws {
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":0,"events":["cache"]}
      < {"id":0,"ok":true}
      """#, on: client)
  }

  /// A stage with a picture in both tiers, and a listener.
  private func filledStage() throws -> (CoreStage, TestClient) {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    stage.settle()
    let listener = try stage.connect()
    try subscribe(listener, of: stage)
    return (stage, listener)
  }

  /// `what`, `tier` and `entries` of the events that have come.
  private func heard(by client: TestClient) throws -> [String] {
    var heard: [String] = []
    while let event = try client.receiveNow() {
      #expect(event["event"] == "cache" && event["bytes"]?.integer != nil)
      let parts = [event["what"]?.string, event["tier"]?.string].map { $0 ?? "?" }
      heard.append("\(parts[0]) \(parts[1]) \(event["entries"]?.integer ?? -1)")
    }
    return heard
  }

  static let purges = [
    (#""url":"ORIGIN/a""#, ["purged memory 1", "purged disk 1"]),
    ("", ["removed_all memory 1", "removed_all disk 1"]),
    (#""url":"ORIGIN/a","soft":true"#, ["marked memory 1", "marked disk 1"]),
    (#""soft":true"#, ["marked memory 1", "marked disk 1"]),
    (#""url":"ORIGIN/b""#, ["purged memory 0"]),
    (#""url":"ORIGIN/b","soft":true"#, ["marked memory 0"]),
    (#""tier":"memory","soft":true"#, ["marked memory 1"]),
    (#""tier":"memory","url":"ORIGIN/b""#, ["purged memory 0"]),
    (#""tier":"disk""#, ["removed_all disk 1"]),
    (#""tier":"disk","url":"ORIGIN/b""#, ["purged disk 0"]),
  ]

  @Test(arguments: purges)
  func `every purge is told of, with what each tier had`(filter: String, events: [String]) throws {
    let (stage, listener) = try filledStage()
    let fields = filter.isEmpty ? "" : "," + filter
    try stage.play(
      #"""
      > {"cmd":"purge"\#(fields)}
      < {"ok":true}
      """#)
    #expect(try heard(by: listener) == events)
  }

  @Test func `a picture that no tier keeps is told of as well`() throws {
    let stage = try CoreStage("Memory.MaxEntry=4K", "Disk.Enabled=no")
    stage.origin.plan("/a", .picture(png(10_000)))
    try stage.fetch("/a")
    let listener = try stage.connect()
    try subscribe(listener, of: stage)
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a"}
      < {"ok":true,"removed":false}
      """#)
    #expect(try heard(by: listener) == ["purged memory 0"])
  }

  // With more than a few subscribers, their telling takes turns.
  @Test(arguments: ["yes", "no"], [0, 40])
  func `the event comes before the answer, however many listen`(disk: String, others: Int) throws {
    let stage = try CoreStage("Disk.Enabled=\(disk)")
    let listeners = try (0..<others).map { _ in try stage.connect() }
    for listener in listeners { try subscribe(listener, of: stage) }
    try subscribe(stage.client, of: stage)
    for tier in ["all", "memory", "disk"] {
      for soft in [false, true] {
        let what = soft ? "marked" : "removed_all"
        try stage.play(
          #"""
          > {"cmd":"purge","id":1,"tier":"\#(tier)","soft":\#(soft)}
          < {"event":"cache","what":"\#(what)","entries":0}
          < {"id":1,"ok":true}
          """#)
        for listener in listeners { #expect(try heard(by: listener).count == 1) }
      }
    }
  }

  @Test func `each of many purges is told to each of many subscribers, and answered`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    let listeners = try (0..<40).map { _ in try stage.connect() }
    for listener in listeners { try subscribe(listener, of: stage) }
    let purge = #"{"cmd":"purge","soft":true}"#
    try stage.client.send(String(repeating: purge + "\n", count: 99) + purge)
    #expect(try stage.client.receive(100).allSatisfy { $0["ok"] == .bool(true) })
    for listener in listeners { #expect(try heard(by: listener).count == 100) }
  }
}
