import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

@Suite(.eachServer) struct RightsTests {
  /// What a user of the server has to be permitted, and no more.
  private static let commands = [
    "info", "time", "get", "set", "getrange", "eval", "pexpire", "del", "unlink", "publish",
    "subscribe", "unsubscribe", "xadd", "xread", "xrange", "xrevrange", "hset",
    "hgetall", "hdel", "hlen",
  ]

  @Test func `these rights are enough for all that is done`() throws {
    let server = try RedisServer()
    try server.command(
      [
        ["ACL", "SETUSER", "fleet", "on", ">secret", "~imgd:*", "&imgd:*"],
        Self.commands.map { "+" + $0 },
      ]
      .joined().map { Array($0.utf8) })
    let password = server.directory + "/password"
    try write("secret\n", to: password)
    var hosts = try (0..<2).map { _ in
      try FleetBench(on: server) { ($0.user, $0.passwordFile) = ("fleet", password) }
    }
    let picture = TestedPicture()
    let generation = try server.generation()
    try server.command("RPUSH", key(picture.digest), "a defect")
    let serial = try hosts[0].claim(picture.digest)
    let waiting = hosts[1].begin(picture.digest)
    guard case .held = try hosts[1].answer(waiting) else { throw TestFailure("not held") }
    hosts[0].engine.renew(serial: serial)
    #expect(try hosts[0].store(picture, serial: serial, generation: generation) == .kept)
    guard case .found(let found) = try hosts[1].answer(waiting) else {
      throw TestFailure("not found")
    }
    let confirming = hosts[1].confirm(found)
    guard case .claimed = try hosts[1].answer(confirming) else { throw TestFailure("no claim") }
    hosts[1].engine.release(serial: confirming, removing: true)
    try server.wait("removal") { try server.command("EXISTS", key(picture.digest)) == .number(0) }
    #expect(try hosts[0].store(picture, generation: generation) == .kept)
    var filter = PurgeFilter()
    filter.url = try CanonicalURL.parse(picture.record.url)
    hosts[0].engine.send(FleetPurge(filter, isSoft: false, askedAt: 0, nonce: 4))
    #expect(try hosts[1].purges().first?.purge.nonce == 4)
    #expect(try server.command("EXISTS", key(picture.digest)) == .number(0))
    hosts[0].engine.announce(.sample("web1"))
    #expect(try hosts[0].listed().hosts.map(\.line.machine) == ["web1"])
    #expect(hosts.allSatisfy { $0.all.allSatisfy { if case .state = $0 { false } else { true } } })
    hosts = []
    try server.wait("departure") { try server.command("HLEN", "imgd:hosts") == .number(0) }
    let denied = try server.command("ACL", "LOG").list ?? []
    #expect(denied.isEmpty, "nothing was refused")
  }
}
