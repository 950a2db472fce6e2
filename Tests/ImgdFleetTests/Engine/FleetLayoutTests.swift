@testable import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// Hosts of two releases with one server: they share what both can read, and neither deletes what is the other's.
struct FleetLayoutTests {
  private struct Hosts {
    let server: RedisServer
    let old: FleetBench
    let new: FleetBench
    let generation: UInt64

    init() throws {
      server = try RedisServer()
      old = try FleetBench(on: server) { $0.layout = 1 }
      new = try FleetBench(on: server)
      generation = try server.generation()
    }

    func value(_ digest: KeyDigest) throws -> [UInt8] {
      try server.command("GET", "imgd:p:\(digest.hex)").bytes ?? []
    }

    /// Has the newer host store an answer without a picture.
    func storeAnswer(serial: UInt64? = nil, begunAgo: Duration = .zero) throws -> TestedPicture {
      let answer = TestedPicture.answer()
      #expect(try new.store(answer, serial: serial, begunAgo: begunAgo, generation: generation) == .kept)
      return answer
    }
  }

  @Test func `pictures are shared both ways`() throws {
    let hosts = try Hosts()
    for (one, other, seed) in [(hosts.old, hosts.new, 1), (hosts.new, hosts.old, 2)] {
      let picture = TestedPicture("http://o/\(seed)", seed: seed)
      let claim = try one.claim(picture.digest)
      let waiting = other.begin(picture.digest)
      guard case .held = try other.answer(waiting) else { throw TestFailure("it is not held") }
      #expect(try one.store(picture, serial: claim, generation: hosts.generation) == .kept)
      guard case .found(let found) = try other.answer(waiting) else { throw TestFailure("none") }
      #expect(found.payload.bytes == picture.payload.bytes && !found.isAnswer)
    }
  }

  @Test func `an answer is found by hosts that can read it, under the picture's key`() throws {
    let hosts = try Hosts()
    let other = try FleetBench(on: hosts.server)
    let claim = try hosts.new.claim(TestedPicture.answer().digest)
    let waiting = other.begin(TestedPicture.answer().digest)
    guard case .held = try other.answer(waiting) else { throw TestFailure("it is not held") }
    let answer = try hosts.storeAnswer(serial: claim)
    guard case .found(let found) = try other.answer(waiting) else { throw TestFailure("none") }
    #expect(found.isAnswer && found.record.status == 404)
    #expect(try hosts.value(answer.digest).prefix(5) == Array("IMGF".utf8) + [2])
    // A picture that is stored later takes its place.
    let picture = TestedPicture()
    #expect(picture.digest == answer.digest)
    let replacing = other.confirm(found)
    guard case .claimed = try other.answer(replacing) else { throw TestFailure("not claimed") }
    #expect(try other.store(picture, serial: replacing, generation: hosts.generation) == .kept)
    guard case .found(let now) = try hosts.new.look(answer.digest) else { throw TestFailure("none") }
    #expect(!now.isAnswer)
  }

  @Test func `an older host leaves a newer value alone, and claims nothing`() throws {
    let hosts = try Hosts()
    let answer = try hosts.storeAnswer()
    let value = try hosts.value(answer.digest)
    for claims in [true, false] {
      guard case .foundForOthers = try hosts.old.look(answer.digest, claims: claims) else {
        throw TestFailure("it is seen")
      }
    }
    let picture = TestedPicture()
    #expect(try hosts.old.store(picture, generation: hosts.generation) == .overtaken)
    hosts.old.order(.remove(answer.digest))
    guard case .foundForOthers = try hosts.old.look(answer.digest) else { throw TestFailure("it is seen") }
    #expect(try hosts.value(answer.digest) == value)
    #expect(!hosts.old.all.contains { if case .defect = $0 { true } else { false } })
  }

  @Test func `an older host that confirms a picture leaves what takes its place alone`() throws {
    let hosts = try Hosts()
    let picture = TestedPicture()
    for isStored in [true, false] {
      #expect(
        try hosts.old.store(picture, begunAgo: .seconds(1), generation: hosts.generation) == .kept)
      guard case .found(let found) = try hosts.old.look(picture.digest) else { throw TestFailure("none") }
      let claim = hosts.old.confirm(found)
      guard case .claimed = try hosts.old.answer(claim) else { throw TestFailure("not claimed") }
      let answer = try hosts.storeAnswer()
      let value = try hosts.value(answer.digest)
      if isStored {
        #expect(
          try hosts.old.store(picture, serial: claim, generation: hosts.generation) == .overtaken)
      } else {
        hosts.old.order(.release(serial: claim, removing: true))
      }
      // The claim has ended, and the next one finds the answer.
      guard case .foundForOthers = try hosts.old.answer(hosts.old.confirm(found)) else {
        throw TestFailure("it is claimed")
      }
      #expect(try hosts.value(answer.digest) == value)
      // Who has claimed in vain is told before the claim is gone.
      try hosts.server.wait("end of the claim") {
        try hosts.server.command("EXISTS", "imgd:r:\(picture.digest.hex)") == .number(0)
      }
      try hosts.server.command("DEL", "imgd:p:\(picture.digest.hex)")
    }
  }

  @Test func `an older host stores no answer, and nobody waits for it`() throws {
    let hosts = try Hosts()
    let answer = TestedPicture.answer()
    let claim = try hosts.old.claim(answer.digest)
    #expect(try hosts.old.store(answer, serial: claim, generation: hosts.generation) == .tooLarge)
    try hosts.server.wait("end of the claim") { try hosts.value(answer.digest).isEmpty }
    guard case .claimed = try hosts.new.look(answer.digest) else { throw TestFailure("it is held") }
  }

  @Test func `a purge of either host takes what either has stored`() throws {
    let hosts = try Hosts()
    for (number, host) in [hosts.old, hosts.new].enumerated() {
      let answer = try hosts.storeAnswer()
      var filter = PurgeFilter()
      filter.url = try CanonicalURL.parse(answer.record.url)
      host.order(.send(FleetPurge(filter, isSoft: false, askedAt: 0, nonce: UInt64(number + 1))))
      _ = try host.next { if case .sent = $0 { true } else { nil } }
      #expect(try hosts.value(answer.digest).isEmpty)
      for reader in [hosts.old, hosts.new] { #expect(try reader.purges().map(\.number) == [UInt64(number + 1)]) }
    }
  }
}

extension TestedPicture {
  /// An answer without a picture, under the same key.
  static func answer(_ url: String = "http://o/a.png") -> TestedPicture {
    var record = StoredRecord(
      url: url, digest: KeyDigest(url: url, identifier: nil), bytes: 0, facts: .none, storedAt: 1_000,
      freshUntil: 2_000)
    record.status = 404
    return TestedPicture(record: record, payload: Payload([]))
  }
}
