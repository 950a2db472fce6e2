import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// One client has the daemon do all that it can think of; another one pings meanwhile.
///
/// Each look at the clock takes 10 µs here, and the daemon looks after every few steps: the time that a
/// ping waits shows how much is done in one go.
struct IsolationTests {
  /// A command over many things, and what has to be there before it is given.
  struct Attack: Sendable, CustomTestStringConvertible {
    let name: String
    var settings: [String] = ["Downloads.MaxActive=1", "Disk.Enabled=no"]
    var preparation: @Sendable (CoreStage, TestClient) throws -> Void = { _, _ in }
    let lines: @Sendable (CoreStage) -> [String]

    var testDescription: String { name }
  }

  static let attacks: [Attack] = [
    Attack(name: "a thousand stats", lines: { _ in repeated(#"{"cmd":"stats"}"#, 1_000) }),
    Attack(name: "a thousand config", lines: { _ in repeated(#"{"cmd":"config"}"#, 1_000) }),
    Attack(
      name: "twenty lists of a long queue", preparation: fillQueue,
      lines: { _ in repeated(#"{"cmd":"list"}"#, 20) }),
    Attack(
      name: "cancels that match nothing", preparation: fillQueue,
      lines: { _ in repeated(#"{"cmd":"cancel","tag":"none"}"#, 100) }),
    Attack(
      name: "a cancel of everything", preparation: fillQueue,
      lines: { _ in [#"{"cmd":"cancel","all":true}"#] }),
    Attack(
      name: "purges that match nothing", preparation: fillMemory,
      lines: { _ in repeated(#"{"cmd":"purge","tag":"none"}"#, 50) }),
    Attack(
      name: "a purge of everything", preparation: fillMemory,
      lines: { _ in [#"{"cmd":"purge"}"#] }),
    Attack(
      name: "entries with a prefix that matches nothing", preparation: fillMemory,
      lines: { _ in repeated(#"{"cmd":"entries","prefix":"http://none/"}"#, 50) }),
    Attack(
      name: "entries whose URL has nothing of a text", preparation: fillMemory,
      lines: { _ in repeated(#"{"cmd":"entries","contains":"none"}"#, 50) }),
    Attack(
      name: "a thousand clients and failures",
      lines: { _ in repeated(#"{"cmd":"clients"}"#, 500) + repeated(#"{"cmd":"failures"}"#, 500) }),
    Attack(
      name: "a slot that is taken from many fetches", preparation: fillSlot,
      lines: { [#"{"cmd":"fetch","url":"\#($0.base)/other.png","slot":"s"}"#] }),
  ]

  @Test(arguments: attacks)
  func `a ping does not wait for the work of another client`(_ attack: Attack) throws {
    let stage = try CoreStage(attack.settings)
    stage.origin.plan("/held.png", .held(at: Gate(), then: .picture(png())))
    let attacker = try stage.connect()
    try attack.preparation(stage, attacker)
    stage.settle()
    let (busy, victim) = (try stage.connectObserver(), try stage.connectObserver())
    stage.letWorkTakeTime(.microseconds(10))
    let attacking = attack.name.hasPrefix("a slot") ? attacker : busy
    try attacking.send(attack.lines(stage).joined(separator: "\n"))
    for _ in 0..<20 {
      let asked = stage.now
      try victim.send(#"{"cmd":"ping"}"#)
      var ticks = 0
      var answer: JSONValue?
      while answer == nil, ticks < 100 {
        stage.tick()
        ticks += 1
        answer = try victim.receiveNow()
      }
      #expect(answer?["ok"]?.bool == true)
      #expect(ticks <= 2)
      #expect(stage.now - asked < .milliseconds(1))
    }
    stage.letWorkTakeTime(.zero)
    stage.settle()
    _ = try busy.receiveNow()
  }

  @Test func `all who wait for one download are answered, but not in one tick`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    let waiting = try stage.connectObserver()
    try waiting.send(
      repeated(#"{"cmd":"fetch","url":"\#(stage.base)/a.png","deliver":"none"}"#, 2_000)
        .joined(separator: "\n"))
    stage.settle()
    let victim = try stage.connectObserver()
    stage.letWorkTakeTime(.microseconds(10))
    gate.open()
    var ticks = 0
    while try waiting.receiveNow() == nil, ticks < 100 {
      stage.tick()
      ticks += 1
    }
    try victim.send(#"{"cmd":"ping"}"#)
    stage.tick()
    stage.tick()
    #expect(try victim.receiveNow()?["ok"]?.bool == true)
    var early = 0
    while try waiting.receiveNow() != nil { early += 1 }
    #expect(early < 1_000)
    stage.letWorkTakeTime(.zero)
    for _ in early..<1_999 {
      // What its socket takes at once is less than all.
      stage.settle()
      #expect(try waiting.receiveNow()?["ok"]?.bool == true)
    }
  }

  @Test func `a client that leaves with many fetches holds nobody up`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1", "Disk.Enabled=no")
    var attacker: TestClient? = try stage.connect()
    try fillQueue(stage, #require(attacker))
    let victim = try stage.connectObserver()
    stage.letWorkTakeTime(.microseconds(10))
    attacker = nil
    for _ in 0..<10 {
      let asked = stage.now
      try victim.send(#"{"cmd":"ping"}"#)
      stage.tick()
      stage.tick()
      #expect(try victim.receiveNow()?["ok"]?.bool == true)
      #expect(stage.now - asked < .milliseconds(1))
    }
    stage.letWorkTakeTime(.zero)
    #expect(try stage.stats("downloads", "queued") == 0)
  }

  @Test func `many subscribers cost the one who causes the events nothing`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a.png", .picture(png()))
    let subscribers = try (0..<100).map { _ in try stage.connect() }
    for subscriber in subscribers {
      #expect(try subscriber.ask(#"{"cmd":"subscribe","events":["jobs"]}"#)["ok"]?.bool == true)
    }
    let hit = #"{"cmd":"fetch","url":"\#(stage.base)/a.png","deliver":"none"}"#
    #expect(try stage.client.ask(hit)["ok"]?.bool == true)
    stage.settle()
    let client = try stage.connectObserver()
    stage.letWorkTakeTime(.microseconds(10))
    for _ in 0..<10 {
      let asked = stage.now
      try client.send(hit)
      stage.tick()
      #expect(try client.receiveNow()?["source"]?.string == "memory")
      #expect(stage.now - asked < .milliseconds(1))
    }
    stage.letWorkTakeTime(.zero)
    for subscriber in subscribers {
      let events = try subscriber.receive(13)
      #expect(events.allSatisfy { $0["event"]?.string == "job" })
      #expect(events.compactMap { $0["seq"]?.integer } == Array(1...13))
    }
  }
}

private func repeated(_ line: String, _ count: Int) -> [String] {
  Array(repeating: line, count: count)
}

@Sendable private func fillQueue(_ stage: CoreStage, _ client: TestClient) throws {
  stage.origin.plan("/held.png", .held(at: Gate(), then: .picture(png())))
  try client.send(#"{"cmd":"fetch","url":"\#(stage.base)/held.png"}"#)
  let lines = (0..<3_000).map {
    #"{"cmd":"fetch","url":"\#(stage.base)/\#($0).png","tags":["a","b"]}"#
  }
  try client.send(lines.joined(separator: "\n"))
  stage.settle()
}

@Sendable private func fillMemory(_ stage: CoreStage, _ client: TestClient) throws {
  let lines = (0..<1_000).map {
    stage.origin.plan("/\($0).png", .picture(png()))
    return #"{"cmd":"fetch","url":"\#(stage.base)/\#($0).png","deliver":"none","tags":["a"]}"#
  }
  try client.send(lines.joined(separator: "\n"))
  _ = try client.receive(1_000)
}

@Sendable private func fillSlot(_ stage: CoreStage, _ client: TestClient) throws {
  let line = #"{"cmd":"fetch","url":"\#(stage.base)/held.png","slot":"s"}"#
  try client.send(repeated(line, 2_000).joined(separator: "\n"))
  stage.settle()
}
