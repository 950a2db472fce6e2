import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

struct LookTests {
  @Test func `a picture that one host has stored is found by another`() throws {
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
    #expect(found.age >= .seconds(5) && found.age < .seconds(60))
    let left = try server.command("PTTL", key(picture.digest))
    guard case .number(let left) = left else { throw TestFailure("\(left)") }
    #expect(left > 10_000 && left <= 100_000)
  }

  @Test func `a look that only reads claims nothing and does not wait`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let digest = TestedPicture().digest
    guard case .nothing = try bench.look(digest, claims: false) else {
      throw TestFailure("there is something")
    }
    #expect(try server.command("EXISTS", key(digest)) == .number(0))
    _ = try bench.claim(digest)
    guard case .nothing = try bench.look(digest, claims: false) else {
      throw TestFailure("there is something")
    }
  }

  @Test func `a host that finds a claim waits, and is woken by the picture`() throws {
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let picture = TestedPicture()
    let serial = try one.claim(picture.digest)
    let waiting = other.begin(picture.digest)
    guard case .held = try other.answer(waiting) else { throw TestFailure("it is not held") }
    let generation = try server.generation()
    #expect(try one.store(picture, serial: serial, generation: generation) == .kept)
    guard case .found = try other.answer(waiting) else { throw TestFailure("it is not found") }
  }

  @Test func `a message alone wakes those who wait`() throws {
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let digest = TestedPicture().digest
    let serial = try one.claim(digest)
    let waiting = other.begin(digest)
    let start = Instant.current
    guard case .held = try other.answer(waiting) else { throw TestFailure("it is not held") }
    // The claim is left: a look of one's own finds it.
    var heard = 0
    while heard == 0 {
      if case .number(let count) = try server.command("PUBLISH", "imgd:w:\(digest.hex)", "0") {
        heard = count
      }
    }
    guard case .nothing = try other.answer(waiting) else { throw TestFailure("it waits on") }
    #expect(Instant.current - start < .milliseconds(2_900), "its patience has not ended")
    one.engine.release(serial: serial, removing: false)
  }

  @Test func `a claim that is given back is free, and those who waited fetch by themselves`()
    throws
  {
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let digest = TestedPicture().digest
    let serial = try one.claim(digest)
    let waiting = other.begin(digest)
    guard case .held = try other.answer(waiting) else { throw TestFailure("it is not held") }
    one.engine.release(serial: serial, removing: false)
    switch try other.answer(waiting) {
    case .nothing, .claimed: break
    case let answer: throw TestFailure("\(answer)")
    }
  }

  @Test func `a claim whose host has died goes to one of those who wait`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let digest = TestedPicture().digest
    try server.command("SET", key(digest), "#dead:1", "PX", "10000")
    let serials = [bench.begin(digest), bench.begin(digest)]
    for serial in serials {
      guard case .held = try bench.answer(serial) else { throw TestFailure("it is not held") }
    }
    try server.command("DEL", key(digest))
    let first = try bench.next { event -> UInt64? in
      if case .looked(let serial, .claimed) = event { serial } else { nil }
    }
    let generation = try server.generation()
    #expect(try bench.store(TestedPicture(), serial: first, generation: generation) == .kept)
    let second = serials.first { $0 != first } ?? 0
    guard case .found = try bench.answer(second) else { throw TestFailure("it is not found") }
  }

  @Test func `a host that has waited three seconds fetches by itself`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let digest = TestedPicture().digest
    try server.command("SET", key(digest), "#slow:1")
    let serial = bench.begin(digest)
    let start = Instant.current
    guard case .held = try bench.answer(serial) else { throw TestFailure("it is not held") }
    guard case .nothing = try bench.answer(serial) else { throw TestFailure("it waits on") }
    #expect(Instant.current - start >= .milliseconds(2_900))
    #expect(try server.command("GET", key(digest)).text == "#slow:1")
    // A claim that nobody has set an end to would cost everybody as much for ever.
    try server.wait("end of the claim") {
      guard case .number(let left) = try server.command("PTTL", key(digest)) else { return false }
      return (1...10_000).contains(left)
    }
  }

  @Test func `a look that was given up leaves no claim`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let digest = TestedPicture().digest
    server.freeze()
    let serial = bench.begin(digest)
    bench.settle()
    bench.engine.release(serial: serial, removing: false)
    bench.settle()
    server.thaw()
    // The next one asks behind the first one's claim, and its end.
    _ = try bench.look(TestedPicture("http://o/b").digest)
    _ = try bench.look(TestedPicture("http://o/b").digest, claims: false)
    #expect(try server.command("EXISTS", key(digest)) == .number(0))
    #expect(bench.all.allSatisfy { if case .looked(serial, _) = $0 { false } else { true } })
  }

  @Test func `a claim is renewed while it stands`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let digest = TestedPicture().digest
    let serial = try bench.claim(digest)
    try server.command("PEXPIRE", key(digest), "5000")
    bench.engine.renew(serial: serial)
    _ = try bench.look(digest, claims: false)
    guard case .number(let left) = try server.command("PTTL", key(digest)) else { return }
    #expect(left > 5_000)
    // Somebody else's is not.
    try server.command("SET", key(digest), "#other:1", "PX", "5000")
    bench.engine.renew(serial: serial)
    _ = try bench.look(digest, claims: false)
    guard case .number(let others) = try server.command("PTTL", key(digest)) else { return }
    #expect(others <= 5_000)
  }
}
