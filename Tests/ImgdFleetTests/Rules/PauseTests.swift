import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// How long a value may take: the first byte, each pause, and all of it.
struct PauseTests {
  private let stage: DeskStage
  private let picture = TestedPicture()

  init() throws {
    stage = try DeskStage()
    try stage.waitForState(.ok)
    stage.server.keepSilent("GETRANGE")
  }

  private var server: PlannedServer { stage.server }

  private func bringPart() throws { try server.bringPart(to: "GETRANGE") }

  @Test func `a value that flows is waited for`() throws {
    let serial = stage.begin(picture.digest)
    for _ in 0..<20 {
      stage.pass(.milliseconds(49))
      try bringPart()
    }
    try server.answer(picture.value(), to: "GETRANGE")
    #expect(stage.answers(to: serial) == ["arriving", "found"])
  }

  @Test func `the first byte has to come in time`() throws {
    let serial = stage.begin(picture.digest)
    stage.jump(.milliseconds(49))
    #expect(stage.answers(to: serial) == [])
    stage.jump(.milliseconds(1))
    #expect(stage.answers(to: serial) == ["failed"])
    try bringPart()
    #expect(stage.answers(to: serial) == [], "it is over")
  }

  @Test func `a pause may be as long as the time for the first byte, and no longer`() throws {
    let serial = stage.begin(picture.digest)
    stage.jump(.milliseconds(20))
    try bringPart()
    stage.jump(.milliseconds(49))
    #expect(stage.answers(to: serial) == ["arriving"])
    stage.jump(.milliseconds(1))
    #expect(stage.answers(to: serial) == ["failed"])
  }

  @Test func `a value that comes in drops ends the connection after ten seconds`() throws {
    let serial = stage.begin(picture.digest)
    for _ in 0..<399 {
      stage.jump(.milliseconds(25))
      try bringPart()
    }
    #expect(stage.answers(to: serial) == ["arriving"])
    stage.jump(.milliseconds(25))
    try bringPart()
    #expect(stage.answers(to: serial) == ["failed"])
    #expect(try stage.waitForState(.down).reason?.contains("had not arrived after 10") == true)
  }

  /// Three answers that are late in a row would end the use of the server.
  @Test func `that others wait behind a value says nothing about the server`() throws {
    let serial = stage.begin(picture.digest)
    var others: [UInt64] = []
    for number in 0..<20 {
      others.append(stage.begin(TestedPicture("http://o/\(number)").digest))
      stage.jump(.milliseconds(25))
      try bringPart()
    }
    try server.answer(picture.value(), to: "GETRANGE")
    #expect(stage.answers(to: serial) == ["arriving", "found"])
    // All but those that were begun last have gone to their origins.
    #expect(others.prefix(18).allSatisfy { stage.answers(to: $0) == ["failed"] })
    #expect(!stage.all.contains { if case .state = $0 { true } else { false } })
  }

  @Test func `a server that has fallen silent in a value is left`() throws {
    let first = stage.begin(picture.digest)
    try bringPart()
    stage.pass(.milliseconds(60))
    #expect(stage.answers(to: first) == ["arriving", "failed"])
    for _ in 0..<2 {
      _ = stage.begin(picture.digest)
      stage.pass(.milliseconds(60))
    }
    try stage.waitForState(.down)
  }

  @Test func `the time for all of it grows with the time for the first byte`() {
    #expect(FleetLook.longest(timeout: .milliseconds(50)) == .seconds(10))
    #expect(FleetLook.longest(timeout: .seconds(1)) == .seconds(64))
  }
}
