import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// A master, its replica and three Sentinels, all of them real.
struct FailoverTests {
  private final class Stage {
    let master: RedisServer
    let replica: RedisServer
    let sentinels: RedisSentinels

    init() throws {
      master = try RedisServer(RedisServer.rules + ["--repl-diskless-sync-delay", "0"], onPort: true)
      replica = try RedisServer(
        RedisServer.rules + ["--replicaof", "127.0.0.1", "\(master.port ?? 0)"], onPort: true)
      try replica.wait("copy of the master's data") { [replica] in
        try replica.command("INFO", "replication").text?.contains("master_link_status:up") == true
      }
      sentinels = try RedisSentinels(watching: master, as: "fleet")
    }

    func host() throws -> FleetBench {
      let endpoints = sentinels.ports.map { FleetSettings.Endpoint(host: "localhost", port: $0) }
      let bench = try FleetBench(.sentinel(endpoints, master: "fleet"))
      try bench.waitForState(.ok)
      return bench
    }
  }

  private func send(_ nonce: UInt64, from host: FleetBench) throws {
    host.order(.send(FleetPurge(PurgeFilter(), isSoft: false, askedAt: WallClock.seconds, nonce: nonce)))
    _ = try host.next("report of a purge") { if case .sent(nonce) = $0 { true } else { nil } }
  }

  @Test func `the next master is found, with all that the replica had, and purges go on`() throws {
    let stage = try Stage()
    let hosts = [try stage.host(), try stage.host()]
    let picture = TestedPicture()
    #expect(try hosts[0].store(picture, generation: try stage.master.generation()) == .kept)
    try send(1, from: hosts[0])
    for host in hosts { #expect(try host.purges().map(\.purge.nonce) == [1]) }
    try stage.replica.wait("purge in the copy") { try stage.replica.command("XLEN", "imgd:purges") == .number(1) }
    stage.master.kill()
    for host in hosts {
      #expect(try host.waitForState(.down).reason?.contains("/fleet (its master is at 127.0.0.1:") == true)
      try host.waitForState(.ok)
      let joins = host.all.compactMap { if case .joined(let join) = $0 { join } else { nil } }
      #expect(joins.last?.loss == nil && joins.last?.isFromBeginning == false)
    }
    try send(2, from: hosts[1])
    for host in hosts { #expect(try host.purges().map(\.purge.nonce) == [2]) }
    guard case .found(let found) = try hosts[1].look(picture.digest) else { throw TestFailure("it is gone") }
    #expect(found.mark.generation == (try stage.replica.generation()))
  }

  @Test func `a purge that the next master has not got is noticed by those who had heard it`() throws {
    let stage = try Stage()
    let host = try stage.host()
    try send(1, from: host)
    _ = try host.purges()
    try stage.replica.wait("purge in the copy") { try stage.replica.command("XLEN", "imgd:purges") == .number(1) }
    let before = try stage.replica.generation()
    // From here on the replica gets nothing.
    stage.replica.freeze()
    try stage.master.command("CLIENT", "KILL", "TYPE", "replica")
    try send(2, from: host)
    #expect(try host.purges().map(\.purge.nonce) == [2])
    stage.master.kill()
    stage.replica.thaw()
    _ = try host.join()
    let join = try host.join()
    #expect(join.loss?.contains("purge 2 is not in the log any more, or not yet") == true)
    try host.waitForState(.ok)
    #expect(try stage.replica.generation() != before, "all hosts notice")
  }
}
