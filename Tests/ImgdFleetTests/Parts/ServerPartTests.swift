import ImgdSystem
import Testing

@testable import ImgdFleet

struct ServerPartTests {
  // MARK: Rules

  @Test(
    arguments: [
      ("7.0.15", "volatile-lfu", "master", nil), ("8.1.0", "volatile-ttl", "master", nil),
      ("7.0.15", "volatile-lru", "slave", "read-only"),
      ("6.2.1", "volatile-lfu", "master", "refused"),
      ("7.0.15", "allkeys-lru", "slave", "refused"), ("7.0.15", "noeviction", "master", "refused"),
      ("", "volatile-lfu", "master", nil),
    ] as [(String, String, String, String?)])
  func `a server is judged by what it tells`(
    version: String, policy: String, role: String, wanted: String?
  ) {
    let rules = ServerRules([
      "# Server\r\nredis_version:\(version)\r\nos:Linux: 5\r\n",
      "maxmemory_policy:\(policy)\r\nnonsense\r\n:\r\n", "role:\(role)",
    ])
    #expect(rules.trouble(for: .purges)?.phase.rawValue == wanted)
  }

  @Test func `a server that tells nothing is refused`() {
    #expect(ServerRules([]).trouble(for: .purges)?.phase == .refused)
    #expect(ServerRules(["redis_version:7.0.0"]).trouble(for: .purges)?.phase == .refused)
  }

  @Test(arguments: [
    ("LOADING Redis is loading", FleetState.Phase.down), ("NOAUTH x", .refused),
    ("WRONGPASS x", .refused), ("NOPERM x", .refused), ("MISCONF x", .readOnly),
    ("READONLY x", .readOnly), ("UNBLOCKED x", .down), ("MOVED 1 h", .refused), ("BUSY x", .down),
  ])
  func `an error of the server has a meaning`(text: String, phase: FleetState.Phase) {
    #expect(FleetTrouble(serverSaid: text)?.phase == phase)
  }

  @Test func `an error of a command is about that command`() {
    for text in ["OOM command not allowed", "WRONGTYPE x", "ERR x", ""] {
      #expect(FleetTrouble(serverSaid: text) == nil)
    }
  }

  @Test(
    arguments: [
      ("allkeys-lfu", nil), ("allkeys-random", nil), ("volatile-lru", nil), ("noeviction", .refused),
    ] as [(String, FleetState.Phase?)])
  func `a server of pictures may evict all, and must evict something`(
    policy: String, wanted: FleetState.Phase?
  ) {
    let rules = ServerRules(["redis_version:7.0.0\r\nmaxmemory_policy:\(policy)\r\nrole:master"])
    #expect(rules.trouble(for: .pictures)?.phase == wanted)
  }

  // MARK: Breaker

  @Test func `three failures in a row are too many`() {
    var breaker = Breaker()
    #expect([breaker.failed(), breaker.failed()] == [false, false])
    breaker.answered()
    #expect([breaker.failed(), breaker.failed(), breaker.failed()] == [false, false, true])
  }

  @Test func `a server is tried less and less often until it stays`() {
    var breaker = Breaker()
    let clock = LoopClock.manual()
    let pauses = (0..<9).map { _ in breaker.open(at: clock.now, jitter: 1) }
    #expect(
      pauses
        == [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000].map {
          Duration.milliseconds($0)
        })
    breaker.close(at: clock.now)
    clock.advance(by: .seconds(9))
    #expect(breaker.open(at: clock.now, jitter: 1) == .seconds(30), "it has not stayed")
    breaker.close(at: clock.now)
    clock.advance(by: .seconds(10))
    #expect(breaker.open(at: clock.now, jitter: 1) == .milliseconds(500))
  }

  @Test func `a Sentinel is asked again within two seconds`() {
    var breaker = Breaker(isOfSentinel: true)
    let pauses = (0..<9).map { _ in breaker.open(at: LoopClock.manual().now, jitter: 1.25) }
    #expect(pauses.last == .seconds(2) && pauses.allSatisfy { $0 <= .seconds(2) })
  }

  // MARK: Clock

  @Test func `the server's clock goes on, and no age is negative`() {
    var clock = ServerClock()
    let start = Instant(nanoseconds: 0)
    let isSet = clock.set(
      .list([.bytes(Array("50".utf8)), .bytes(Array("250000".utf8))]), at: start)
    #expect(isSet)
    let later = start + .seconds(2)
    #expect(clock.time(at: later) == 52_250)
    #expect(clock.age(of: 52_000, at: later) == .milliseconds(250))
    #expect(clock.age(of: 60_000, at: later) == .zero)
  }

  @Test(arguments: [
    ["x", "1"], ["1"], ["-1", "0"], ["1", "1000000"], ["9000000000001", "0"],
    ["9223372036854775807", "0"],
  ])
  func `what is no time does not set the clock`(parts: [String]) {
    var clock = ServerClock()
    let isSet = clock.set(
      .list(parts.map { .bytes(Array($0.utf8)) }), at: Instant(nanoseconds: 0))
    #expect(!isSet && clock.time(at: Instant(nanoseconds: 0)) == 0)
  }
}
