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
    ("imgd", nil), ("imgd-transfer", "a transfer loop"), ("imgd-disk", "the disk's writer"),
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
}
