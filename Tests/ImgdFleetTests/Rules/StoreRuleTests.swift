import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// Pictures on their way to a server that says what the test says.
struct StoreRuleTests {
  private let stage: DeskStage
  private let picture = TestedPicture()

  init() throws {
    stage = try DeskStage()
    try stage.waitForState(.ok)
  }

  private var server: PlannedServer { stage.server }

  private func count(_ name: String) -> Int { server.commands(name).count }

  @Test(
    arguments: [
      (.number(1), .kept, 0),
      // A purge or another host has taken the claim while the picture was on its way: it is theirs now.
      (.number(0), .overtaken, 0), (.number(7), .overtaken, 0),
      (.failure("OOM no room"), .refused("OOM no room"), 1),
      (.failure("ERR no"), .refused("ERR no"), 1),
      (.nothing, .refused("the connection has ended"), 0),
      (.word("OK"), .refused("the connection has ended"), 0),
      (.list([.number(1)]), .refused("the connection has ended"), 0),
      (.bytes([49]), .refused("the connection has ended"), 0),
    ] as [(RedisReply, FleetStoring, Int)])
  func `a store ends as the server says`(
    reply: RedisReply, wanted: FleetStoring, givenBack: Int
  ) throws {
    let serial = try stage.claim(picture.digest)
    server.plan("store", reply)
    #expect(try stage.store(picture, serial: serial, generation: server.generation) == wanted)
    #expect(count("store") == 1 && count("release") == givenBack)
  }

  @Test func `a store that the server must not take any more ends the writing`() throws {
    server.plan("storeUnclaimed", .failure("READONLY x"))
    #expect(
      try stage.store(picture, generation: server.generation) == .refused("READONLY x"))
    let reason = try stage.waitForState(.readOnly).reason
    #expect(
      try stage.store(picture, generation: server.generation) == .refused(try #require(reason)))
    #expect(count("storeUnclaimed") == 1)
  }

  @Test func `a picture that was fetched for other data is not sent, and its claim given back`()
    throws
  {
    let serial = try stage.claim(picture.digest)
    let other = server.generation + 1
    #expect(try stage.store(picture, serial: serial, generation: other) == .overtaken)
    #expect(count("store") == 0 && count("release") == 1)
  }

  @Test func `a picture of the largest size is sent, and one more byte is not`() throws {
    let most = DeskStage.settings.maxObject
    let (largest, larger) = (TestedPicture(count: most), TestedPicture(count: most + 1))
    let generation = server.generation
    #expect(try stage.store(largest, generation: generation) == .kept)
    let serial = try stage.claim(larger.digest)
    #expect(try stage.store(larger, serial: serial, generation: generation) == .tooLarge)
    #expect(count("store") == 0 && count("release") == 1)
  }

  @Test func `another limit applies at once, without another connection`() throws {
    let connection = try #require(server.pictures)
    let before = connection.limits.reply
    stage.order(.apply(maxObject: 5 << 20, timeout: .milliseconds(50)))
    let large = TestedPicture(count: 4 << 20)
    #expect(try stage.store(large, generation: server.generation) == .kept)
    #expect(connection.limits.reply == before + 4 << 20 && server.pictures === connection)
  }

  @Test func `a picture for which there is no room is refused, and its claim given back`() throws {
    let serial = try stage.claim(picture.digest)
    server.room = 1_000
    #expect(
      try stage.store(picture, serial: serial, generation: server.generation)
        == .refused("too much else waits to be sent to the server"))
    #expect(count("store") == 0 && count("release") == 1)
  }

  /// More come than are sent at once, and then more than may wait.
  @Test func `large pictures that come together are stored one after the other`() throws {
    let large = TestedPicture(count: 1_000_000)
    server.freeze()
    let serials = (0..<50).map { _ in
      stage.beginStore(large, generation: server.generation)
    }
    // A mebibyte is on its way: two pictures.
    #expect(count("storeUnclaimed") == 2)
    server.thaw()
    let ends = try serials.map { try stage.end(of: $0) }
    // 32 MiB wait: 33 pictures.
    #expect(ends.prefix { $0 == .kept }.count == 2 + 33)
    #expect(
      ends.dropFirst(2 + 33).allSatisfy {
        $0 == .refused("too much else waits to be sent to the server")
      })
  }

  /// Looks share a connection with small stores.
  @Test func `a picture of many megabytes keeps no look waiting`() throws {
    let settings = FleetSettings(server: .unix(path: "/planned"), maxObject: 16 << 20)
    let stage = try DeskStage(with: settings)
    try stage.waitForState(.ok)
    stage.server.keepSilent("storeUnclaimed")
    let large = TestedPicture(count: 2 << 20)
    let serial = stage.beginStore(large, generation: stage.server.generation)
    #expect(stage.server.commands("storeUnclaimed").count == 1)
    #expect(stage.answers(to: stage.begin(picture.digest)) == ["claimed"])
    // What removes the picture has to come behind it.
    stage.order(.remove(large.digest))
    #expect(stage.server.commands("remove").count == 2)
    stage.server.thaw()
    #expect(try stage.end(of: serial) == .kept)
    let connections = stage.server.open.count
    stage.pass(.seconds(11))
    #expect(stage.server.open.count == connections - 1)
  }

  @Test func `the claim of a large picture stands as long as that is on its way`() throws {
    let settings = FleetSettings(server: .unix(path: "/planned"), maxObject: 16 << 20)
    let stage = try DeskStage(with: settings)
    try stage.waitForState(.ok)
    stage.server.keepSilent("store")
    let large = TestedPicture(count: 2 << 20)
    let claimed = stage.begin(large.digest)
    stage.server.keepSilent("storeUnclaimed")
    let small = stage.beginStore(picture, generation: stage.server.generation)
    let serial = stage.beginStore(large, serial: claimed, generation: stage.server.generation)
    try stage.server.answer(.number(1), to: "storeUnclaimed")
    #expect(try stage.end(of: small) == .kept)
    stage.pass(.seconds(21))
    #expect(stage.server.commands("renew").count == 6)
    stage.server.thaw()
    #expect(try stage.end(of: serial) == .kept)
    stage.pass(.seconds(21))
    #expect(stage.server.commands("renew").count == 6)
  }

  @Test func `a large picture under way ends once when the server is left`() throws {
    let settings = FleetSettings(server: .unix(path: "/planned"), maxObject: 16 << 20)
    let stage = try DeskStage(with: settings)
    try stage.waitForState(.ok)
    stage.server.keepSilent("storeUnclaimed")
    let serial = stage.beginStore(
      TestedPicture(count: 2 << 20), generation: stage.server.generation)
    try stage.server.end(stage.server.pictures)
    #expect(try stage.end(of: serial) == .refused("the connection has ended"))
    #expect(stage.server.open.isEmpty)
  }

  /// A picture's age is what the host had said when it gave the order, however long it waits after that.
  @Test func `a picture that waits in line keeps its times`() throws {
    let large = TestedPicture(count: 1_000_000)
    server.keepSilent("storeUnclaimed")
    let serials = (0..<3).map { _ in
      stage.beginStore(
        large, begunAgo: .seconds(9), age: .seconds(4), generation: server.generation)
    }
    // Not so long that the engine would take the server for dead.
    stage.pass(.seconds(2))
    server.thaw()
    for serial in serials { #expect(try stage.end(of: serial) == .kept) }
    let values = server.commands("storeUnclaimed").compactMap { $0.words.last }
      .map { FleetValue.decode(ArrivedValue($0), under: large.digest) }
    let times = try values.map { [try $0.get().begunAt, try $0.get().storedAt] }
    #expect(times.count == 3 && times.allSatisfy { $0 == times[0] })
    #expect(times[0][1] - times[0][0] == 5_000)
  }

  @Test func `pictures under way and in line end once when the connection does`() throws {
    let large = TestedPicture(count: 1_000_000)
    server.freeze()
    let serials = (0..<5).map { _ in stage.beginStore(large, generation: server.generation) }
    try server.end(server.pictures)
    for serial in serials {
      guard case .refused = try stage.end(of: serial) else { throw TestFailure("it is kept") }
    }
    try stage.waitForState(.down)
    #expect(!stage.all.contains { if case .stored = $0 { true } else { false } })
  }

  @Test func `without a server nothing is stored, and the reason is told`() throws {
    let unjoined = try DeskStage(join: .none)
    #expect(try unjoined.store(picture, generation: 1) == .refused("the server is not connected"))
    server.refusal = FleetTrouble(.down, "Connection refused")
    try server.end(server.pictures)
    let reason = try #require(try stage.waitForState(.down).reason)
    #expect(try stage.store(picture, generation: server.generation) == .refused(reason))
    stage.order(.remove(picture.digest))
    #expect(count("storeUnclaimed") == 0 && count("remove") == 0)
  }

  @Test func `a host that ends gives its claims back, those of pictures in line too`() throws {
    let large = TestedPicture(count: 1_100_000)
    stage.order(.apply(maxObject: 2 << 20, timeout: .milliseconds(50)))
    let claims = [try stage.claim(large.digest), try stage.claim(large.digest)]
    let held = try stage.claim(picture.digest)
    server.keepSilent("store")
    for serial in claims {
      _ = stage.beginStore(large, serial: serial, generation: server.generation)
    }
    #expect(count("store") == 1)
    stage.order(.stop)
    let tokens = server.commands("SET").map { $0.arguments[0] }
    #expect(Set(server.commands("release").map { $0.arguments[0] }) == Set(tokens.dropFirst()))
    #expect(server.open.isEmpty)
    stage.order(.release(serial: held, removing: false))
    #expect(count("release") == 2)
  }
}
