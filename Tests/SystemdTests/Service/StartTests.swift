import ImgdTestSupport
import ImgdWire
import Testing

/// What people see of the service: start, status, stop.
@Suite(.machine) struct StartTests {
  @Test func `start returns when imgd answers`() throws {
    let stage = try ServiceStage()
    // The socket is there before; readiness and status come in one message.
    let status = try stage.machine.perform(
      "systemctl start imgd.service; systemctl show --property=StatusText --value imgd.service")
    #expect(status.contains("pictures in memory"), "\(status)")
    #expect(try stage.connect().ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true))
    #expect(try stage.machine.state() == "active")
    #expect(try stage.machine.property("NRestarts") == "0")
  }

  @Test func `the status tells what goes on, and names no URL`() throws {
    let stage = try ServiceStage()
    stage.origin.plan("/private/picture.png", .silence)
    try stage.start()
    let client = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/private/picture.png"}"#, on: client)
    #expect(stage.origin.waitForRequests("/private/picture.png"))
    try stage.machine.waitUntil("the status names the download") {
      try stage.machine.property("StatusText").contains("1")
    }
    let status = try stage.machine.perform("systemctl status imgd.service")
    #expect(!status.contains("private"))
    #expect(!status.contains("://"))
  }

  @Test func `a service that was busy and is stopped has nothing to complain of`() throws {
    let stage = try ServiceStage()
    try stage.start()
    for number in 0..<20 {
      stage.origin.plan("/\(number)", .picture(png()))
      try stage.fetch("/\(number)")
    }
    try stage.machine.perform("systemctl stop imgd.service")
    #expect(try stage.machine.state() == "inactive")
    #expect(try stage.machine.property("Result") == "success")
    #expect(try stage.machine.property("ExecMainStatus") == "0")
    let complaints = try stage.machine.journal("--unit=imgd.service --priority=warning")
    #expect(complaints.isEmpty, "\(complaints)")
  }

  @Test func `what it has on disk is there after a stop and a start`() throws {
    let stage = try ServiceStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.start()
    let path = try #require(try stage.fetch("/a")["path"]?.string)
    #expect(path.hasPrefix("/var/cache/imgd/"))
    #expect(readBytes(stage.machine.path(path)) == png())
    try stage.machine.perform("systemctl stop imgd.service")
    try stage.start()
    #expect(try stage.fetch("/a")["path"]?.string == path)
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `a configuration with a mistake is a start that fails, and says where it is`() throws {
    let stage = try ServiceStage(configuration: "[Memory]\nCapacity=much\n")
    #expect(try stage.machine.run("systemctl start imgd.service").status != 0)
    try stage.machine.waitForJournal("/etc/imgd/imgd.conf:2")
    // Nothing changes by itself, so it is not tried again.
    try stage.machine.waitUntil(is: "failed")
    #expect(try stage.machine.property("NRestarts") == "0")
  }

  @Test func `why a start has failed is found by the unit, however late the journal reads it`()
    throws
  {
    let stage = try ServiceStage(configuration: "[Memory]\nCapacity=much\n")
    let signal = "systemctl kill --kill-who=main --signal"
    try stage.machine.perform("\(signal)=STOP systemd-journald.service")
    #expect(try stage.machine.run("systemctl start imgd.service").status != 0)
    try stage.machine.waitUntil(is: "failed")
    try stage.machine.perform("\(signal)=CONT systemd-journald.service")
    try stage.machine.waitForJournal("/etc/imgd/imgd.conf:2")
    let entries = try stage.machine.journal("--unit=imgd.service --priority=err")
    #expect(entries.contains { $0.message.contains("/etc/imgd/imgd.conf:2") })
  }

  @Test func `what systemd itself cannot set up is a failure that is seen, and not tried for ever`()
    throws
  {
    let stage = try ServiceStage(unit: "[Service]\nReadWritePaths=/srv/nowhere\n")
    #expect(try stage.machine.run("systemctl start imgd.service").status != 0)
    try stage.machine.waitUntil(is: "failed")
    #expect(try stage.machine.property("NRestarts") == "0")
    // A client that connects now does not wait.
    #expect(try stage.machine.run("imgctl ping", within: 20).status == 3)

    try stage.machine.perform("mkdir /srv/nowhere")
    try stage.machine.perform("systemctl reset-failed imgd.service imgd.socket")
    try stage.start()
  }

  @Test func `group members may talk to it, and others may not`() throws {
    let stage = try ServiceStage()
    try stage.start()
    let member = "setpriv --reuid=nobody --regid=nogroup --groups=imgd imgctl ping"
    let stranger = "setpriv --reuid=nobody --regid=nogroup --clear-groups imgctl ping"
    #expect(try stage.machine.run(member).status == 0)
    #expect(try stage.machine.run(stranger).status != 0)
  }

  @Test func `a group member can read the file that an answer names`() throws {
    let stage = try ServiceStage()
    stage.origin.plan("/a", .picture(png()))
    try stage.start()
    let path = try #require(try stage.fetch("/a")["path"]?.string)
    let reader = "setpriv --reuid=nobody --regid=nogroup --groups=imgd cmp \(path) \(path)"
    #expect(try stage.machine.run(reader).status == 0)
  }
}

func png() -> [UInt8] { TestPicture.png(width: 3, height: 2) }
