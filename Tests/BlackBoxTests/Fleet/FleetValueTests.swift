import ImgdTestSupport
import ImgdWire
import Testing

/// What is in the server, and is not what a host has put there.
@Suite("A value of the server") struct FleetValueTests {
  private struct Damage: Sendable {
    let name: String
    /// A script in the server's language; KEYS[1] is the picture's key, KEYS[2] that of another one.
    let script: String
  }

  private static let damages = [
    Damage(name: "empty", script: "redis.call('SET', KEYS[1], '')"),
    Damage(
      name: "cut in its head",
      script: "redis.call('SET', KEYS[1], string.sub(redis.call('GET', KEYS[1]), 1, 20))"),
    Damage(
      name: "cut in its picture",
      script: "redis.call('SET', KEYS[1], string.sub(redis.call('GET', KEYS[1]), 1, -2))"),
    Damage(
      name: "longer", script: "redis.call('APPEND', KEYS[1], 'x')"),
    Damage(
      name: "flipped in its head", script: "redis.call('SETRANGE', KEYS[1], 9, '\\255\\254')"),
    Damage(
      name: "flipped in its record", script: "redis.call('SETRANGE', KEYS[1], 120, '\\255\\254')"),
    Damage(
      name: "flipped in its picture",
      script: "redis.call('SETRANGE', KEYS[1], -30 + redis.call('STRLEN', KEYS[1]), '\\255\\254')"),
    Damage(name: "foreign", script: "redis.call('SET', KEYS[1], string.rep('hello ', 100))"),
    Damage(
      name: "of another type",
      script: "redis.call('DEL', KEYS[1]); redis.call('LPUSH', KEYS[1], 'a')"),
    Damage(name: "oversized", script: "redis.call('SET', KEYS[1], string.rep('x', 20000000))"),
    Damage(
      name: "oversized behind a good head",
      script: "redis.call('APPEND', KEYS[1], string.rep('x', 20000000))"),
    Damage(
      name: "another picture's", script: "redis.call('SET', KEYS[1], redis.call('GET', KEYS[2]))"),
  ]

  @Test func `that is not whole is nothing, and is replaced`() throws {
    let stage = try FleetStage(hosts: 3)
    let other = stage.pictures.add("/other")
    _ = try stage.hosts[0].fetch(other)
    try stage.awaitStored(1, by: stage.hosts[0])
    let otherKey = try #require(try keys(stage).first)
    var known: Set = [otherKey]
    var invalid = 0
    for (number, damage) in Self.damages.enumerated() {
      let path = "/\(number)"
      let url = stage.pictures.add(path, bytes: 3_000)
      _ = try stage.hosts[0].fetch(url)
      try stage.awaitStored(number + 2, by: stage.hosts[0])
      let key = try #require(try keys(stage).subtracting(known).first)
      known.insert(key)
      let spoilt = try stage.redis.command("EVAL", damage.script, "2", key, otherKey)
      #expect(spoilt == .nothing, "\(damage.name): \(spoilt)")

      let answer = try stage.hosts[1].fetch(url, VersionedPictures.inside)
      #expect(try stage.pictures.version(of: path, in: answer) == 1, "\(damage.name)")
      #expect(answer.outcome == "network", "\(damage.name)")
      invalid += 1
      let counted = try stage.hosts[1].count("invalid")
      #expect(counted == invalid, "\(damage.name)")
      try stage.awaitStored(number + 1, by: stage.hosts[1])
      #expect(try stage.hosts[2].fetch(url).outcome == "fleet", "\(damage.name)")
      #expect(stage.origin.count(path) == 2)
    }
    for host in stage.hosts {
      #expect(try host.state == "ok")
      // Such a value is not taken for a claim, whose picture would be waited for.
      #expect(try host.count("waits") == 0 && host.count("timeouts") == 0)
    }
  }

  private func keys(_ stage: FleetStage) throws -> Set<String> {
    let keys = try stage.redis.command("KEYS", "imgd:p:*").list ?? []
    return Set(keys.compactMap(\.text))
  }
}
