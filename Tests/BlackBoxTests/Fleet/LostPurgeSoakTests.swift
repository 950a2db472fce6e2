import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Purges that a host never hears, since the server has lost them.
@Suite("A host that misses purges", .slow) struct LostPurgeSoakTests {
  private let stage: FleetStage
  private let url: String

  init() throws {
    stage = try FleetStage(hosts: 4)
    url = stage.pictures.add("/a")
    _ = try stage.fetchAll(url)
  }

  private var purger: FleetHost { stage.hosts[0] }
  private var others: ArraySlice<FleetHost> { stage.hosts.dropFirst() }

  /// The newest version is what every host shows.
  private func expectNewest(_ hosts: some Sequence<FleetHost>) throws {
    for host in hosts {
      let answer = try host.fetch(url, VersionedPictures.inside)
      let fleet = try host.fleet().text
      #expect(
        try stage.pictures.version(of: "/a", in: answer) == stage.pictures.version(of: "/a"),
        "from \(answer.outcome): \(fleet)")
    }
  }

  private func gaps(_ hosts: some Sequence<FleetHost>) throws -> [Int] {
    try hosts.map { try $0.purges("gaps") }
  }

  @Test func `as its server was emptied before it could read them`() throws {
    for host in others { host.freeze() }
    stage.pictures.publish("/a")
    #expect(try purger.purge(#""url":"\#(url)""#) == "sent")
    try stage.redis.restartEmpty()
    for host in others { host.thaw() }
    for host in stage.hosts { #expect(try becomes { try host.purges("gaps") > 0 }) }
    try stage.awaitAll()
    try expectNewest(stage.hosts)
  }

  @Test func `as somebody has emptied the server while it ran`() throws {
    for host in others { host.freeze() }
    stage.pictures.publish("/a")
    #expect(try purger.purge(#""url":"\#(url)""#) == "sent")
    try stage.redis.command("FLUSHALL")
    // As many purges as there were, so that the numbers are the same again.
    #expect(try becomes { try purger.purges("gaps") > 0 && purger.state == "ok" })
    #expect(try purger.purge(#""prefix":"http://example.org/""#) == "sent")
    for host in others { host.thaw() }
    for host in stage.hosts { #expect(try becomes { try host.purges("gaps") > 0 }) }
    try stage.awaitAll()
    try expectNewest(stage.hosts)
  }

  /// An old replica has the picture, and not the purge that removed it.
  @Test func `as a replica that lags has become the server`() throws {
    #expect(try stage.redis.command("SAVE") == .word("OK"))
    stage.pictures.publish("/a")
    #expect(try purger.purge(#""url":"\#(url)""#) == "sent")
    try stage.catchUp()
    stage.redis.kill()
    try stage.redis.start()
    for host in stage.hosts { #expect(try becomes { try host.purges("gaps") > 0 }) }
    try stage.awaitAll()
    try expectNewest(stage.hosts)
    // Other purges have the numbers of those that were lost.
    stage.pictures.publish("/a")
    try purger.purge(#""url":"\#(url)""#)
    try stage.catchUp()
    try expectNewest(stage.hosts)
  }

  /// The others have heard a purge, this one has not, and the server has lost it.
  @Test func `as a replica that lags has become the server while it stood still`() throws {
    #expect(try stage.redis.command("SAVE") == .word("OK"))
    let frozen = try #require(stage.hosts.last)
    frozen.freeze()
    stage.pictures.publish("/a")
    #expect(try purger.purge(#""url":"\#(url)""#) == "sent")
    #expect(
      try becomes { try stage.hosts[1].tier(of: url) == "none" })
    stage.redis.kill()
    try stage.redis.start()
    for host in stage.hosts.dropLast() {
      #expect(try becomes { try host.purges("gaps") > 0 && host.state == "ok" })
    }
    try expectNewest(stage.hosts.dropLast())
    frozen.thaw()
    #expect(try becomes { try frozen.purges("gaps") > 0 })
    try stage.awaitAll()
    try expectNewest(stage.hosts)
  }

  @Test func `as it was away for longer than the stream`() throws {
    let away = try #require(stage.hosts.last)
    let removed = stage.pictures.add("/removed")
    _ = try away.fetch(removed)
    away.freeze()
    stage.pictures.publish("/a")
    try purger.purge(#""url":"\#(url)""#)
    for number in 0..<20 { try purger.purge(#""tag":"\#(number)""#) }
    try purger.purge(#""url":"\#(removed)""#)
    try stage.redis.command("XTRIM", "imgd:purges", "MAXLEN", "5")
    away.thaw()
    #expect(try becomes { try away.purges("gaps") > 0 })
    try stage.catchUp()
    try expectNewest(stage.hosts)
    // What the rest of the stream tells is done as it is told.
    #expect(try away.tier(of: removed) == "none")
    #expect(try gaps(stage.hosts.dropLast()) == [0, 0, 0])
  }

  @Test func `as it was down for longer than the stream`() throws {
    let away = try #require(stage.hosts.last)
    away.kill()
    stage.pictures.publish("/a")
    for number in 0..<20 { try purger.purge(#""tag":"\#(number)""#) }
    try purger.purge(#""url":"\#(url)""#)
    for number in 0..<20 { try purger.purge(#""tag":"\#(number)""#) }
    try stage.redis.command("XTRIM", "imgd:purges", "MAXLEN", "5")
    try away.start()
    #expect(try becomes { try away.purges("gaps") > 0 })
    try stage.catchUp()
    try expectNewest(stage.hosts)
  }

  @Test func `but none that were made while it was down`() throws {
    let away = try #require(stage.hosts.last)
    away.kill()
    stage.pictures.publish("/a")
    try purger.purge(#""url":"\#(url)""#)
    try away.start()
    try stage.catchUp()
    #expect(try gaps(stage.hosts) == [0, 0, 0, 0])
    try expectNewest(stage.hosts)
  }

  /// Somebody else writes into the stream.
  @Test func `as it cannot read an entry of the stream`() throws {
    try stage.redis.command("XADD", "imgd:purges", "0-*", "hello", "world")
    for host in stage.hosts { #expect(try becomes { try host.purges("gaps") > 0 }) }
    try stage.awaitAll()
    stage.pictures.publish("/a")
    try purger.purge(#""url":"\#(url)""#)
    try stage.catchUp()
    try expectNewest(stage.hosts)
  }
}
