import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// The list of hosts, as the engine writes and reads it.
struct HostListTests {
  private func refusals(_ stage: DeskStage) -> [String?] {
    stage.all.compactMap { if case .unlisted(let reason) = $0 { .some(reason) } else { nil } }
  }

  @Test func `a line has the host's name and the server's time, and makes room the first time`() throws {
    let stage = try DeskStage()
    for _ in 0..<2 { stage.order(.announce(.sample())) }
    let written = stage.server.commands("HSET")
    #expect(written.count == 2 && stage.server.commands("hosts").count == 1)
    #expect(written[0].keys == ["imgd:hosts"])
    #expect(written[0].arguments[0] == written[1].arguments[0] && written[0].arguments[0].utf8.count <= 16)
    let note = try #require(HostNote.read(Array(written[0].arguments[1].utf8)))
    #expect(note.line == .sample() && abs(note.at / 1_000 - WallClock.seconds) < 3_600)
    #expect(refusals(stage) == [])
  }

  @Test func `nothing is written while the server takes nothing`() throws {
    let stage = try DeskStage { $0.facts["replication"] = ["role": "slave"] }
    stage.order(.announce(.sample()))
    #expect(stage.server.commands("HSET").isEmpty)
  }

  @Test func `without the rights the fleet is used as before, and that is told once`() throws {
    let stage = try DeskStage()
    try stage.waitForState(.ok)
    let denied = RedisReply.failure("NOPERM this user has no permissions to run the 'hset' command")
    stage.server.plan("HSET", denied)
    stage.server.plan("hosts", .failure("ERR ACL failure in script: no permissions to run 'hgetall'"))
    for _ in 0..<3 { stage.order(.announce(.sample())) }
    #expect(refusals(stage).count == 1)
    #expect(refusals(stage)[0]?.contains("+hset +hgetall +hdel") == true)
    #expect(throws: HostList.Problem.self) { try stage.listed() }
    #expect(!stage.all.contains { if case .state = $0 { true } else { false } })
    stage.server.plan("HSET", .number(1))
    stage.order(.announce(.sample()))
    #expect(refusals(stage).count == 2 && refusals(stage)[1] == nil)
  }

  @Test func `a host that stops takes its line out, if it has one`() throws {
    for isListed in [true, false] {
      let stage = try DeskStage()
      if isListed { stage.order(.announce(.sample())) }
      stage.order(.stop)
      #expect(stage.server.commands("HDEL").map(\.arguments.count) == (isListed ? [1] : []))
    }
  }

  @Test func `what makes no sense is passed over, and the newest purge comes along`() throws {
    let stage = try DeskStage()
    stage.server.change { for nonce in 1...3 { $0.add(UInt64(nonce)) } }
    let sound = HostNote.sample("web9").text(at: WallClock.seconds * 1_000 - 5_000)
    let parts = ["a1:" + sound, "a2:junk", "no number:" + sound, ":" + sound, sound, "a3"]
    stage.server.plan("hosts", .list(parts.map { .text($0) } + [.number(4), .nothing]))
    let report = try stage.listed()
    #expect(report.last == 3)
    #expect(report.hosts.map(\.name) == ["a1"] && report.hosts[0].number == 0xa1)
    #expect(report.hosts[0].line.machine == "web9")
    #expect((4_000...7_000).contains(report.hosts[0].age.milliseconds))
  }

  @Test func `every question has an answer`() throws {
    let stage = try DeskStage()
    stage.server.keepSilent("hosts")
    stage.order(.askForHosts)
    try stage.server.end(stage.server.pictures)
    // One was lost with the connection, and one is asked without any.
    #expect(throws: HostList.Problem.self) { try stage.listed() }
    let count = stage.all.count { if case .hosts = $0 { true } else { false } }
    #expect(count == 1)
  }

  @Test func `the limit of the server's memory is told when it changes`() throws {
    let stage = try DeskStage { $0.facts["memory"]?["maxmemory"] = "5000" }
    let limits = { stage.all.compactMap { if case .memory(let limit) = $0 { limit } else { nil } } }
    #expect(limits() == [5_000])
    stage.server.facts["memory"]?["maxmemory"] = "0"
    stage.pass(.seconds(121))
    #expect(limits() == [5_000, 0])
  }
}
