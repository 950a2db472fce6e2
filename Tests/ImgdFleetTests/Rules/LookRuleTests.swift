import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// Looks, by the clock of the test and with what the test has the server say.
struct LookRuleTests {
  private let stage: DeskStage
  private let picture = TestedPicture()
  private let timeout = DeskStage.settings.timeout

  init() throws {
    stage = try DeskStage()
    try stage.waitForState(.ok)
  }

  private var server: PlannedServer { stage.server }

  private func count(_ name: String) -> Int { server.commands(name).count }

  /// A look that waits for another host.
  private func hold() throws -> UInt64 {
    server.plan("GETRANGE", .text("#slow:1"))
    server.plan("SET", .nothing)
    let serial = stage.begin(picture.digest)
    #expect(stage.answers(to: serial) == ["held"])
    return serial
  }

  @Test(arguments: ["", "#other:1"])
  func `a look that only reads claims nothing and does not wait`(value: String) {
    server.plan("GETRANGE", .text(value))
    let serial = stage.begin(picture.digest, claims: false)
    stage.pass(.seconds(4))
    #expect(stage.answers(to: serial) == ["nothing"])
    #expect(count("GETRANGE") == 1 && count("SET") == 0)
  }

  // MARK: Fleet.Timeout

  @Test(arguments: ["GETRANGE", "SET"])
  func `a look fails when its time is up, and not before`(silent: String) {
    server.keepSilent(silent)
    let serial = stage.begin(picture.digest)
    stage.pass(timeout - .nanoseconds(1))
    #expect(stage.answers(to: serial) == [])
    stage.pass(.nanoseconds(1))
    #expect(stage.answers(to: serial) == ["failed"])
  }

  @Test func `an answer that is there when the time is up is in time`() throws {
    server.keepSilent("GETRANGE")
    let serial = stage.begin(picture.digest)
    stage.passUnseen(timeout)
    try server.deliver(picture.value(), to: "GETRANGE")
    #expect(stage.answers(to: serial) == ["found"])
  }

  @Test func `another time applies from the next look on`() {
    stage.order(.apply(maxObject: 1 << 20, timeout: .seconds(1)))
    server.keepSilent("GETRANGE")
    let serial = stage.begin(picture.digest)
    stage.pass(.milliseconds(999))
    #expect(stage.answers(to: serial) == [])
    stage.pass(.milliseconds(1))
    #expect(stage.answers(to: serial) == ["failed"])
  }

  // MARK: Claims that nobody wants

  @Test(arguments: [true, false])
  func `a claim that comes too late is given back`(isOurs: Bool) throws {
    server.keepSilent("SET")
    let serial = stage.begin(picture.digest)
    stage.pass(timeout)
    #expect(stage.answers(to: serial) == ["failed"])
    try server.answer(isOurs ? .word("OK") : .nothing, to: "SET")
    #expect(server.commands("release").map { $0.arguments[0] } == (isOurs ? tokens : []))
    #expect(stage.answers(to: serial) == [])
  }

  @Test(arguments: [true, false])
  func `a look that was given up leaves no claim`(isOurs: Bool) throws {
    server.keepSilent("SET")
    let serial = stage.begin(picture.digest)
    stage.order(.release(serial: serial, removing: false))
    #expect(count("release") == 0)
    try server.answer(isOurs ? .word("OK") : .nothing, to: "SET")
    #expect(server.commands("release").map { $0.arguments[0] } == (isOurs ? tokens : []))
    #expect(stage.answers(to: serial) == [])
  }

  @Test func `a claim whose look finds a picture is given back`() {
    server.plan("GETRANGE", picture.value())
    let serial = stage.begin(picture.digest)
    #expect(stage.answers(to: serial) == ["found"])
    #expect(server.commands("release").map { $0.arguments[0] } == tokens)
  }

  /// What has been claimed with.
  private var tokens: [String] { server.commands("SET").map { $0.arguments[0] } }

  @Test func `a claim is renewed as long as it is held, and a stored one no more`() throws {
    let serial = try stage.claim(picture.digest)
    stage.order(.renew(serial: serial + 1))
    #expect(count("renew") == 0, "that of another look")
    stage.order(.renew(serial: serial))
    stage.order(.renew(serial: serial))
    #expect(
      server.commands("renew").map { $0.arguments } == [
        [tokens[0], "10000"], [tokens[0], "10000"],
      ])
    #expect(try stage.store(picture, serial: serial, generation: server.generation) == .kept)
    stage.order(.renew(serial: serial))
    stage.order(.release(serial: serial, removing: true))
    #expect(count("renew") == 2 && count("release") == 0)
  }

  // MARK: Waiting for another host

  @Test
  func `a host looks again after ever longer pauses, and after three seconds fetches by itself`()
    throws
  {
    let serial = try hold()
    var looks: [Int] = []
    for time in stride(from: 25, through: 3_000, by: 25) {
      let before = count("GETRANGE")
      #expect(stage.answers(to: serial) == [])
      #expect(count("PEXPIRE") == 0)
      stage.jump(.milliseconds(25))
      if count("GETRANGE") > before { looks.append(time) }
    }
    #expect(looks == [25, 75, 175] + Array(stride(from: 375, to: 3_000, by: 200)))
    #expect(stage.answers(to: serial) == ["nothing"])
    // A claim that nobody has set an end to would cost everybody as much for ever.
    #expect(server.commands("PEXPIRE").map(\.arguments) == [["10000", "NX"]])
    stage.pass(.seconds(3))
    #expect(count("PEXPIRE") == 1 && stage.answers(to: serial) == [])
  }

  @Test func `a claim whose host has died goes to one of those who wait`() throws {
    let (first, second) = (try hold(), try hold())
    server.planOnce("GETRANGE", .bytes([]))
    server.planOnce("SET", .word("OK"))
    stage.pass(.milliseconds(25))
    #expect([stage.answers(to: first), stage.answers(to: second)] == [["claimed"], []])
    #expect(try stage.store(picture, serial: first, generation: server.generation) == .kept)
    server.plan("GETRANGE", picture.value())
    stage.pass(.milliseconds(50))
    #expect(stage.answers(to: second) == ["found"])
  }

  @Test func `a late answer does not end the wait for another host`() throws {
    let serial = try hold()
    server.keepSilent("GETRANGE")
    stage.pass(.milliseconds(25) + timeout * 2)
    #expect(count("GETRANGE") == 2, "one at a time")
    #expect(stage.answers(to: serial) == [])
    server.plan("GETRANGE", picture.value())
    #expect(stage.answers(to: serial) == ["found"])
  }

  @Test func `who waits and is given up looks no more`() throws {
    let serial = try hold()
    stage.order(.release(serial: serial, removing: false))
    stage.pass(.seconds(4))
    #expect(count("GETRANGE") == 1 && count("PEXPIRE") == 0)
    #expect(stage.answers(to: serial) == [])
  }

  // MARK: Pictures that are to be confirmed

  @Test func `a picture that has been replaced is found, and the claim on it goes in silence`() {
    server.plan("GETRANGE", picture.value(stamp: 2))
    let serial = stage.confirm(picture.digest, stamp: 1)
    #expect(stage.answers(to: serial) == ["found"])
    #expect(server.commands("withdraw").map { $0.arguments } == [tokens])
    #expect(count("release") == 0 && count("SET") == 1)
  }

  @Test(
    arguments: [
      ("the same", true, "claimed"), ("the same", false, "held"), ("", true, "claimed"),
      ("", false, "nothing"),
    ] as [(String, Bool, String)])
  func `a picture is confirmed by the one who has the claim`(
    value: String, isOurs: Bool, wanted: String
  ) {
    server.plan("GETRANGE", value.isEmpty ? .bytes([]) : picture.value(stamp: 1))
    server.plan("SET", isOurs ? .word("OK") : .nothing)
    let serial = stage.confirm(picture.digest, stamp: 1)
    #expect(stage.answers(to: serial) == [wanted])
    #expect(server.commands("SET").allSatisfy { $0.keys == ["imgd:r:\(picture.digest.hex)"] })
  }

  @Test func `who waits for a confirmed picture takes the new one`() {
    server.plan("GETRANGE", picture.value(stamp: 1))
    server.plan("SET", .nothing)
    let serial = stage.confirm(picture.digest, stamp: 1)
    #expect(stage.answers(to: serial) == ["held"])
    server.plan("GETRANGE", picture.value(stamp: 2))
    stage.pass(.milliseconds(25))
    #expect(stage.answers(to: serial) == ["found"])
  }

  // MARK: Many

  @Test func `looks beyond sixteen thousand fail at once, until others have ended`() {
    server.freeze()
    let serials = (0..<16_384).map { _ in stage.nextSerial() }
    for serial in serials {
      stage.desk.receive(.look(FleetLook(serial: serial, digest: picture.digest, claims: false)))
    }
    let more = stage.begin(picture.digest, claims: false)
    #expect(stage.answers(to: more) == ["failed"])
    #expect(count("GETRANGE") == serials.count)
    server.thaw()
    #expect(stage.all.count { $0.answer(to: serials[0]) != nil } == 1)
    let next = stage.begin(picture.digest, claims: false)
    #expect(stage.answers(to: next) == ["nothing"])
  }
}
