import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

@Suite(.eachServer) struct LookTests {
  @Test func `a picture that one host has stored is found by another`() throws {
    let begun = Instant.current
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let picture = TestedPicture(count: 200_000)
    let serial = try one.claim(picture.digest)
    let generation = try server.generation()
    let outcome = try one.store(
      picture, serial: serial, age: .seconds(5), generation: generation)
    #expect(outcome == .kept)
    guard case .found(let found) = try other.look(picture.digest) else {
      throw TestFailure("it is not found")
    }
    #expect(found.record == picture.record)
    #expect(found.payload.bytes == picture.payload.bytes)
    #expect(found.mark == FleetPosition(generation: generation, number: 7, nonce: 9))
    #expect(found.age >= .seconds(5) && found.age <= .seconds(7) + (.current - begun))
    let left = try server.command("PTTL", key(picture.digest))
    guard case .number(let left) = left else { throw TestFailure("\(left)") }
    #expect(left > 10_000 && left <= 100_000)
  }

  /// A host that waits while its clock stands: only a message wakes it.
  private func wait(for digest: KeyDigest, on server: RedisServer) throws -> (DeskStage, UInt64) {
    let stage = try DeskStage(on: server)
    let serial = stage.begin(digest)
    guard case .held = try stage.answer(serial) else { throw TestFailure("it is not held") }
    let channel = "imgd:w:\(digest.hex)"
    try stage.turn("subscription") {
      try server.command("PUBSUB", "NUMSUB", channel).list?.last == .number(1)
    }
    return (stage, serial)
  }

  @Test func `a host that finds a claim waits, and is woken by the picture`() throws {
    let server = try RedisServer()
    let one = try FleetBench(on: server)
    let picture = TestedPicture()
    let serial = try one.claim(picture.digest)
    let (other, waiting) = try wait(for: picture.digest, on: server)
    let generation = try server.generation()
    #expect(try one.store(picture, serial: serial, generation: generation) == .kept)
    guard case .found = try other.answer(waiting) else { throw TestFailure("it is not found") }
  }

  @Test func `a claim that is given back is free, and those who waited fetch by themselves`()
    throws
  {
    let server = try RedisServer()
    let one = try FleetBench(on: server)
    let digest = TestedPicture().digest
    let serial = try one.claim(digest)
    let (other, waiting) = try wait(for: digest, on: server)
    one.order(.release(serial: serial, removing: false))
    guard case .nothing = try other.answer(waiting) else { throw TestFailure("it waits on") }
    #expect(try server.command("EXISTS", key(digest)) == .number(0))
  }

  /// Who has waited for long enough sends this.
  @Test func `a claim without an end gets one, and one with an end keeps it`() throws {
    let server = try RedisServer()
    let digest = TestedPicture().digest
    let bounding = PlannedCommand(
      PictureClaim(digest, .missing, host: "a", number: 1).bounding(
        in: FleetKeys(namespace: "imgd"))
    ).words
    func left() throws -> Int {
      guard case .number(let left) = try server.command("PTTL", key(digest)) else { return -1 }
      return left
    }
    try server.command("SET", key(digest), "#slow:1")
    #expect(try server.command(bounding) == .number(1))
    // Less, or over already, on a machine that is very busy.
    #expect(try left() <= 10_000 && left() != -1)
    try server.command("SET", key(digest), "#slow:1", "PX", "60000")
    #expect(try server.command(bounding) == .number(0))
    #expect(try left() > 10_000)
  }

  @Test func `a claim is renewed while it stands`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let digest = TestedPicture().digest
    let serial = try bench.claim(digest)
    // For longer than a claim has: what is renewed ends sooner.
    try server.command("PEXPIRE", key(digest), "600000")
    bench.engine.renew(serial: serial)
    _ = try bench.look(digest, claims: false)
    guard case .number(let left) = try server.command("PTTL", key(digest)) else { return }
    #expect(left <= 10_000 && left != -1)
    // Somebody else's is not.
    try server.command("SET", key(digest), "#other:1", "PX", "600000")
    bench.engine.renew(serial: serial)
    _ = try bench.look(digest, claims: false)
    guard case .number(let others) = try server.command("PTTL", key(digest)) else { return }
    #expect(others > 10_000)
  }
}
