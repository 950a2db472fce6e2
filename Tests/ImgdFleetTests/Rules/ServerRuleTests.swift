import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// When the server is used, when it is left alone, and for how long.
struct ServerRuleTests {
  private let digest = TestedPicture().digest
  private let timeout = DeskStage.settings.timeout

  private func ready() throws -> DeskStage {
    let stage = try DeskStage()
    try stage.waitForState(.ok)
    return stage
  }

  private func states(_ stage: DeskStage) -> [FleetState.Phase] {
    stage.all.compactMap { if case .state(let state) = $0 { state.phase } else { nil } }
  }

  // MARK: Before it is used

  @Test func `nothing can be used before the log is joined`() throws {
    let stage = try DeskStage(join: .none)
    stage.pass(.seconds(70))
    let serial = stage.begin(digest)
    #expect(stage.answers(to: serial) == ["failed"])
    #expect(stage.all.isEmpty && stage.server.attempts == 1)
    stage.order(.join(nil))
    try stage.waitForState(.ok)
    _ = try stage.claim(digest)
  }

  @Test func `nothing can be used before all purges have been told`() throws {
    let stage = try DeskStage { server in
      server.change { log in for nonce in 1...250 as ClosedRange<UInt64> { log.add(nonce) } }
      server.keepSilent("XRANGE page")
    }
    #expect(stage.all.count == 1, "the join")
    stage.server.thaw()
    let told = stage.all.map { event in
      switch event {
      case .joined: "joined"
      case .purges(let purges): "\(purges.count)"
      case .state(let state): state.phase.rawValue
      default: "else"
      }
    }
    #expect(told == ["joined", "100", "100", "50", "ok"])
  }

  @Test(arguments: ["noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random"])
  func `a server that might evict purges is refused, and told what to set`(policy: String) throws {
    let stage = try DeskStage { $0.facts["memory"]?["maxmemory_policy"] = policy }
    let reason = try stage.waitForState(.refused).reason ?? ""
    #expect(reason.contains("maxmemory-policy is \(policy)"))
    #expect(reason.contains("set maxmemory-policy volatile-lfu"))
    #expect(Set(stage.server.heard.map(\.name)) == ["INFO", "TIME"], "nothing is written")
    let serial = stage.begin(digest)
    #expect(stage.answers(to: serial) == ["failed"])
    stage.server.facts["memory"]?["maxmemory_policy"] = "volatile-lfu"
    stage.pass(.milliseconds(625))
    try stage.waitForState(.ok)
  }

  /// What each question of a new connection makes of an answer that it should not get; nil where none is needed.
  @Test(
    arguments: [
      ("INFO", .nothing, .refused), ("INFO", .number(1), .refused),
      ("INFO", .failure("ERR x"), .refused), ("INFO", .failure("LOADING x"), .down),
      ("TIME", .nothing, .refused), ("TIME", .list([.number(1), .number(2)]), .refused),
      ("TIME", .text("1"), .refused), ("TIME", .failure("NOPERM x"), .refused),
      ("SET generation", .nothing, nil), ("SET generation", .number(3), nil),
      ("SET generation", .failure("OOM x"), nil),
      ("SET generation", .failure("READONLY x"), .readOnly),
      ("SET generation", .failure("NOPERM x"), .refused),
      ("GET generation", .nothing, .down), ("GET generation", .text("mine"), .refused),
      ("GET generation", .number(5), .refused), ("GET generation", .text("-1"), .refused),
      ("GET generation", .failure("WRONGTYPE x"), .refused),
      ("XREVRANGE", .nothing, nil), ("XREVRANGE", .list([.nothing]), .refused),
      ("XREVRANGE", .list([.list([.text("7-1"), .list([])])]), .refused),
      ("XREVRANGE", .failure("WRONGTYPE x"), .refused),
      ("XRANGE heard", .number(1), nil), ("XRANGE heard", .failure("ERR x"), .refused),
      ("XRANGE page", .number(1), nil), ("XRANGE page", .list([.list([])]), .refused),
      ("XRANGE page", .list([.list([.text("0-x"), .nothing])]), .refused),
      ("XRANGE page", .list([.list([.text("0-0"), .nothing])]), .refused),
      ("XREAD", .number(1), nil), ("XREAD", .list([.nothing]), nil),
      ("XREAD", .list([.list([.text("s")])]), nil),
      ("XREAD", .list([.list([.text("s"), .list([.text("a")])])]), .refused),
      ("XREAD", .failure("UNBLOCKED x"), .down),
    ] as [(String, RedisReply, FleetState.Phase?)])
  func `an answer of a wrong kind is no end of the engine`(
    name: String, reply: RedisReply, wanted: FleetState.Phase?
  ) throws {
    let stage = try DeskStage { $0.planOnce(name, reply) }
    if let wanted {
      try stage.waitForState(wanted)
      stage.pass(wanted == .readOnly ? .seconds(2) : .milliseconds(625))
    }
    try stage.waitForState(.ok)
    _ = try stage.claim(digest)
  }

  @Test func `each connection logs in first`() throws {
    var settings = DeskStage.settings
    settings.user = "fleet"
    let stage = try DeskStage(with: settings)
    try stage.waitForState(.ok)
    stage.server.plan("GETRANGE", .text("#other:1"))
    stage.server.plan("SET", .nothing)
    _ = stage.begin(digest)
    #expect(stage.server.connections.map { $0.names.first } == ["AUTH", "AUTH", "AUTH"])
    #expect(stage.server.commands("AUTH").allSatisfy { $0.texts == ["AUTH", "fleet", ""] })
  }

  @Test func `a server that does not answer is given up after two seconds`() throws {
    let stage = try DeskStage { $0.freeze() }
    stage.pass(.seconds(2) - .nanoseconds(1))
    #expect(stage.all.isEmpty)
    stage.pass(.nanoseconds(1))
    #expect(try stage.waitForState(.down).reason?.contains("two seconds") == true)
    #expect(stage.server.open.isEmpty)
  }

  @Test(arguments: ["XREVRANGE", "XRANGE page"])
  func `a log that does not answer is given up after three seconds`(silent: String) throws {
    let stage = try DeskStage { $0.keepSilent(silent) }
    stage.pass(.seconds(3) - .nanoseconds(1))
    #expect(states(stage) == [])
    stage.pass(.nanoseconds(1))
    #expect(try stage.waitForState(.down).reason?.contains("log of purges") == true)
  }

  // MARK: While it is used

  @Test func `a server that stops is noticed without a look-up`() throws {
    let stage = try ready()
    stage.server.freeze()
    stage.pass(.seconds(3) - .nanoseconds(1))
    #expect(states(stage) == [])
    stage.pass(.nanoseconds(1))
    #expect(try stage.waitForState(.down).reason?.contains("log of purges") == true)
    stage.server.thaw()
    stage.pass(.milliseconds(625))
    try stage.waitForState(.ok)
  }

  @Test func `three answers in a row that are late are the end`() throws {
    let stage = try ready()
    stage.server.keepSilent("GETRANGE")
    for number in 1...3 {
      #expect(states(stage) == [])
      let serial = stage.begin(TestedPicture("http://o/\(number)").digest)
      stage.pass(timeout)
      #expect(stage.answers(to: serial) == ["failed"])
    }
    #expect(try stage.waitForState(.down).reason?.contains("Fleet.Timeout") == true)
    #expect(stage.server.open.isEmpty)
    stage.server.thaw()
    stage.pass(.milliseconds(625))
    try stage.waitForState(.ok)
    _ = try stage.claim(digest)
  }

  @Test func `an answer in time makes up for late ones, and one that comes after all does not`()
    throws
  {
    let stage = try ready()
    func beLate() {
      stage.server.keepSilent("GETRANGE")
      _ = stage.begin(digest, claims: false)
      stage.pass(timeout)
      stage.server.thaw()
    }
    for _ in 1...2 { beLate() }
    #expect(stage.answers(to: stage.begin(digest, claims: false)) == ["nothing"])
    for _ in 1...2 { beLate() }
    #expect(states(stage) == [])
    beLate()
    #expect(states(stage) == [.down])
  }

  @Test(arguments: [true, false])
  func `all that is under way ends once when a connection does`(isOfPictures: Bool) throws {
    let stage = try ready()
    let server = stage.server
    server.plan("GETRANGE", .text("#other:1"))
    server.plan("SET", .nothing)
    let waiting = stage.begin(digest)
    #expect(stage.answers(to: waiting) == ["held"])
    server.freeze()
    let asking = stage.begin(digest)
    let storing = stage.beginStore(TestedPicture(), generation: server.generation)
    stage.order(.send(FleetPurge(PurgeFilter(), isSoft: false, askedAt: 0, nonce: 4)))
    try server.end(isOfPictures ? server.pictures : server.purges, "Connection timed out")
    #expect(stage.answers(to: waiting) == ["failed"] && stage.answers(to: asking) == ["failed"])
    #expect(try stage.end(of: storing) == .refused("the connection has ended"))
    _ = try stage.next { if case .unsent(4, _) = $0 { true } else { nil } }
    #expect(try stage.waitForState(.down).reason?.contains("Connection timed out") == true)
    #expect(server.open.isEmpty)
    server.thaw()
    let late = stage.begin(digest)
    #expect(stage.answers(to: late) == ["failed"], "it is not asked while it is left alone")
    stage.pass(.seconds(5))
    let again = [waiting, asking].map { stage.answers(to: $0) }
    #expect(again == [[], []])
    #expect(!stage.all.contains { if case .stored = $0 { true } else { false } })
  }

  @Test func `a server is looked at each minute, and given up when it does not answer`() throws {
    let stage = try ready()
    let before = stage.server.commands("INFO").count
    stage.pass(.seconds(60) - .nanoseconds(1))
    #expect(stage.server.commands("INFO").count == before)
    stage.pass(.nanoseconds(1))
    #expect(stage.server.commands("INFO").count == 2 * before)
    stage.server.keepSilent("INFO")
    stage.pass(.seconds(60))
    #expect(states(stage) == [])
    stage.pass(.seconds(2))
    #expect(try stage.waitForState(.down).reason?.contains("two seconds") == true)
  }

  @Test func `a server whose rules have changed is used no more`() throws {
    let stage = try ready()
    stage.server.facts["memory"]?["maxmemory_policy"] = "noeviction"
    stage.pass(.seconds(60))
    try stage.waitForState(.refused)
  }

  @Test func `a server that takes nothing is read, and tried again every two seconds`() throws {
    let stage = try DeskStage { $0.facts["replication"]?["role"] = "slave" }
    try stage.waitForState(.readOnly)
    let serial = stage.begin(digest)
    #expect(stage.answers(to: serial) == ["nothing"])
    #expect(stage.answers(to: stage.confirm(digest, stamp: 1)) == ["nothing"])
    stage.order(.remove(digest))
    for name in ["SET", "SET generation", "remove"] {
      #expect(stage.server.commands(name).isEmpty, "\(name)")
    }
    stage.server.facts["replication"]?["role"] = "master"
    stage.pass(.seconds(2) - .nanoseconds(1))
    #expect(states(stage) == [])
    stage.pass(.nanoseconds(1))
    try stage.waitForState(.ok)
  }

  /// It would otherwise be read without its purges being heard.
  @Test(arguments: ["slave", "master"])
  func `a server that takes nothing and has no data yet is not used`(role: String) throws {
    let stage = try DeskStage { server in
      server.facts["replication"]?["role"] = role
      server.plan("SET generation", .failure("MISCONF x"))
      server.plan("GET generation", .nothing)
    }
    #expect(states(stage) == [.refused])
    #expect(stage.answers(to: stage.begin(digest)) == ["failed"])
    stage.server.facts["replication"]?["role"] = "master"
    stage.server.plan("SET generation", .word("OK"))
    stage.server.plan("GET generation", .text("5"))
    stage.pass(.seconds(5))
    _ = try stage.join()
    #expect(states(stage) == [.refused, .ok])
  }

  // MARK: While it is left alone

  /// How long it takes until the server is tried again.
  private func pause(_ stage: DeskStage) -> Duration {
    let before = stage.server.attempts
    for milliseconds in stride(from: 25, through: 60_000, by: 25) {
      stage.jump(.milliseconds(25))
      if stage.server.attempts > before { return .milliseconds(milliseconds) }
    }
    return .zero
  }

  /// Hosts do not all come back at once: each pause is up to a quarter shorter or longer, and the clock goes by 25 ms.
  private func expect(_ pause: Duration, near wanted: Duration) {
    #expect((wanted * 0.75...wanted * 1.25 + .milliseconds(25)).contains(pause))
  }

  @Test func `a server that is gone is tried less and less often, until it stays`() throws {
    let stage = try DeskStage { $0.refusal = FleetTrouble(.down, "Connection refused") }
    for milliseconds in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
      expect(pause(stage), near: .milliseconds(milliseconds))
    }
    #expect(states(stage) == [.down], "once told")
    stage.server.refusal = nil
    _ = pause(stage)
    try stage.waitForState(.ok)
    stage.pass(.seconds(9))
    try stage.server.end(stage.server.pictures)
    expect(pause(stage), near: .seconds(30))
    stage.pass(.seconds(10))
    try stage.server.end(stage.server.pictures)
    expect(pause(stage), near: .milliseconds(500))
  }
}
