import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

/// Load of all kinds for some of systemd's watchdog periods.
@Suite(.machine, .slow) struct HangSoakTests {
  @Test func `slow origins, a long queue and thousands of clients are no hang`() throws {
    let clients = 10_000
    OpenFiles.raiseLimit(forClients: 1_024)
    let period = 5
    let stage = try ServiceStage(
      unit: "[Service]\nWatchdogSec=\(period)\n", configuration: "[Control]\nMaxClients=10100\n")
    try stage.start()
    let busy = try stage.connect()
    let fetches = (0..<5_000).map { number in
      stage.origin.plan("/\(number)", .silence)
      return #"{"cmd":"fetch","url":"\#(stage.origin.url("/\(number)"))"}"#
    }
    try busy.sendRaw(Array((fetches.joined(separator: "\n") + "\n").utf8))
    let crowd = try (0..<clients).map { _ in try stage.connect() }
    let end = try ping(stage) + 2 * period * 1_000_000
    while try ping(stage) < end {
      for client in crowd { try client.send(#"{"cmd":"ping"}"#) }
      for client in crowd { _ = try client.receive() }
    }
    #expect(try stage.machine.property("NRestarts") == "0")
    #expect(try stage.stats("clients", "connected") > clients)
    #expect(try stage.stats("downloads", "queued") > 4_900)
  }

  /// When systemd got the last sign of life, in microseconds.
  private func ping(_ stage: ServiceStage) throws -> Int {
    Int(try stage.machine.property("WatchdogTimestampMonotonic")) ?? 0
  }
}
