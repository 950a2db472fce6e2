import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Hosts, clocks, lines and memory that are not as they should be.
@Suite("A fleet in hardship", .slow) struct FleetHardshipSoakTests {
  /// A dead host costs its claim, and no more. How long that is waited for is in the tests of claims, whose clock is
  /// turned.
  @Test func `does without a host that was killed while it fetched for all`() throws {
    let stage = try FleetStage(hosts: 5)
    let url = stage.pictures.add("/a")
    let gate = Gate()
    let picture = VersionedPictures.answer("/a", 1)
    stage.origin.plan("/a", .held(at: gate, then: picture), picture)
    try stage.hosts[0].client.send(FleetHost.request(url))
    #expect(gate.waitUntilReached())
    for host in stage.hosts.dropFirst() { try host.client.send(FleetHost.request(url)) }
    for host in stage.hosts.dropFirst() { #expect(try becomesWaiting(stage, host)) }
    stage.hosts[0].kill()
    for host in stage.hosts.dropFirst() {
      let answer = try host.client.receive()
      #expect(["network", "fleet"].contains(answer.outcome))
    }
    #expect(stage.origin.count("/a") <= 5)
    gate.open()
    try stage.hosts[0].start()
    try stage.awaitAll()
    for host in stage.hosts.dropFirst() { #expect(try host.fetch(url).outcome == "memory") }
  }

  private func becomesWaiting(_ stage: FleetStage, _ host: FleetHost) throws -> Bool {
    let witness = try host.daemon.connect()
    return try becomes {
      let stats = try witness.ask(#"{"cmd":"stats"}"#)
      return stats["fleet"]?["waits"]?.integer == 1
    }
  }

  /// A purge in the middle of a fetch: what the holder then stores would be the old picture.
  @Test func `does not store what was purged while it was fetched`() throws {
    let stage = try FleetStage(hosts: 3)
    let url = stage.pictures.add("/a")
    let gate = Gate()
    stage.origin.plan(
      "/a", .held(at: gate, then: VersionedPictures.answer("/a", 1)),
      VersionedPictures.answer("/a", 2))
    try stage.hosts[0].client.send(FleetHost.request(url))
    #expect(gate.waitUntilReached())
    try stage.hosts[1].purge(#""url":"\#(url)""#)
    gate.open()
    _ = try stage.hosts[0].client.receive()
    try stage.catchUp()
    stage.pictures.publish("/a")
    stage.origin.plan("/a", VersionedPictures.answer("/a", 2))
    for host in stage.hosts {
      let answer = try host.fetch(url, VersionedPictures.inside)
      #expect(try stage.pictures.version(of: "/a", in: answer) == 2)
    }
  }

  /// Pictures may be evicted; what tells of purges may not.
  @Test func `keeps its purges where the server's memory is full`() throws {
    let stage = try FleetStage(hosts: 3, server: ["--maxmemory", "8mb"])
    for round in 0..<4 {
      for number in 0..<60 {
        let path = "/\(round)-\(number)"
        let url = stage.pictures.add(path, bytes: 100_000)
        _ = try stage.hosts[number % 3].fetch(url)
      }
      let last = stage.pictures.add("/last-\(round)")
      _ = try stage.fetchAll(last)
      stage.pictures.publish("/last-\(round)")
      try stage.hosts[round % 3].purge(#""url":"\#(last)""#)
      try stage.catchUp()
      for answer in try stage.fetchAll(last, VersionedPictures.inside) {
        #expect(try stage.pictures.version(of: "/last-\(round)", in: answer) == 2)
      }
    }
    let evicted = try #require(try stage.redis.command("INFO", "stats").text)
      .split(separator: "\r\n").first { $0.hasPrefix("evicted_keys:") }
    #expect(evicted != "evicted_keys:0", "the server had room for all")
    #expect(try stage.redis.command("XLEN", "imgd:purges") == .number(8))
    for host in stage.hosts {
      #expect(try host.purges("gaps") == 0)
      #expect(try host.state == "ok")
    }
  }

  private static let faketime = ["x86_64", "aarch64"]
    .map { (machine: String) -> String in
      "/usr/lib/\(machine)-linux-gnu/faketime/libfaketime.so.1"
    }
    .first { access($0, R_OK) == 0 }

  /// Ages are told by the server's clock.
  @Test(.enabled(if: faketime != nil, "libfaketime is not installed"))
  func `agrees about ages where clocks are five minutes off`() throws {
    let faketime = try #require(Self.faketime)
    let stage = try FleetStage(hosts: 1)
    for offset in ["+300", "-300"] {
      try stage.add(wrapper: [
        "/usr/bin/env", "LD_PRELOAD=\(faketime)", "FAKETIME=\(offset)",
        "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1",
      ])
    }
    try stage.awaitAll()
    for (number, host) in stage.hosts.enumerated() {
      let bytes = TestPicture.png(bytes: 2_000)
      // Without a Date: that is the origin's clock, which is another matter.
      stage.origin.plan(
        "/\(number)", .picture(bytes, headers: [("Cache-Control", "max-age=200"), ("Age", "100")]))
      let url = stage.origin.url("/\(number)")
      #expect(try host.fetch(url).outcome == "network")
      try stage.awaitStored(1, by: host)
      for other in stage.hosts where other !== host {
        let answer = try other.fetch(url)
        #expect(answer.outcome == "fleet", "\(answer.text)")
        #expect((100..<190).contains(answer["age"]?.integer ?? -1), "\(answer.text)")
      }
    }
    // Stored a moment ago, by every clock.
    let url = stage.origin.url("/0")
    for host in stage.hosts {
      try host.purge(#""older_than":150"#)
      try stage.catchUp()
    }
    #expect(try stage.fetchAll(url).map(\.outcome) == ["memory", "memory", "memory"])
    for host in stage.hosts {
      try host.purge(#""older_than":0"#)
      try stage.catchUp()
      for other in stage.hosts { #expect(try other.tier(of: url) == "none") }
      for answer in try stage.fetchAll(url) { #expect(answer["ok"] == .bool(true)) }
    }
  }

  /// Purges that are made while the lines are cut are in force everywhere when they have been mended.
  @Test(
    .enabled(if: PrivateNetwork.obstacle == nil, Comment(rawValue: PrivateNetwork.obstacle ?? "")),
    arguments: [FleetGrounds.Kind.one, .secure, .several])
  func `hears all purges over lines that are slow, lose packets and are cut`(on kind: FleetGrounds.Kind) throws {
    let fleet = try DistantFleet(on: kind)
    for _ in 0..<40 { try fleet.purgeNext() }
    try fleet.expectNewest()
    try fleet.cut()
    for _ in 0..<10 {
      let (host, sending) = try fleet.purgeNext()
      #expect(sending == (fleet.far.contains { $0 === host } ? "pending" : "sent"))
    }
    fleet.mend()
    try fleet.expectNewest()
    for _ in 0..<10 { try fleet.purgeNext() }
    try fleet.expectNewest()
  }
}
