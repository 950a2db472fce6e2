import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// The stage itself: tests rely on its limits.
struct DeskStageTests {
  private let digest = TestedPicture().digest

  @Test func `a missing event fails at once and is named`() throws {
    let stage = try DeskStage()
    stage.server.freeze()
    let serial = stage.begin(digest)
    let failure = #expect(throws: TestFailure.self) { try stage.answer(serial) }
    #expect(failure?.description.contains("no answer to \(serial)") == true)
  }

  @Test func `a command without an answer keeps those behind it waiting, on its connection alone`()
    throws
  {
    let stage = try DeskStage()
    stage.server.keepSilent("GETRANGE")
    let (first, second) = (stage.begin(digest, claims: false), stage.begin(digest, claims: false))
    stage.order(.send(FleetPurge(PurgeFilter(), isSoft: false, askedAt: 0, nonce: 4)))
    stage.server.change { $0.add(4) }
    #expect(try stage.purges().map(\.number) == [1])
    try stage.server.answer(.bytes([]), to: "GETRANGE")
    #expect([stage.answers(to: first), stage.answers(to: second)] == [["nothing"], []])
    #expect(throws: TestFailure.self) { try stage.server.answer(.number(1), to: "purge") }
    try stage.server.answer(.bytes([]), to: "GETRANGE")
    _ = try stage.next { if case .sent(4) = $0 { true } else { nil } }
  }

  @Test func `time stands still until the test turns the clock`() throws {
    let stage = try DeskStage()
    let before = stage.server.commands("XREAD").count
    stage.settle()
    #expect(stage.server.commands("XREAD").count == before)
    stage.pass(.seconds(1))
    #expect(stage.server.commands("XREAD").count == before + 1)
  }

  /// What the plan makes of a command is what the commands are.
  @Test func `a command has a name, keys and arguments`() {
    let script = PlannedCommand(FleetScript.store.command(keys: ["a", "b"], ["c", "d"]))
    #expect(script.name == "store" && script.keys == ["a", "b"] && script.arguments == ["c", "d"])
    let plain = PlannedCommand(RedisCommand("GETRANGE", "a", "0", "9"))
    #expect(plain.name == "GETRANGE" && plain.keys == ["a"] && plain.arguments == ["0", "9"])
    #expect(PlannedCommand(RedisCommand("SET", "n:generation", "1")).name == "SET generation")
  }
}
