import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Which notifications the daemon sends to the service manager, and when.
struct NotificationTests {
  @Test func `it is ready when it answers, and not before`() throws {
    let daemon = try ManagedDaemon()
    try daemon.start()
    let first = try #require(daemon.manager.receive())
    #expect(first.lines.first == "READY=1")
    #expect(first.lines.count == 2 && first.lines[1].hasPrefix("STATUS="))
    #expect(try daemon.connect().ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    #expect(daemon.stop() == 0)
  }

  @Test func `it is ready when it knows what is on disk`() throws {
    let daemon = try ManagedDaemon()
    let origin = try OriginServer()
    defer { origin.stop() }
    origin.plan("/a", .picture(TestPicture.png(width: 3, height: 2)))
    try daemon.startReady()
    let fetch = #"{"cmd":"fetch","url":"\#(origin.url("/a"))"}"#
    #expect(try daemon.connect().ask(fetch)["source"]?.string == "network")
    #expect(daemon.stop() == 0)
    _ = daemon.manager.drain()
    try daemon.start()
    let first = try #require(daemon.manager.receive()).lines
    #expect(first.first == "READY=1")
    #expect(first.last?.contains("1 on disk") == true, "\(first)")
    #expect(daemon.stop() == 0)
  }

  @Test func `a start that fails says why, and is never ready`() throws {
    let daemon = try ManagedDaemon()
    let other = try UnixName.listening(at: daemon.socket)
    defer { close(other) }
    try daemon.start()
    #expect(daemon.waitForEnd() == EX_UNAVAILABLE)
    #expect(
      daemon.manager.drain().map(\.text)
        == ["STATUS=\(daemon.socket) is served by another daemon that is running"])
  }

  @Test func `a manager that is busy gets READY=1 when it reads again`() throws {
    let daemon = try ManagedDaemon()
    try daemon.manager.fillQueue()
    try daemon.start()
    #expect(try daemon.answersPing())
    #expect(daemon.manager.receive(with: "READY=1") != nil)

    try daemon.manager.fillQueue()
    #expect(try daemon.connect().ask(#"{"cmd":"reload"}"#)["ok"]?.bool == true)
    #expect(daemon.manager.receive(with: "READY=1") != nil)
    #expect(daemon.stop() == 0)
  }

  @Test func `a manager that reads nothing holds up neither clients nor the stop`() throws {
    let daemon = try ManagedDaemon()
    let origin = try OriginServer()
    defer { origin.stop() }
    origin.plan("/a", .picture(TestPicture.png(width: 3, height: 2)))
    try daemon.manager.fillQueue()
    try daemon.start(variables: ["WATCHDOG_USEC=40000", "IMGD_FDSTORE=8"])
    #expect(try daemon.answersPing())
    let client = try daemon.connect()
    let fetch = #"{"cmd":"fetch","url":"\#(origin.url("/a"))"}"#
    #expect(try client.ask(fetch)["source"]?.string == "network")
    for _ in 0..<50 {
      #expect(try client.ask(fetch)["source"]?.string == "memory")
      #expect(try client.ask(#"{"cmd":"reload"}"#)["ok"]?.bool == true)
    }
    #expect(try client.ask(#"{"cmd":"purge","tier":"memory"}"#)["ok"]?.bool == true)
    #expect(try client.ask(fetch)["source"]?.string == "disk")
    #expect(daemon.stop() == 0)
    #expect(daemon.manager.drain().allSatisfy { $0.text == "busy" })
  }

  @Test func `a reload has a beginning with its time and an end`() throws {
    let daemon = try ManagedDaemon()
    try daemon.startReady()
    var last: Int64 = 0
    for _ in 0..<2 {
      daemon.signal(SIGHUP)
      let beginning = try #require(daemon.manager.receive()).lines
      #expect(beginning.count == 2 && beginning[0] == "RELOADING=1")
      let time = try #require(Int64(beginning[1].dropFirst("MONOTONIC_USEC=".count)))
      #expect(time > last)
      last = time
      #expect(daemon.manager.receive()?.lines.first == "READY=1")
    }
    #expect(daemon.stop() == 0)
  }

  @Test func `a reload of a bad file ends as well, and the status says why`() throws {
    let daemon = try ManagedDaemon()
    try daemon.startReady()
    try daemon.configure("[Downloads]\nRetries=often\n")
    daemon.signal(SIGHUP)
    #expect(daemon.manager.receive()?.lines.first == "RELOADING=1")
    let end = try #require(daemon.manager.receive()).lines
    #expect(end.count == 2, "a message of several lines is one status")
    #expect(end[0] == "READY=1")
    #expect(end[1].hasPrefix("STATUS=still with the old configuration: "))
    #expect(end[1].contains("Retries"))
    #expect(try daemon.connect().ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    #expect(daemon.stop() == 0)
  }

  @Test func `a reload that a client asks for is notified as well`() throws {
    let daemon = try ManagedDaemon()
    try daemon.startReady()
    #expect(try daemon.connect().ask(#"{"cmd":"reload"}"#)["ok"]?.bool == true)
    #expect(daemon.manager.receive()?.lines.first == "RELOADING=1")
    #expect(daemon.manager.receive()?.lines.first == "READY=1")
  }

  /// A command that leaves a signal pending for the daemon.
  private func signalled(_ name: String) -> String {
    "env --block-signal=\(name) sh -c 'kill -\(name) $$; exec \"$0\" \"$@\"'"
  }

  @Test func `a daemon that is stopped before it serves is never ready`() throws {
    let daemon = try ManagedDaemon()
    try daemon.start(through: signalled("TERM"))
    #expect(daemon.waitForEnd() == 0)
    let said = daemon.manager.drain().map(\.lines)
    #expect(said.first?.first == "STOPPING=1")
    #expect(!said.joined().contains("READY=1"))
    #expect(access(daemon.socket, F_OK) != 0)
    #expect(daemon.log == "")
  }

  @Test func `a daemon that is to reload before it serves is ready first`() throws {
    let daemon = try ManagedDaemon()
    try daemon.start(through: signalled("HUP"))
    let said = (0..<3).map { _ in daemon.manager.receive()?.lines.first }
    #expect(said == ["READY=1", "RELOADING=1", "READY=1"])
    #expect(daemon.stop() == 0)
  }

  @Test func `a signal is no reason to end while it reads its configuration`() throws {
    let daemon = try ManagedDaemon()
    #expect(mkdir(daemon.directory + "/imgd.conf.d", 0o700) == 0)
    let slow = daemon.directory + "/imgd.conf.d/slow.conf"
    #expect(mkfifo(slow, 0o600) == 0)
    try daemon.start()
    // Returns when the daemon has opened its end.
    let writer = open(slow, O_WRONLY)
    unlink(slow)
    for signal in [SIGHUP, SIGUSR1] { daemon.signal(signal) }
    close(writer)
    let said = (0..<3).map { _ in daemon.manager.receive()?.lines.first }
    #expect(said == ["READY=1", "RELOADING=1", "READY=1"])
    #expect(daemon.stop() == 0)
  }

  @Test func `a configuration that does not come to an end holds no stop up`() throws {
    let daemon = try ManagedDaemon()
    try daemon.startReady()
    #expect(mkdir(daemon.directory + "/imgd.conf.d", 0o700) == 0)
    #expect(mkfifo(daemon.directory + "/imgd.conf.d/endless.conf", 0o600) == 0)
    daemon.signal(SIGHUP)
    #expect(daemon.manager.receive(with: "RELOADING=1") != nil)
    #expect(daemon.stop() == 0)
    #expect(!daemon.manager.drain().contains { $0.lines.contains("READY=1") })
  }

  @Test func `STOPPING=1 is the first message of a stop`() throws {
    let daemon = try ManagedDaemon()
    try daemon.startReady()
    #expect(daemon.stop() == 0)
    let said = daemon.manager.drain().map(\.lines)
    #expect(said.first?.first == "STOPPING=1")
    // Once for what runs, and once for the index.
    #expect(said.joined().count { $0.hasPrefix("EXTEND_TIMEOUT_USEC=") } == 2, "\(said)")
    #expect(said.count { $0.contains("STOPPING=1") } == 1)
    #expect(!said.joined().contains("READY=1"))
  }

  @Test func `the status is sent now and then, however much goes on`() throws {
    let daemon = try ManagedDaemon()
    let origin = try OriginServer()
    defer { origin.stop() }
    let begun = ContinuousClock.now
    try daemon.startReady()
    let client = try daemon.connect()
    for number in 0..<50 {
      origin.plan("/\(number)", .picture(TestPicture.png(width: 3, height: 2)))
      let answer = try client.ask(#"{"cmd":"fetch","url":"\#(origin.url("/\(number)"))"}"#)
      #expect(answer["ok"]?.bool == true)
    }
    // Every five seconds at most, however long this takes.
    let count = daemon.manager.drain().count
    #expect(count <= 1 + Int((ContinuousClock.now - begun) / .seconds(5)))
    #expect(daemon.stop() == 0)
  }

  @Test func `signs of life come as long as it lives`() throws {
    let daemon = try ManagedDaemon()
    try daemon.startReady(variables: ["WATCHDOG_USEC=200000"])
    for _ in 0..<5 { #expect(daemon.manager.receive(with: "WATCHDOG=1") != nil) }
    daemon.signal(SIGSTOP)
    var info = siginfo_t()
    #expect(waitid(P_PID, id_t(daemon.pid), &info, WSTOPPED | WNOWAIT) == 0)
    _ = daemon.manager.drain()
    #expect(daemon.manager.receive(within: 300) == nil, "longer than the whole period")
    daemon.signal(SIGCONT)
    #expect(daemon.manager.receive(with: "WATCHDOG=1") != nil)
    #expect(daemon.stop() == 0)
  }

  @Test func `without a watchdog there is no sign of life`() throws {
    for variables in [[], ["WATCHDOG_USEC=0"], ["WATCHDOG_USEC=soon"]] {
      let daemon = try ManagedDaemon()
      try daemon.startReady(variables: variables)
      #expect(daemon.stop() == 0)
      #expect(!daemon.manager.drain().contains { $0.lines.contains("WATCHDOG=1") })
    }
  }

  @Test func `without a manager nothing is different`() throws {
    let daemon = try DaemonProcess()
    #expect(try daemon.connect().ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    #expect(daemon.stop() == 0)
    #expect(daemon.log == "")
  }

  @Test func `a manager that is gone is no reason to end`() throws {
    let daemon = try ManagedDaemon()
    try daemon.startReady(variables: ["WATCHDOG_USEC=200000"])
    unlink(daemon.directory + "/notify")
    daemon.signal(SIGHUP)
    #expect(try daemon.connect().ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    #expect(daemon.stop() == 0)
  }
}
