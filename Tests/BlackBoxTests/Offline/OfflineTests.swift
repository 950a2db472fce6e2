import ImgdTestSupport
import ImgdWire
import Testing

/// A real link that goes and comes.
@Suite(.inPrivateNetworks) struct OfflineTests {
  @Test(
    "a hundred stale pictures are shown without a network call, and a hundred others wait",
    .enabled(if: SystemCallCount.obstacle == nil, "strace is missing"))
  func link() throws {
    let stage = try OfflineStage()
    for host in OfflineStage.hosts {
      #expect(try stage.client.ask(stage.line("/stale", of: host)).outcome == "network")
    }
    try stage.setLink(up: false)
    let calls = try SystemCallCount(of: stage.daemon.pid)
    for host in OfflineStage.hosts {
      let line = try stage.client.ask(stage.line("/stale", of: host))
      #expect(line["stale"] == .bool(true) && line["offline"] == .bool(true))
    }
    for host in OfflineStage.hosts { try stage.client.send(stage.line("/new", of: host)) }
    let counts = calls.end()
    #expect(counts["imgd-names"] == nil)
    #expect(counts.values.allSatisfy { $0["connect"] == nil })
    #expect(try stage.client.receiveNow() == nil)
    try stage.setLink(up: true)
    for _ in OfflineStage.hosts { #expect(try stage.client.receive().outcome == "network") }
    #expect(stage.origin.count("/stale") == 100)
  }

  @Test("a request that does not wait fails at once")
  func noWaiting() throws {
    let stage = try OfflineStage()
    try stage.setLink(up: false)
    let line = try stage.client.ask(stage.line("/new", of: 1, #","wait_online":false"#))
    #expect(line.failureCode == "offline")
  }

  @Test("where it is turned off, the network is asked")
  func off() throws {
    let stage = try OfflineStage("Network.Offline=off", "Downloads.Retries=0")
    try stage.network.setLink(up: false)
    #expect(try stage.client.ask(stage.line("/new", of: 1)).failureCode == "connect")
  }
}
