import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

/// What is given without a network, and how much a poor one costs.
@Suite(.serialized, .slow, .inPrivateNetworks) struct OfflineSoakTests {
  /// The times are for people to read: beside other tests they say as much about the machine as about imgd.
  @Test("a hundred stale pictures are given at once, and the origin is not asked")
  func stalePictures() throws {
    let stage = try OfflineStage()
    for host in OfflineStage.hosts { _ = try stage.client.ask(stage.line("/stale", of: host)) }
    try stage.setLink(up: false)
    let asked = stage.origin.count("/stale")
    for _ in 0..<10 {
      let times = try OfflineStage.hosts.map { host in
        let begun = Instant.current
        let line = try stage.client.ask(stage.line("/stale", of: host))
        #expect(line["offline"] == .bool(true))
        return .current - begun
      }.sorted()
      print("stale pictures offline: p50 \(times[49]), p99 \(times[98])")
    }
    #expect(stage.origin.count("/stale") == asked)
  }

  @Test("a hundred misses are delivered when the link is back")
  func misses() throws {
    let stage = try OfflineStage("Downloads.MaxPerHost=1")
    try stage.setLink(up: false)
    for host in OfflineStage.hosts { try stage.client.send(stage.line("/new", of: host)) }
    #expect(try stage.client.receiveNow() == nil)
    try stage.network.setLink(up: true)
    let begun = Instant.current
    for _ in OfflineStage.hosts { #expect(try stage.client.receive().outcome == "network") }
    let time = Instant.current - begun
    print("a hundred misses after the link is back: \(time)")
  }

  @Test("a thousand flaps take at most a second of processor time, with a hundred misses waiting")
  func flaps() throws {
    let stage = try OfflineStage()
    try stage.setLink(up: false)
    stage.origin.plan("/new", .silence)
    for host in OfflineStage.hosts { try stage.client.send(stage.line("/new", of: host)) }
    let before = stage.daemon.processorTicks
    try stage.network.flapLink(1_000)
    let ticks = stage.daemon.processorTicks - before
    print("a thousand flaps: \(ticks) hundredths of a second of processor time")
    #expect(ticks <= 100)
  }
}
