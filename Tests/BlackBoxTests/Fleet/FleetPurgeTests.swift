import ImgdTestSupport
import ImgdWire
import Testing

/// Purges on one of ten hosts.
@Suite("A purge of a fleet") struct FleetPurgeTests {
  private struct Purge: Sendable {
    let name: String
    /// Of the fetches that bring the picture.
    let fields: String
    /// `URL` is the picture's.
    let filter: String
    var isSoft = false
    /// Whether it is about other pictures as well.
    var isWide = false
  }

  private static let purges = [
    Purge(name: "url", fields: "", filter: #""url":"URL""#),
    Purge(name: "identifier", fields: #""identifier":"dark""#, filter: #""identifier":"dark""#),
    Purge(name: "prefix", fields: "", filter: #""prefix":"URL""#),
    Purge(name: "host", fields: "", filter: #""host":"localhost""#),
    Purge(name: "tag", fields: #""tags":["news"]"#, filter: #""tag":"news""#),
    Purge(name: "group", fields: "", filter: #""tag":"/group","host":"127.0.0.1""#),
    Purge(name: "soft", fields: "", filter: #""url":"URL","soft":true"#, isSoft: true),
    Purge(
      name: "soft-tag", fields: #""tags":["sport"]"#, filter: #""tag":"sport","soft":true"#,
      isSoft: true),
    Purge(name: "age", fields: "", filter: #""older_than":0"#, isWide: true),
    Purge(name: "everything", fields: "", filter: "", isWide: true),
  ]

  @Test func `reaches all of them, and the server, whatever it is about`() throws {
    let stage = try FleetStage()
    let other = stage.pictures.add("/other")
    for purge in Self.purges {
      _ = try stage.fetchAll(other)
      let (path, name) = ("/\(purge.name)", purge.name == "host" ? "localhost" : nil)
      let url = stage.pictures.add(path, host: name)
      let fields = [VersionedPictures.inside, purge.fields].filter { !$0.isEmpty }
        .joined(separator: ",")
      for answer in try stage.fetchAll(url, fields) {
        #expect(try stage.pictures.version(of: path, in: answer) == 1)
      }
      stage.pictures.publish(path)
      let (fetched, others) = (stage.origin.count(path), stage.origin.count("/other"))
      let filter = purge.filter.split(separator: "URL", omittingEmptySubsequences: false)
        .joined(separator: url)
      #expect(try stage.hosts[3].purge(filter) == "sent")
      try stage.catchUp()
      for answer in try stage.fetchAll(url, fields) {
        #expect(try stage.pictures.version(of: path, in: answer) == 2, "after \(purge.name)")
      }
      // Those who wait for a host that confirms an old picture are answered by it as well.
      #expect(stage.origin.count(path) == fetched + 1, "after \(purge.name)")
      if !purge.isWide {
        #expect(Set(try stage.fetchAll(other).map(\.outcome)) == ["memory"])
        #expect(stage.origin.count("/other") == others, "after \(purge.name)")
      }
    }
  }

  /// The server's value does not have the tag: only this host knows that it is meant.
  @Test(arguments: [false, true])
  func `by a tag that came later does not bring the picture back`(afterRestart isRestarted: Bool) throws {
    let stage = try FleetStage(hosts: 1)
    let (host, url) = (stage.hosts[0], stage.pictures.add("/a"))
    _ = try host.fetch(url)
    try stage.awaitStored(1, by: host)
    #expect(try host.fetch(url, #""tags":["later"]"#).outcome == "memory")
    if isRestarted {
      host.stop()
      try host.start()
      try stage.awaitAll()
    }
    stage.pictures.publish("/a")
    #expect(try host.purge(#""tag":"later""#) == "sent")
    let answer = try host.fetch(url, VersionedPictures.inside)
    #expect(try stage.pictures.version(of: "/a", in: answer) == 2, "from \(answer.outcome)")
  }

  @Test func `of one tier stays on its host`() throws {
    let stage = try FleetStage(hosts: 2)
    let url = stage.pictures.add("/a")
    for host in stage.hosts { _ = try host.fetch(url) }
    #expect(try stage.hosts[0].purge(#""tier":"memory""#) == nil)
    #expect(try stage.hosts[0].purge(#""unused_for":0"#) == nil)
    try stage.catchUp()
    #expect(try stage.hosts[1].fetch(url).outcome == "memory")
    #expect(try stage.hosts[0].fetch(url).outcome == "fleet")
  }

  /// Only this host knows of a purge that it could not send, and does not forget it.
  @Test func `waits for a server that stands still, over the end of its host`() throws {
    let stage = try FleetStage(hosts: 3, settings: [FleetStage.impatience])
    let url = stage.pictures.add("/a")
    try stage.expectNewest("/a")
    stage.pictures.publish("/a")
    stage.redis.freeze()
    let host = stage.hosts[0]
    #expect(try host.purge(#""url":"\#(url)""#) == "pending")
    #expect(try host.purges("pending") == 1)
    host.kill()
    try host.start()
    #expect(try host.purges("pending") == 1)
    stage.redis.thaw()
    #expect(
      try becomes {
        try stage.hosts.dropFirst().allSatisfy { try $0.tier(of: url) == "none" }
      })
    try stage.awaitAll()
    try stage.catchUp()
    try stage.expectNewest("/a")
    #expect(try host.purges("pending") == 0)
  }

  /// A server that stands still carries out what it was sent when it goes on, whatever became of the host.
  @Test func `is sent by the host that was killed, where the server has not taken it`() throws {
    let stage = try FleetStage(hosts: 3, settings: [FleetStage.impatience])
    let url = stage.pictures.add("/a")
    try stage.expectNewest("/a")
    stage.pictures.publish("/a")
    let host = stage.hosts[0]
    try stage.redis.holdWrites()
    #expect(try host.purge(#""url":"\#(url)""#) == "pending")
    #expect(try becomes { try stage.redis.held("eval") == 1 })
    host.kill()
    #expect(try becomes { try stage.redis.held("eval") == 0 })
    try stage.redis.resumeWrites()
    #expect(try stage.redis.command("XLEN", "imgd:purges") == .number(0))
    try host.start()
    try stage.awaitAll()
    try stage.catchUp()
    try stage.expectNewest("/a")
  }

  /// Nobody else knows what the picture of the server is.
  @Test func `that waits keeps its host from the server's picture`() throws {
    let stage = try FleetStage(hosts: 2, settings: [FleetStage.impatience])
    let url = stage.pictures.add("/a")
    _ = try stage.fetchAll(url)
    stage.pictures.publish("/a")
    let answer = try stage.hosts[0].fetch(
      url, #""cache":"reload","store":"local","deliver":"none""#)
    #expect(answer.outcome == "network")
    stage.redis.freeze()
    #expect(try stage.hosts[0].purge(#""url":"\#(url)""#) == "pending")
    stage.redis.thaw()
    let after = try stage.hosts[0].fetch(url, VersionedPictures.inside)
    #expect(try stage.pictures.version(of: "/a", in: after) == 2)
  }
}
