import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// A server that Sentinels find.
struct SentinelTests {
  private static let sentinels = ["10.0.0.1:26379", "10.0.0.2:26379", "[fd00::3]:7"]
  private static let settings = FleetSettings(
    server: .sentinel(
      [
        .init(host: "10.0.0.1", port: 26_379), .init(host: "10.0.0.2", port: 26_379),
        .init(host: "fd00::3", port: 7),
      ], master: "mymaster"))
  private let digest = TestedPicture().digest

  private static func master(_ host: String) -> RedisReply { .list([.text(host), .text("6379")]) }

  private func make(user: String? = nil, plan: (DeskPlan) -> Void = { _ in }) throws -> DeskStage {
    var settings = Self.settings
    settings.user = user
    return try DeskStage(with: settings, others: Self.sentinels) { all in
      for sentinel in all.others.values { sentinel.plan("SENTINEL", Self.master("10.0.0.9")) }
      plan(all)
    }
  }

  private func asked(_ stage: DeskStage) throws -> [Int] {
    try Self.sentinels.map { try stage.server(at: $0).attempts }
  }

  private func states(_ stage: DeskStage) -> [FleetState.Phase] {
    stage.all.compactMap { if case .state(let state) = $0 { state.phase } else { nil } }
  }

  @Test func `the first Sentinel names the master, and all connections go there`() throws {
    let stage = try make()
    try stage.waitForState(.ok)
    #expect(try asked(stage) == [1, 0, 0])
    let question = try stage.server(at: Self.sentinels[0]).commands("SENTINEL").first
    #expect(question?.texts == ["SENTINEL", "get-master-addr-by-name", "mymaster"])
    #expect(try stage.server(at: Self.sentinels[0]).open.isEmpty)
    stage.server.plan("GETRANGE", .text("#other:1"))
    stage.server.plan("SET", .nothing)
    _ = stage.begin(digest)
    #expect(stage.server.open.map(\.place) == Array(repeating: .tcp(address: "10.0.0.9", port: 6_379), count: 3))
  }

  /// It takes what it is asked for as before, and hosts that connect anew do not hear of it.
  @Test func `a master that another one has replaced is left, whatever it says itself`() throws {
    let stage = try make()
    try stage.waitForState(.ok)
    stage.pass(.seconds(5))
    #expect(try states(stage) == [] && asked(stage) == [3, 0, 0])
    for name in Self.sentinels { try stage.server(at: name).plan("SENTINEL", Self.master("10.0.0.8")) }
    stage.pass(.seconds(2))
    let state = try stage.waitForState(.down)
    #expect(state.reason?.hasSuffix("a Sentinel names another master") == true)
    stage.pass(.seconds(1))
    #expect(stage.server.open.allSatisfy { $0.place == .tcp(address: "10.0.0.8", port: 6_379) })
    try stage.waitForState(.ok)
  }

  @Test func `Sentinels that no longer answer change nothing about a master that does`() throws {
    let stage = try make()
    try stage.waitForState(.ok)
    for name in Self.sentinels { try stage.server(at: name).refusal = FleetTrouble(.down, "Connection refused") }
    stage.pass(.seconds(10))
    #expect(states(stage) == [])
  }

  @Test func `a Sentinel that is dead costs half a second, and is asked last the next time`() throws {
    let stage = try make { $0.others["10.0.0.1:26379"]?.freeze() }
    stage.pass(.milliseconds(500) - .nanoseconds(1))
    #expect(states(stage) == [])
    stage.pass(.nanoseconds(1))
    try stage.waitForState(.ok)
    #expect(try stage.server(at: Self.sentinels[0]).open.isEmpty)
    try stage.server.end(stage.server.purges)
    stage.pass(.seconds(1))
    #expect(states(stage) == [.down, .ok])
    #expect(try asked(stage) == [1, 2, 0])
  }

  @Test func `a Sentinel that refuses or answers nonsense is passed over at once`() throws {
    let stage = try make { all in
      all.others["10.0.0.1:26379"]?.refusal = FleetTrouble(.down, "Connection refused")
      all.others["10.0.0.2:26379"]?.plan("SENTINEL", .list([.text("a b"), .text("70000")]))
    }
    try stage.waitForState(.ok)
    #expect(try asked(stage) == [1, 1, 1])
  }

  @Test func `a name that no Sentinel knows is refused, whoever else is away`() throws {
    let stage = try make { all in
      all.others["10.0.0.1:26379"]?.refusal = FleetTrouble(.down, "Connection refused")
      for name in Self.sentinels.dropFirst() { all.others[name]?.plan("SENTINEL", .nothing) }
    }
    let reason = try stage.waitForState(.refused).reason ?? ""
    #expect(reason.contains("sentinel://10.0.0.1:26379,10.0.0.2:26379,[fd00::3]:7/mymaster: "))
    #expect(reason.contains("the Sentinel [fd00::3]:7: it knows no master of the name “mymaster”"))
    #expect(stage.server.attempts == 0)
  }

  @Test func `without any Sentinel the server is down, and each says why`() throws {
    let stage = try make { all in
      for sentinel in all.others.values { sentinel.refusal = FleetTrouble(.down, "Connection refused") }
    }
    let reason = try stage.waitForState(.down).reason ?? ""
    for name in Self.sentinels { #expect(reason.contains("the Sentinel \(name): Connection refused")) }
    let before = try asked(stage)
    stage.pass(.seconds(20))
    #expect(try asked(stage)[0] >= before[0] + 9, "every two seconds at least")
  }

  @Test func `a Sentinel that asks for a login gets that of the server`() throws {
    let stage = try make(user: "fleet") { all in
      all.others["10.0.0.1:26379"]?.planOnce("SENTINEL", .failure("NOAUTH Authentication required."))
    }
    try stage.waitForState(.ok)
    let heard = try stage.server(at: Self.sentinels[0]).heard.map(\.texts.first)
    #expect(heard == ["SENTINEL", "AUTH", "SENTINEL"])
  }

  @Test func `a Sentinel that takes no login is passed over, and says so`() throws {
    let stage = try make(user: "fleet") { all in
      for sentinel in all.others.values {
        sentinel.plan("SENTINEL", .failure("NOAUTH x"))
        sentinel.plan("AUTH", .failure("WRONGPASS x"))
      }
    }
    #expect(try stage.waitForState(.refused).reason?.contains("user or password are wrong") == true)
  }

  // MARK: Another master

  @Test func `a master that has become a replica is left, and the Sentinel asked again`() throws {
    let stage = try make()
    try stage.waitForState(.ok)
    stage.server.planOnce("SET", .failure("READONLY You can't write against a read only replica."))
    _ = stage.begin(digest)
    let reason = try stage.waitForState(.down).reason ?? ""
    #expect(reason.contains("/mymaster (its master is at 10.0.0.9:6379): it is a replica"))
    try stage.server(at: Self.sentinels[0]).plan("SENTINEL", Self.master("10.0.0.8"))
    stage.pass(.seconds(2))
    try stage.waitForState(.ok)
    #expect(Set(stage.server.open.map(\.place.description)) == ["10.0.0.8:6379"])
  }

  @Test func `a Sentinel that names a replica is asked again every two seconds`() throws {
    let stage = try make { $0.server.facts["replication"]?["role"] = "slave" }
    try stage.waitForState(.down)
    stage.pass(.seconds(30))
    #expect(states(stage).allSatisfy { $0 == .down })
    #expect(try asked(stage)[0] >= 15)
    stage.server.facts["replication"]?["role"] = "master"
    stage.pass(.seconds(2))
    try stage.waitForState(.ok)
  }

  @Test func `a master that cannot save is no replica`() throws {
    let stage = try make { $0.server.plan("SET generation", .failure("MISCONF x")) }
    try stage.waitForState(.readOnly)
    #expect(try asked(stage) == [1, 0, 0])
  }
}
