import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

@Suite(.eachServer) struct StoreTests {
  @Test func `a picture that comes after its claim has ended is not stored`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let picture = TestedPicture()
    let generation = try server.generation()
    let gone = try bench.claim(picture.digest)
    try server.command("DEL", key(picture.digest))
    #expect(try bench.store(picture, serial: gone, generation: generation) == .overtaken)
    #expect(try server.command("EXISTS", key(picture.digest)) == .number(0))
    let taken = try bench.claim(picture.digest)
    try server.command("SET", key(picture.digest), "#other:1")
    #expect(try bench.store(picture, serial: taken, generation: generation) == .overtaken)
    #expect(try server.command("GET", key(picture.digest)).text == "#other:1")
  }

  @Test func `a picture without a claim takes the place of what was begun before`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let generation = try server.generation()
    let (old, new) = (TestedPicture(seed: 1), TestedPicture(seed: 2))
    #expect(try bench.store(old, begunAgo: .seconds(50), generation: generation) == .kept)
    #expect(try bench.store(new, begunAgo: .seconds(10), generation: generation) == .kept)
    #expect(try bench.store(old, begunAgo: .seconds(50), generation: generation) == .overtaken)
    guard case .found(let found) = try bench.look(old.digest) else {
      throw TestFailure("it is not found")
    }
    #expect(found.payload.bytes == new.payload.bytes)
    try server.command("SET", key(old.digest), "#other:1")
    #expect(try bench.store(new, generation: generation) == .overtaken)
    #expect(try server.command("GET", key(old.digest)).text == "#other:1")
  }

  @Test func `a full server refuses pictures and claims, and can be read`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let generation = try server.generation()
    let kept = TestedPicture("http://o/b")
    #expect(try bench.store(kept, generation: generation) == .kept)
    // Nothing that could go.
    try server.command("PERSIST", key(kept.digest))
    try server.command("CONFIG", "SET", "maxmemory", "1")
    let outcome = try bench.store(TestedPicture(), generation: generation)
    guard case .refused(let reason) = outcome else { throw TestFailure("\(outcome)") }
    #expect(reason.hasPrefix("OOM"))
    guard case .found = try bench.look(kept.digest) else { throw TestFailure("it is not found") }
    guard case .nothing = try bench.look(TestedPicture().digest) else {
      throw TestFailure("there is something")
    }
    bench.engine.send(FleetPurge(PurgeFilter(), isSoft: true, askedAt: 0, nonce: 5))
    let unsent = try bench.next { if case .unsent(5, let reason) = $0 { reason } else { nil } }
    #expect(unsent.contains("OOM"))
    #expect(!bench.all.contains { if case .state = $0 { true } else { false } })
  }

  @Test func `one host has a picture confirmed, and the others get the new one`() throws {
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let generation = try server.generation()
    let (old, new) = (TestedPicture(seed: 1), TestedPicture(seed: 2))
    #expect(try one.store(old, begunAgo: .seconds(9), generation: generation) == .kept)
    guard case .found(let found) = try one.look(old.digest) else { throw TestFailure("none") }
    let mine = one.confirm(found)
    guard case .claimed = try one.answer(mine) else { throw TestFailure("it is not claimed") }
    let waiting = other.confirm(found)
    guard case .held = try other.answer(waiting) else { throw TestFailure("it is not held") }
    guard case .found = try other.look(old.digest) else { throw TestFailure("it is hidden") }
    #expect(try one.store(new, serial: mine, generation: generation) == .kept)
    guard case .found(let renewed) = try other.answer(waiting) else {
      throw TestFailure("it is not renewed")
    }
    #expect(renewed.payload.bytes == new.payload.bytes)
    #expect(try server.command("EXISTS", "imgd:r:\(old.digest.hex)") == .number(0))
    // Who asks late gets it at once.
    guard case .found = try other.answer(other.confirm(found)) else {
      throw TestFailure("the new one is not seen")
    }
  }

  /// Another host that waits for the picture would fetch it by itself if it were told that there will be none.
  @Test func `a claim that was not needed is given back in silence`() throws {
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let generation = try server.generation()
    let (old, new) = (TestedPicture(seed: 1), TestedPicture(seed: 2))
    #expect(try one.store(old, begunAgo: .seconds(9), generation: generation) == .kept)
    guard case .found(let found) = try one.look(old.digest) else { throw TestFailure("none") }
    let mine = one.confirm(found)
    guard case .claimed = try one.answer(mine) else { throw TestFailure("it is not claimed") }
    #expect(try one.store(new, serial: mine, generation: generation) == .kept)

    let channel = "imgd:w:\(old.digest.hex)"
    let listener = try RedisConversation(path: server.socket)
    _ = try listener.answer(to: ["SUBSCRIBE", channel].map { Array($0.utf8) })
    guard case .found = try other.answer(other.confirm(found)) else {
      throw TestFailure("the new one is not seen")
    }
    #expect(try server.command("EXISTS", "imgd:r:\(old.digest.hex)") == .number(0))
    try server.command("PUBLISH", channel, "the end")
    #expect(try listener.next().list?.last?.text == "the end")
  }

  @Test func `a picture that its origin has no more goes with the claim on it`() throws {
    let server = try RedisServer()
    let (one, other) = (try FleetBench(on: server), try FleetBench(on: server))
    let generation = try server.generation()
    let picture = TestedPicture()
    #expect(try one.store(picture, generation: generation) == .kept)
    guard case .found(let found) = try one.look(picture.digest) else { throw TestFailure("none") }
    let mine = one.confirm(found)
    guard case .claimed = try one.answer(mine) else { throw TestFailure("it is not claimed") }
    let waiting = other.confirm(found)
    guard case .held = try other.answer(waiting) else { throw TestFailure("it is not held") }
    one.engine.release(serial: mine, removing: true)
    switch try other.answer(waiting) {
    case .nothing, .claimed: break
    case let answer: throw TestFailure("\(answer)")
    }
    #expect(try server.command("EXISTS", key(picture.digest)) == .number(0))
  }

  @Test func `a picture of 16 MiB is stored beside looks, and found by another host`() throws {
    let server = try RedisServer()
    let hosts = try (0..<2).map { _ in try FleetBench(on: server) { $0.maxObject = 16 << 20 } }
    let picture = TestedPicture(count: 16 << 20)
    let stored = hosts[0].beginStore(picture, generation: try server.generation())
    for number in 0..<50 {
      guard case .claimed = try hosts[0].look(TestedPicture("http://o/\(number)").digest) else {
        throw TestFailure("no claim")
      }
    }
    #expect(try hosts[0].end(of: stored) == .kept)
    guard case .found(let found) = try hosts[1].look(picture.digest) else { throw TestFailure("none") }
    #expect(found.payload.bytes == picture.payload.bytes && found.record == picture.record)
  }

  @Test func `a picture is deleted without a claim, and the claim of another host is not`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let picture = TestedPicture()
    #expect(try bench.store(picture, generation: try server.generation()) == .kept)
    bench.engine.remove(picture.digest)
    guard case .claimed = try bench.look(picture.digest) else { throw TestFailure("it is there") }
    try server.command("SET", key(picture.digest), "#other:1")
    bench.engine.remove(picture.digest)
    _ = try bench.look(TestedPicture("http://o/b").digest, claims: false)
    #expect(try server.command("GET", key(picture.digest)).text == "#other:1")
  }
}
