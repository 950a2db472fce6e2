import ImgdTestSupport
import ImgdWire
import Testing

/// Three hosts whose pictures are on three servers, and their purges on a fourth.
@Suite("Servers for pictures") struct PictureServerTests {
  private final class Stage {
    let servers: [RedisServer]
    let fleet: FleetStage

    init() throws {
      servers = try (0..<3).map { _ in try RedisServer(["--maxmemory-policy", "allkeys-lfu"]) }
      let names = servers.map { "unix:\($0.socket)" }
      fleet = try FleetStage(hosts: 3, settings: ["Fleet.Pictures=\(names.joined(separator: " "))"])
      try fleet.awaitPictureServers()
    }

    /// How many pictures a server has.
    func count(_ server: RedisServer) throws -> Int { try keys(of: server).count }

    /// The names of all pictures.
    var keys: Set<String> { get throws { try Set(servers.flatMap(keys(of:))) } }

    private func keys(of server: RedisServer) throws -> [String] {
      try server.command("KEYS", "imgd:p:*").list?.compactMap(\.text) ?? []
    }

    /// How many hosts wait for a picture to be deleted.
    var deletions: Int { get throws { try servers.reduce(0) { try $0 + $1.held("unlink") } } }
  }

  @Test func `share the pictures, and a purge on one host is in force on all`() throws {
    let stage = try Stage()
    let fleet = stage.fleet
    let paths = (0..<30).map { "/\($0)" }
    let urls = paths.map { fleet.pictures.add($0) }
    for url in urls { #expect(try fleet.hosts[0].fetch(url, #""tags":["all"]"#).outcome == "network") }
    try fleet.awaitStored(30, by: fleet.hosts[0])
    let counts = try stage.servers.map { try stage.count($0) }
    #expect(counts.reduce(0, +) == 30 && counts.allSatisfy { $0 > 0 }, "\(counts)")
    #expect(try stage.count(fleet.redis) == 0)
    for url in urls { #expect(try fleet.hosts[1].fetch(url).outcome == "fleet") }
    for path in paths {
      #expect(fleet.origin.count(path) == 1)
      fleet.pictures.publish(path)
    }
    #expect(try fleet.hosts[2].purge(#""url":"\#(urls[0])""#) == "sent")
    #expect(try fleet.hosts[2].purge(#""tag":"all""#) == "sent")
    try fleet.catchUp()
    for (path, url) in zip(paths, urls) {
      for answer in try fleet.fetchAll(url, VersionedPictures.inside) {
        #expect(try fleet.pictures.version(of: path, in: answer) == 2)
      }
      #expect(fleet.origin.count(path) == 2)
    }
  }

  /// A purge is written to the log, and then has its picture deleted, which is on another server. The host is killed in
  /// between.
  @Test func `do not bring back a picture that was to be deleted when its host was killed`() throws {
    let stage = try Stage()
    let fleet = stage.fleet
    let url = fleet.pictures.add("/a")
    _ = try fleet.hosts[0].fetch(url, VersionedPictures.form)
    try fleet.awaitStored(2, by: fleet.hosts[0])
    try fleet.expectNewest("/a")
    let keys = try stage.keys
    #expect(keys.count == 2)
    fleet.pictures.publish("/a")
    for server in stage.servers { try server.holdWrites() }
    #expect(try fleet.hosts[0].purge(#""url":"\#(url)""#) == "sent")
    #expect(try becomes { try stage.deletions == 1 })
    fleet.hosts[0].kill()
    #expect(try becomes { try stage.deletions == 0 })
    for server in stage.servers { try server.resumeWrites() }
    #expect(try stage.keys == keys)
    try fleet.hosts[0].start()
    try fleet.awaitPictureServers()
    try fleet.catchUp()
    try fleet.expectNewest("/a")
  }

  @Test func `one of which is killed cost the others nothing, and the state tells which it is`() throws {
    let stage = try Stage()
    let fleet = stage.fleet
    stage.servers[1].kill()
    for host in fleet.hosts {
      #expect(try becomes { try host.pictureStates == ["ok", "down", "ok"] })
      #expect(try host.state == "ok")
    }
    let urls = (0..<30).map { fleet.pictures.add("/\($0)") }
    for url in urls { #expect(try fleet.hosts[0].fetch(url).outcome == "network") }
    #expect(try becomes { try fleet.hosts[0].count("stores") + fleet.hosts[0].count("refused") == 30 })
    let stored = try [0, 2].map { try stage.count(stage.servers[$0]) }.reduce(0, +)
    #expect((1..<30).contains(stored))
    var sources: [String: Int] = [:]
    for url in urls { sources[try fleet.hosts[1].fetch(url).outcome, default: 0] += 1 }
    #expect(sources == ["fleet": stored, "network": 30 - stored])
    #expect(try fleet.hosts[1].count("timeouts") == 0)
    let reason = try fleet.hosts[1].fleet()["pictures"]?.array?[1]["reason"]?.string
    #expect(reason?.contains(stage.servers[1].socket) == true)
  }
}
