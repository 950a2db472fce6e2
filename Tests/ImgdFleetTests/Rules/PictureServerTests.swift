import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// Servers for pictures beside the one that has the log of purges.
struct PictureServerTests {
  private static let names = ["unix:/p0", "unix:/p1", "unix:/p2"]
  private static let settings = FleetSettings(
    server: .unix(path: "/planned"), pictures: ["/p0", "/p1", "/p2"].map { .unix(path: $0) })

  private let digests = (0..<3_000).map { TestedPicture.digest("http://o/\($0)") }

  private func make(
    join: FleetPosition?? = .some(nil), plan: (DeskPlan) -> Void = { _ in }
  ) throws -> DeskStage {
    try DeskStage(join: join, with: Self.settings, others: Self.names, plan: plan)
  }

  private func ready() throws -> DeskStage {
    let stage = try make()
    try stage.waitForState(.ok)
    for number in 0..<3 { try stage.waitForPictures(.ok, of: number) }
    return stage
  }

  /// The server that a picture belongs to, and its number.
  private func home(_ digest: KeyDigest, _ stage: DeskStage) throws -> (Int, PlannedServer) {
    let number = PicturePlaces(names: Self.names).index(of: digest)
    return (number, try stage.server(at: Self.names[number]))
  }

  // MARK: Which has what

  private func homes(_ names: [String]) -> [String] {
    let places = PicturePlaces(names: names)
    return digests.map { names[places.index(of: $0)] }
  }

  @Test func `each server has its share, whatever the order in which they are named`() {
    let homes = homes(Self.names)
    for name in Self.names {
      #expect((850...1_150).contains(homes.count { $0 == name }), "\(name)")
    }
    #expect(homes == self.homes(Self.names.reversed()))
  }

  @Test func `a further server takes its own share, and moves nothing else`() {
    let after = homes(Self.names + ["unix:/p3"])
    let moved = zip(homes(Self.names), after).filter { $0 != $1 }
    #expect(moved.allSatisfy { $0.1 == "unix:/p3" })
    #expect((600...900).contains(moved.count))
  }

  /// Hosts of different versions look in the same places.
  @Test func `where pictures are does not change with the version`() {
    let places = PicturePlaces(names: ["a:1", "b:1", "c:1", "d:1"])
    let digests = (1...8 as ClosedRange<UInt64>).map { KeyDigest(high: 0, low: $0) }
    #expect(digests.map { places.index(of: $0) } == Self.placesOfEight)
  }

  private static let placesOfEight = [2, 1, 1, 0, 1, 3, 0, 3]

  // MARK: While they are used

  @Test func `every order about a picture goes to the server that has it`() throws {
    let stage = try ready()
    var expected = [0, 0, 0]
    for (index, digest) in digests.prefix(30).enumerated() {
      let (number, server) = try home(digest, stage)
      expected[number] += 1
      let serial = try stage.claim(digest)
      stage.order(.renew(serial: serial))
      #expect(server.commands("renew").last?.keys == [key(digest)])
      if index.isMultiple(of: 2) {
        stage.order(.release(serial: serial, removing: false))
        #expect(server.commands("release").last?.keys.first == key(digest))
      } else {
        let picture = TestedPicture("http://o/\(index)")
        #expect(try stage.store(picture, serial: serial, generation: stage.server.generation) == .kept)
        #expect(server.commands("store").last?.keys.first == key(digest))
      }
      #expect(stage.desk.pictures.homes.isEmpty)
      stage.order(.remove(digest))
      #expect(server.commands("remove").last?.keys == [key(digest)])
    }
    for (number, name) in Self.names.enumerated() {
      let server = try stage.server(at: name)
      for command in ["GETRANGE", "SET", "renew", "remove"] {
        #expect(server.commands(command).count { $0.keys != ["imgd:trial"] } == expected[number], "\(command)")
      }
    }
    #expect(stage.server.commands("GETRANGE").isEmpty && stage.server.connections.count == 2)
  }

  @Test func `a serial that is over names nothing`() throws {
    let stage = try ready()
    let (_, server) = try home(digests[0], stage)
    server.plan("GETRANGE", TestedPicture("http://o/0").value())
    let serial = stage.begin(digests[0])
    #expect(stage.answers(to: serial) == ["found"])
    let given = try stage.claim(try #require(digests.first { try home($0, stage).1 !== server }))
    stage.order(.release(serial: given, removing: false))
    #expect(stage.desk.pictures.homes.isEmpty)
    for serial in [serial, given] {
      stage.order(.renew(serial: serial))
      stage.order(.release(serial: serial, removing: false))
    }
    let all = try Self.names.map { try stage.server(at: $0) }
    #expect(all.flatMap { $0.commands("renew") }.isEmpty)
    // The claim that was not needed, and the one that was given back.
    #expect(all.flatMap { $0.commands("release") }.count == 2)
  }

  @Test func `of three servers one ends, and a third of the looks miss at once`() throws {
    let stage = try ready()
    let dead = try stage.server(at: Self.names[1])
    dead.refusal = FleetTrouble(.down, "Connection refused")
    try dead.end(dead.pictures)
    let reason = try stage.waitForPictures(.down, of: 1).reason
    #expect(reason == "the fleet's server for pictures unix:/p1: Connection reset by peer")
    var answers: [String: Int] = [:]
    // No time passes: who is not answered now would have to wait.
    for digest in digests { answers[stage.answers(to: stage.begin(digest)).joined(), default: 0] += 1 }
    #expect(answers["claimed", default: 0] + answers["nothing", default: 0] == digests.count)
    #expect((850...1_150).contains(answers["nothing", default: 0]), "\(answers)")
    let away = try #require(digests.first { try home($0, stage).0 == 1 })
    #expect(stage.answers(to: stage.confirm(away, stamp: 1)) == ["nothing"])
    #expect(!stage.all.contains { if case .state = $0 { true } else { false } }, "the fleet is as it was")
    dead.refusal = nil
    stage.pass(.seconds(2))
    try stage.waitForPictures(.ok, of: 1)
    _ = try stage.claim(away)
  }

  @Test func `a server that is late three times is left, and the others are not`() throws {
    let stage = try ready()
    let slow = try stage.server(at: Self.names[2])
    slow.keepSilent("GETRANGE")
    let share = try digests.filter { try home($0, stage).0 == 2 }
    for digest in share.prefix(3) {
      let serial = stage.begin(digest)
      stage.pass(Self.settings.timeout)
      #expect(stage.answers(to: serial) == ["failed"])
    }
    #expect(try stage.waitForPictures(.down, of: 2).reason?.contains("Fleet.Timeout") == true)
    #expect(stage.answers(to: stage.begin(share[3])) == ["nothing"])
    _ = try stage.claim(try #require(digests.first { try home($0, stage).0 == 0 }))
  }

  // MARK: The log of purges

  @Test func `no picture is read before the log of purges is`() throws {
    let stage = try make(join: .none)
    for number in 0..<3 { try stage.waitForPictures(.ok, of: number) }
    let (_, server) = try home(digests[0], stage)
    #expect(stage.answers(to: stage.begin(digests[0])) == ["failed"])
    #expect(server.commands("GETRANGE").isEmpty)
    stage.order(.join(nil))
    try stage.waitForState(.ok)
    _ = try stage.claim(digests[0])
  }

  @Test func `no picture is read after the log of purges has ended`() throws {
    let stage = try ready()
    let (_, server) = try home(digests[0], stage)
    server.freeze()
    let serial = stage.begin(digests[0])
    try stage.server.end(stage.server.purges)
    #expect(stage.answers(to: serial) == ["failed"])
    let storing = try stage.store(TestedPicture("http://o/0"), generation: stage.server.generation)
    guard case .refused(let reason) = storing else { throw TestFailure("\(storing)") }
    #expect(reason.contains("the fleet's server unix:/planned"))
    server.thaw()
    stage.pass(.milliseconds(625))
    try stage.waitForState(.ok)
    _ = try stage.claim(digests[0])
    #expect(server.connections.count == 1, "its connection has stayed")
  }

  @Test func `a purge deletes the picture of its URL where that is, after it is in the log`() throws {
    let stage = try ready()
    var filter = PurgeFilter()
    filter.url = try CanonicalURL.parse("http://o/7")
    stage.server.keepSilent("purge")
    stage.order(.send(FleetPurge(filter, isSoft: false, askedAt: 0, nonce: 4)))
    let (_, server) = try home(digests[7], stage)
    #expect(server.commands("UNLINK").isEmpty)
    try stage.server.answer(.number(1), to: "purge")
    #expect(stage.server.commands("purge").first?.keys == ["imgd:generation", "imgd:purges"])
    let hex = digests[7].hex
    #expect(server.commands("UNLINK").map(\.texts) == [["UNLINK", "imgd:p:\(hex)", "imgd:r:\(hex)"]])
  }

  // MARK: What they have to be

  @Test func `a server that keeps nothing once it is full is refused`() throws {
    let stage = try make { plan in
      plan.others["unix:/p0"]?.facts["memory"]?["maxmemory_policy"] = "noeviction"
      plan.others["unix:/p1"]?.facts["memory"]?["maxmemory_policy"] = "allkeys-lfu"
    }
    let reason = try stage.waitForPictures(.refused, of: 0).reason
    #expect(reason?.contains("set maxmemory-policy allkeys-lfu") == true)
    try stage.waitForPictures(.ok, of: 1)
  }

  @Test func `a server that cannot save is read, and takes nothing until it can`() throws {
    let stage = try make { $0.others["unix:/p0"]?.plan("SET", .failure("MISCONF x")) }
    try stage.waitForPictures(.readOnly, of: 0)
    try stage.waitForState(.ok)
    let server = try stage.server(at: "unix:/p0")
    let share = try #require(digests.first { try home($0, stage).0 == 0 })
    #expect(stage.answers(to: stage.begin(share)) == ["nothing"])
    #expect(server.commands("SET").allSatisfy { $0.keys == ["imgd:trial"] })
    server.plan("SET", .word("OK"))
    stage.pass(.seconds(2))
    try stage.waitForPictures(.ok, of: 0)
  }
}
