import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

/// systemd's watchdog restarts a service of which any thread hangs, and no load makes it do so.
@Suite(.machine) struct HangTests {
  private static let quick = """
    [Service]
    WatchdogSec=2
    RestartSec=100ms

    """

  /// The control loop writes the log entry, so that its own hang has none.
  @Test(arguments: [
    ("imgd", nil), ("imgd-transfer", "the transfer loop"), ("imgd-disk", "the disk's writer"),
    ("imgd-reader", "the disk's reader"),
  ])
  func `a service with a thread that hangs is killed and started again`(
    thread: String, blamed: String?
  ) throws {
    let stage = try ServiceStage(unit: Self.quick)
    stage.origin.plan("/a", .picture(png()))
    try stage.machine.perform("systemctl start imgd.socket imgd.service")
    #expect(try stage.fetch("/a")["path"]?.string != nil)
    let hold = try ThreadHold(thread, of: try stage.machine.process())
    try stage.machine.waitUntil("it was started again") {
      try stage.machine.property("NRestarts") == "1"
    }
    hold.letGo()
    // No wait until it is ready: the socket is there.
    #expect(try stage.fetch("/a")["source"] == .string("disk"))
    #expect(stage.origin.count("/a") == 1)
    try stage.machine.waitForJournal("Failed with result 'watchdog'")
    if let blamed { try stage.machine.waitForJournal("no answer from \(blamed) for half of") }
  }

  @Test func `a client that connects during a hang is answered by the next process`() throws {
    let stage = try ServiceStage(unit: Self.quick)
    try stage.machine.perform("systemctl start imgd.socket imgd.service")
    let hold = try ThreadHold("imgd", of: try stage.machine.process())
    let client = try stage.connect()
    #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true))
    hold.letGo()
    #expect(try stage.machine.property("NRestarts") == "1")
  }

  @Test func `slow origins, a long queue and thousands of clients are no hang`() throws {
    let clients = 10_000
    OpenFiles.raiseLimit()
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
