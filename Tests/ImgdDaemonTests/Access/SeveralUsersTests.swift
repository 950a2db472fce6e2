import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon

/// What users see of each other's pictures, and may remove of them, in a daemon that serves a machine.
struct SeveralUsersTests {
  private static let (a, b): (UInt32, UInt32) = (4_001, 4_002)
  private static let hour = [("Cache-Control", "max-age=3600")]
  private static let one = "11111111-1111-4111-8111-111111111111"

  private func stage(_ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(settings)
    for number in 0..<60 {
      stage.origin.plan("/secret\(number)", .conditional(png(1_000), tag: "\"1\"", headers: Self.hour))
    }
    return stage
  }

  @discardableResult private func fetch(
    _ path: String, as client: TestClient, of stage: CoreStage, _ fields: String = #""deliver":"none""#
  ) throws -> String {
    try client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url(path))",\#(fields)}"#).outcome
  }

  private func entries(_ tier: String, of client: TestClient, _ stage: CoreStage) throws -> Int {
    stage.settle()
    return try client.ask(#"{"cmd":"entries","tier":"\#(tier)"}"#)["entries"]?.array?.count ?? -1
  }

  private func purge(_ fields: String, as client: TestClient, _ stage: CoreStage) throws -> [Int] {
    stage.settle()
    let line = try client.ask(#"{"cmd":"purge",\#(fields)}"#)
    return ["memory", "disk"].map { Int(line[$0]?["entries"]?.integer ?? -1) }
  }

  /// What a client has been told and has not read.
  private func all(of client: TestClient) throws -> [JSONValue] {
    var lines: [JSONValue] = []
    while let line = try client.receiveNow() { lines.append(line) }
    return lines
  }

  // MARK: Together

  @Test(arguments: [false, true])
  func `a purge takes the claim on a download that another waits for, too`(isFirst: Bool) throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/both", .held(at: gate, then: .picture(png(1_000), headers: Self.hour)))
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    let url = stage.origin.url("/both")
    for client in isFirst ? [a, b] : [b, a] {
      try client.sendRaw(Array(#"{"cmd":"fetch","id":1,"url":"\#(url)","deliver":"none"}"#.utf8) + [10])
      stage.settle()
    }
    try a.sendRaw(Array(#"{"cmd":"purge","id":2,"url":"\#(url)"}"#.utf8) + [10])
    stage.settle()
    gate.open()
    stage.settle()
    _ = (try all(of: a), try all(of: b))
    for tier in ["memory", "disk"] {
      #expect(try entries(tier, of: a, stage) == 0)
      #expect(try entries(tier, of: b, stage) == 1)
    }
  }

  @Test func `a download that all who wait have purged is kept nowhere`() throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/both", .held(at: gate, then: .picture(png(1_000), headers: Self.hour)))
    let clients = [try stage.connect(as: Self.a), try stage.connect(as: Self.b)]
    let url = stage.origin.url("/both")
    for verb in [#""fetch","id":1,"deliver":"none""#, #""purge","id":2"#] {
      for client in clients {
        try client.sendRaw(Array(#"{"cmd":\#(verb),"url":"\#(url)"}"#.utf8) + [10])
        stage.settle()
      }
    }
    gate.open()
    stage.settle()
    for client in clients {
      _ = try all(of: client)
      #expect(try entries("memory", of: client, stage) + entries("disk", of: client, stage) == 0)
    }
    #expect(stage.core.memory.count == 0 && stage.core.disk.count == 0)
  }

  @Test func `both tiers agree on whose a picture is that only the disk had`() throws {
    let stage = try stage()
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    try fetch("/secret1", as: a, of: stage)
    stage.settle()
    _ = try stage.connect(as: 0).ask(#"{"cmd":"purge","tier":"memory"}"#)
    try fetch("/secret1", as: b, of: stage, #""deliver":"none","cache":"reload""#)
    for client in [a, b] {
      #expect(try entries("memory", of: client, stage) == 1)
      #expect(try entries("disk", of: client, stage) == 1)
    }
    #expect(try purge(#""url":"\#(stage.origin.url("/secret1"))""#, as: b, stage) == [1, 1])
    #expect(try entries("disk", of: b, stage) == 0)
    #expect(try entries("disk", of: a, stage) == 1)
    #expect(try entries("memory", of: a, stage) == 1)
  }

  // MARK: Seeing

  @Test func `nothing that a user may ask for or hears tells of another's pictures`() throws {
    let stage = try stage("Downloads.MaxActive=2")
    let gate = Gate()
    stage.origin.plan("/secret-held", .held(at: gate, then: .picture(png(1_000))))
    stage.origin.plan("/secret-gone", .status(404))
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    var heard = [try b.ask(#"{"cmd":"subscribe","events":["jobs","cache","config","pressure"]}"#).text]
    for number in 0..<50 { try fetch("/secret\(number)", as: a, of: stage) }
    try fetch("/secret0", as: a, of: stage)
    try fetch("/secret0", as: a, of: stage)
    #expect(try fetch("/secret-gone", as: a, of: stage) == "http_status")
    try fetch(
      "/secret-held", as: a, of: stage, #""receipt":"\#(Self.one)","wait":false,"slot":"secret","tags":["secret"]"#)
    for line in [
      #"{"cmd":"list"}"#, #"{"cmd":"slots"}"#, #"{"cmd":"entries"}"#, #"{"cmd":"entries","tier":"disk"}"#,
      #"{"cmd":"stats"}"#, #"{"cmd":"origins"}"#, #"{"cmd":"clients"}"#, #"{"cmd":"failures"}"#,
      #"{"cmd":"entries","contains":"secret"}"#, #"{"cmd":"entries","tier":"disk","contains":"secret"}"#,
      #"{"cmd":"config"}"#, #"{"cmd":"hello"}"#, #"{"cmd":"ping"}"#,
      #"{"cmd":"cancel","receipt":"\#(Self.one)"}"#, #"{"cmd":"wait","receipt":"\#(Self.one)"}"#,
      #"{"cmd":"cancel","all":true}"#, #"{"cmd":"cancel","tag":"secret"}"#, #"{"cmd":"purge"}"#,
      #"{"cmd":"purge","tag":"secret"}"#,
      #"{"cmd":"subscribe","events":["jobs","cache"]}"#,
    ] {
      try b.sendRaw(Array((line + "\n").utf8))
      stage.settle()
    }
    gate.open()
    stage.settle()
    #expect(try purge(#""prefix":"http""#, as: a, stage)[0] > 50)
    heard += try all(of: b).map(\.text)
    #expect(heard.count > 17)
    #expect(heard.filter { $0.contains("/secret") || $0.contains("\(Self.a)") } == [])
    #expect(heard.filter { $0.contains(stage.origin.url("")) } == [])
    // The query has to name a URL, and finds nothing of what another has asked for.
    for number in 0..<50 { try fetch("/secret\(number)", as: a, of: stage) }
    for tier in ["memory", "disk"] {
      if tier == "disk" { _ = try stage.connect().ask(#"{"cmd":"purge","tier":"memory"}"#) }
      for (client, found) in [(a, tier), (try stage.connect(as: Self.b), "none")] {
        stage.settle()
        let line = try client.ask(#"{"cmd":"query","url":"\#(stage.origin.url("/secret7"))"}"#)
        #expect(line["tier"]?.string == found)
      }
    }
  }

  @Test func `a user sees what it has asked for, first or later, and administrators see all`() throws {
    let stage = try stage()
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    let listener = try stage.connect(as: Self.b)
    _ = try listener.ask(#"{"cmd":"subscribe","events":["jobs","cache"]}"#)
    try fetch("/secret1", as: a, of: stage)
    try fetch("/secret2", as: a, of: stage)
    #expect(try fetch("/secret1", as: b, of: stage) == "memory")
    for tier in ["memory", "disk"] {
      #expect(try entries(tier, of: a, stage) == 2)
      #expect(try entries(tier, of: b, stage) == 1)
      #expect(try entries(tier, of: stage.connect(), stage) == 2)
    }
    let events = try all(of: listener)
    #expect(events.count == 1 && events.allSatisfy { $0["url"]?.string == stage.origin.url("/secret1") })
    let own = try b.ask(#"{"cmd":"stats"}"#)
    #expect(own["memory"]?["entries"] == 0 && own["downloads"] == nil && own["origins"] == nil)
    #expect(try a.ask(#"{"cmd":"stats"}"#)["disk"]?["entries"] == 2)
    try stage.restart()
    #expect(try entries("disk", of: stage.connect(as: Self.a), stage) == 2)
    #expect(try entries("disk", of: stage.connect(as: Self.b), stage) == 1)
  }

  @Test(arguments: [
    #""deliver":"none""#, #""deliver":"path""#, #""deliver":"inline""#, #""describe":true"#,
    #""resize":{"width":8,"height":4}"#, #""cache":"force-cache""#,
  ])
  func `every hit counts as asking, in memory, on disk and along with a download`(fields: String) throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/secret1", .held(at: gate, then: .picture(png(1_000), headers: Self.hour)))
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    let line = #"{"cmd":"fetch","url":"\#(stage.origin.url("/secret1"))",\#(fields)}"#
    for client in [a, b] { try client.sendRaw(Array((line + "\n").utf8)) }
    stage.settle()
    gate.open()
    for client in [a, b] { #expect(try client.receive()["ok"] == true) }
    let (c, d) = (try stage.connect(as: 4_003), try stage.connect(as: 4_004))
    // The third line is of a known shape.
    for client in [c, c, c] { #expect(try client.ask(line)["source"]?.string == "memory") }
    for client in [a, b, c] { #expect(try entries("disk", of: client, stage) >= 1) }
    _ = try stage.connect().ask(#"{"cmd":"purge","tier":"memory"}"#)
    #expect(try d.ask(line)["source"]?.string == "disk")
    #expect(try entries("disk", of: d, stage) >= 1)
    #expect(try entries("memory", of: stage.connect(as: 4_005), stage) == 0)
    #expect(stage.origin.count("/secret1") == 1)
  }

  @Test func `who only looks has asked for nothing`() throws {
    let stage = try stage()
    try fetch("/secret1", as: try stage.connect(as: Self.a), of: stage)
    let b = try stage.connect(as: Self.b)
    for _ in 0..<3 { #expect(try fetch("/secret1", as: b, of: stage, #""cache":"peek""#) == "memory") }
    #expect(try entries("memory", of: b, stage) == 0)
  }

  @Test func `a daemon of a single user's own keeps no claims`() throws {
    let stage = try stage("Control.See=all", "Control.Purge=all")
    for uid in [Self.a, Self.b] { try fetch("/secret1", as: try stage.connect(as: uid), of: stage) }
    let images = stage.core.memory.page(after: nil, limit: 10).images
    #expect(images.map(\.tags) == [[]])
    #expect(try entries("memory", of: try stage.connect(as: 4_009), stage) == 1)
    #expect(try purge(#""prefix":"http""#, as: try stage.connect(as: 4_009), stage) == [1, 1])
  }

  // MARK: Purging

  @Test func `a purge takes away what is one's own, and the entry with the last claim`() throws {
    let stage = try stage()
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    for number in 0..<50 { try fetch("/secret\(number)", as: a, of: stage) }
    let all = try b.ask(#"{"cmd":"purge"}"#)
    #expect(all.failureCode == "forbidden")
    #expect(try b.ask(#"{"cmd":"purge","older_than":0}"#).failureCode == "forbidden")
    let url = #""url":"\#(stage.origin.url("/secret1"))""#
    #expect(try purge(url, as: b, stage) == [0, 0])
    #expect(try entries("memory", of: a, stage) == 50)
    try fetch("/secret1", as: b, of: stage)
    #expect(try purge(url, as: b, stage) == [1, 1])
    #expect(try entries("memory", of: b, stage) == 0)
    #expect(try entries("disk", of: b, stage) == 0)
    #expect(try fetch("/secret1", as: a, of: stage, #""cache":"only-if-cached""#) == "memory")
    try fetch("/secret1", as: b, of: stage)
    // Then it is the other's alone.
    #expect(try purge(url, as: a, stage) == [1, 1])
    #expect(try entries("disk", of: a, stage) == 49)
    try stage.restart()
    let (c, d) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    #expect(try entries("disk", of: c, stage) == 49)
    #expect(try entries("disk", of: d, stage) == 1)
    #expect(try purge(url, as: d, stage) == [0, 1])
    #expect(try fetch("/secret1", as: c, of: stage, #""cache":"only-if-cached""#) == "not_cached")
    #expect(try purge(#""prefix":"http""#, as: c, stage) == [0, 49])
    try stage.restart()
    #expect(try entries("disk", of: stage.connect(), stage) == 0)
  }

  @Test(arguments: [false, true])
  func `a purge makes a download void that nobody else waits for`(isShared: Bool) throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/held", .held(at: gate, then: .picture(png(1_000), headers: Self.hour)))
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    let line = Array((#"{"cmd":"fetch","url":"\#(stage.origin.url("/held"))","deliver":"none"}"# + "\n").utf8)
    try a.sendRaw(line)
    if isShared { try b.sendRaw(line) }
    stage.settle()
    _ = try purge(#""url":"\#(stage.origin.url("/held"))""#, as: try stage.connect(as: Self.a), stage)
    gate.open()
    #expect(try a.receive()["ok"] == true)
    stage.settle()
    #expect(stage.core.memory.count == (isShared ? 1 : 0) && stage.core.disk.count == (isShared ? 1 : 0))
  }

  @Test(arguments: ["memory", "disk"])
  func `a user sees the tags that are the user's own, and purges by these`(tier: String) throws {
    let stage = try stage("Memory.Capacity=\(tier == "disk" ? "0" : "64M")")
    let (a, b, root) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b), try stage.connect(as: 0))
    func tags(_ client: TestClient) throws -> [String?]? {
      stage.settle()
      return try client.ask(#"{"cmd":"query","url":"\#(stage.origin.url("/secret1"))"}"#)["tags"]?.array?.map(\.string)
    }
    for (client, own) in [(a, "album"), (b, "news"), (a, "album")] {
      try fetch("/secret1", as: client, of: stage, #""deliver":"none","tags":["\#(own)","both"]"#)
    }
    #expect(try tags(a) == ["album", "both"] && tags(b) == ["both", "news"])
    #expect(try tags(root) == ["album", "both", "news"])
    #expect(try purge(#""tag":"album""#, as: b, stage) == [0, 0])
    let here = tier == "disk" ? [0, 1] : [1, 1]
    #expect(try purge(#""tag":"news""#, as: b, stage) == here)
    #expect(try entries(tier, of: b, stage) == 0 && tags(a) == ["album", "both"] && tags(root) == ["album", "both"])
    #expect(try purge(#""tag":"both""#, as: root, stage) == here)
    #expect(try entries(tier, of: a, stage) == 0)
  }

  @Test(arguments: [#""older_than":0"#, #""unused_for":0"#])
  func `an own purge by age takes what is a moment old, on disk as well`(age: String) throws {
    let stage = try stage("Memory.Capacity=0")
    let a = try stage.connect(as: Self.a)
    for number in 1...3 { try fetch("/secret\(number)", as: a, of: stage) }
    #expect(try purge(#""prefix":"http",\#(age)"#, as: a, stage) == [0, 3])
  }

  @Test func `a flood of tags is the flooding user's, and a reload leaves the others' tags`() throws {
    let stage = try stage()
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    try fetch("/secret1", as: a, of: stage, #""deliver":"none","tags":["album"]"#)
    for round in 0..<5 {
      let tags = (0..<16).map { #""\#(round).\#($0)""# }.joined(separator: ",")
      try fetch("/secret1", as: b, of: stage, #""deliver":"none","tags":[\#(tags)]"#)
    }
    #expect(try purge(#""tag":"other""#, as: a, stage) == [0, 0])
    try fetch("/secret1", as: b, of: stage, #""deliver":"none","cache":"reload""#)
    #expect(try purge(#""tag":"4.15""#, as: b, stage) == [1, 1])
    #expect(try purge(#""tag":"album""#, as: a, stage) == [1, 1])
    #expect(stage.core.memory.count == 0 && stage.core.disk.count == 0)
  }

  @Test func `a soft purge marks what nobody else has asked for`() throws {
    let stage = try stage()
    let (a, b) = (try stage.connect(as: Self.a), try stage.connect(as: Self.b))
    for path in ["/secret1", "/secret2"] { try fetch(path, as: a, of: stage) }
    try fetch("/secret2", as: b, of: stage)
    // What another has asked for counts as well, or the number would say that somebody has.
    #expect(try purge(#""prefix":"http","soft":true"#, as: a, stage) == [2, 2])
    #expect(try fetch("/secret1", as: b, of: stage) == "revalidated")
    #expect(try fetch("/secret2", as: b, of: stage) == "memory")
  }

  @Test func `the ninth user is not known by name, and its claim outlives the others`() throws {
    let stage = try stage()
    for uid in 5_001...5_010 as ClosedRange<UInt32> { try fetch("/secret1", as: try stage.connect(as: uid), of: stage) }
    #expect(try entries("memory", of: stage.connect(as: 5_008), stage) == 1)
    for tier in ["memory", "disk"] { #expect(try entries(tier, of: stage.connect(as: 5_009), stage) == 0) }
    for uid in 5_001...5_010 as ClosedRange<UInt32> {
      _ = try purge(#""prefix":"http""#, as: try stage.connect(as: uid), stage)
    }
    let admin = try stage.connect()
    #expect(try entries("memory", of: admin, stage) == 1)
    #expect(try entries("disk", of: admin, stage) == 1)
    #expect(try purge(#""prefix":"http""#, as: admin, stage) == [1, 1])
  }

  // MARK: Connecting

  @Test func `who is not allowed gets one line, and is closed`() throws {
    let stage = try stage("Control.Allow=4001")
    #expect(try stage.connect(as: Self.a).ask(#"{"cmd":"ping"}"#)["ok"] == true)
    let refused = try stage.connect(as: Self.b)
    let lines = try all(of: refused)
    #expect(try refused.isClosedByDaemon())
    #expect(lines.map(\.failureCode) == ["forbidden"])
    #expect(try stage.connect().ask(#"{"cmd":"ping"}"#)["ok"] == true)
    try stage.apply("Control.Allow=4001 4002")
    #expect(try stage.connect(as: Self.b).ask(#"{"cmd":"ping"}"#)["ok"] == true)
  }
}
