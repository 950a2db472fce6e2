import ImgdTestSupport
import ImgdWire
import Testing

struct SubscribeTests {
  @Test func `a subscription begins with a snapshot`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    stage.origin.plan("/b", .silence)
    try stage.fetch("/a")
    try stage.begin(
      #"{"cmd":"fetch","url":"ORIGIN/b","receipt":"11111111-1111-4111-8111-111111111111"}"#)
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":["config","jobs","cache"]}
      < {"id":1,"ok":true,"events":"…","snapshot":{"downloads":{"active":1,"queued":0},"memory":{"entries":1,"bytes":"…"},"jobs":[{"receipt":"11111111-1111-4111-8111-111111111111","url":"ORIGIN/b","state":"running"}]}}
      """#, on: try stage.connect())
  }

  @Test func `events of jobs are reported from beginning to end, numbered without a gap`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    let listener = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":["jobs"]}
      < {"id":1,"ok":true,"events":["jobs"]}
      """#, on: listener)
    stage.origin.plan("/a", .picture(png()))
    stage.origin.plan("/silent", .silence)
    try stage.fetch("/a")
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/none"}
      < {"ok":false}
      > {"cmd":"fetch","url":"ORIGIN/silent"}
      > {"cmd":"cancel","all":true}
      < {"ok":false}
      < {"ok":true,"cancelled":1}
      """#)
    let events = try listener.receive(10)
    #expect(events.allSatisfy { $0["event"] == .string("job") && $0["receipt"] != nil })
    #expect(
      events.map { $0["state"]?.string } == [
        "queued", "running", "done", "done", "queued", "running", "failed", "queued", "running",
        "cancelled",
      ])
    #expect(events.map { $0["seq"]?.integer } == Array(1...10))
    #expect(events[2...3].map { $0["source"]?.string } == ["network", "memory"])
    #expect(events[6]["code"] == .string("http_status") && events[6]["status"] == .integer(404))
    #expect(events[9]["code"] == .string("cancelled") && events[9]["status"] == nil)
  }

  @Test func `an event names what is stored`() throws {
    let stage = try CoreStage()
    let listener = try stage.connect()
    _ = try listener.ask(#"{"cmd":"subscribe","id":1,"events":["cache"]}"#)
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    let events = try listener.receive(2)
    #expect(Set(events.map { $0["tier"]?.string }) == ["memory", "disk"])
    #expect(events.allSatisfy { $0["url"] == .string(stage.base + "/a") })
  }

  @Test func `events report insertions and removals in the cache`() throws {
    let stage = try CoreStage(
      "Memory.Capacity=100K", "Memory.Preferred=60K", "Memory.MaxEntry=100K", "Disk.Enabled=no")
    let listener = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":["cache"]}
      < {"id":1,"ok":true}
      """#, on: listener)
    for number in 0..<3 {
      stage.origin.plan("/\(number)", .picture(png(40_000)))
      try stage.fetch("/\(number)")
    }
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/2"}
      < {"ok":true,"memory":{"entries":1}}
      > {"cmd":"purge","url":"ORIGIN/2"}
      < {"ok":true,"memory":{"entries":0}}
      """#)
    stage.origin.plan("/3", .picture(png()))
    try stage.fetch("/3")
    try stage.play(
      #"""
      > {"cmd":"purge"}
      < {"ok":true,"memory":{"entries":1}}
      """#)
    try stage.play(
      #"""
      < {"event":"cache","what":"stored","tier":"memory","entries":1,"seq":1}
      < {"event":"cache","what":"stored","entries":1,"seq":2}
      < {"event":"cache","what":"stored","entries":1,"seq":3}
      < {"event":"cache","what":"evicted","entries":2,"seq":4}
      < {"event":"cache","what":"purged","entries":1,"seq":5}
      < {"event":"cache","what":"purged","entries":0,"seq":6}
      < {"event":"cache","what":"stored","entries":1,"seq":7}
      < {"event":"cache","what":"removed_all","entries":1,"seq":8}
      """#, on: listener)
  }

  @Test func `a slow subscriber loses events and learns how many`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    let listener = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":["jobs"]}
      < {"id":1,"ok":true}
      """#, on: listener)
    let hit = #"{"cmd":"fetch","url":"\#(stage.base)/a"}"#
    let count = 12_000
    for _ in 0..<count / 100 {
      try stage.client.send(String(repeating: hit + "\n", count: 99) + hit)
      _ = try stage.client.receive(100)
    }
    var heard = 0
    var lost = 0
    var last: Int64 = 0
    while heard + lost < count {
      let event = try listener.receive()
      #expect(event["seq"]?.integer == last + 1)
      last = event["seq"]?.integer ?? last
      if event["event"] == .string("overflow") {
        lost += Int(event["lost"]?.integer ?? 0)
      } else {
        heard += 1
      }
    }
    #expect(lost > 0 && heard > 0)
    #expect(heard + lost == count)
  }

  @Test(arguments: ["[]", #"["weather"]"#, #""jobs""#, #"["jobs",1]"#])
  func `unknown topics are refused`(topics: String) throws {
    let stage = try CoreStage()
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":\#(topics)}
      < {"id":1,"ok":false,"error":{"code":"bad_request","details":{"field":"events"}}}
      """#)
  }
}
