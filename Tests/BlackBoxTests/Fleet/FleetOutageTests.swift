import ImgdTestSupport
import ImgdWire
import Testing

/// Servers that are of no use.
@Suite("Without its server a fleet") struct FleetOutageTests {
  @Test func `goes on as ten hosts that are alone`() throws {
    let stage = try FleetStage()
    let known = stage.pictures.add("/known")
    let new = stage.pictures.add("/new")
    _ = try stage.fetchAll(known)
    stage.redis.kill()
    for host in stage.hosts { #expect(try becomes { try host.state == "down" }) }
    #expect(Set(try stage.fetchAll(known).map(\.outcome)) == ["memory"])
    #expect(Set(try stage.fetchAll(new).map(\.outcome)) == ["network"])
    #expect(stage.origin.count("/new") == 10)
    #expect(try stage.hosts[0].purge(#""url":"\#(new)""#) == "pending")
    #expect(try stage.hosts[0].tier(of: new) == "none")

    try stage.redis.start()
    try stage.awaitAll()
    // The server is empty: that is a gap for everybody, and what was waiting is sent.
    try stage.catchUp()
    for host in stage.hosts { #expect(try host.purges("gaps") > 0) }
    for host in stage.hosts.dropFirst() { #expect(try host.tier(of: new) == "none") }
    // What may have missed a purge is confirmed before it is shown.
    let asked = stage.origin.count("/known")
    for answer in try stage.fetchAll(known) { #expect(answer["ok"] == .bool(true)) }
    #expect(stage.origin.count("/known") > asked)
  }

  /// The time is the server's: three look-ups that nobody answers, and no more.
  @Test func `does not wait for a server that stands still`() throws {
    let stage = try FleetStage(hosts: 1, settings: [FleetStage.impatience])
    let host = stage.hosts[0]
    let known = stage.pictures.add("/known")
    _ = try host.fetch(known)
    try stage.awaitStored(1, by: host)
    stage.redis.freeze()
    for number in 0..<20 {
      #expect(try host.fetch(stage.pictures.add("/\(number)")).outcome == "network")
    }
    #expect(try host.fetch(known).outcome == "memory")
    #expect(try host.state == "down")
    #expect(try host.count("timeouts") <= 5)
    stage.redis.thaw()
    try stage.awaitAll()
    #expect(try host.fetch(stage.pictures.add("/last")).outcome == "network")
    try stage.awaitStored(2, by: host)
    #expect(host.daemon.log.split(separator: "\n").count { $0.contains("fleet") } < 10)
  }

  @Test(arguments: ["allkeys-lru", "allkeys-lfu", "noeviction"])
  func `writes nothing where purges could be evicted`(policy: String) throws {
    let redis = try RedisServer(["--maxmemory", "256mb", "--maxmemory-policy", policy])
    let host = try FleetHost(server: "unix:\(redis.socket)")
    #expect(try becomes { try host.state == "refused" })
    let reason = try #require(try host.fleet()["reason"]?.string)
    #expect(reason.contains("volatile-lfu") && reason.contains(policy), "\(reason)")
    let pictures = try VersionedPictures()
    let url = pictures.add("/a")
    #expect(try host.fetch(url).outcome == "network")
    #expect(try host.purge(#""url":"\#(url)""#) == "pending")
    #expect(try redis.command("DBSIZE") == .number(0))
    _ = try redis.command("CONFIG", "SET", "maxmemory-policy", "volatile-lfu")
    try becomesUsable(host)
  }

  private func becomesUsable(_ host: FleetHost) throws {
    #expect(try becomes { try host.state == "ok" && host.purges("pending") == 0 })
  }
}
