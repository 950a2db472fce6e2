import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A reload of the configuration by systemctl.
@Suite(.machine) struct ServiceReloadTests {
  private let stage: ServiceStage
  private var machine: Machine { stage.machine }

  init() throws {
    stage = try ServiceStage(configuration: "[Memory]\nCapacity=10M\nPreferred=10M\n")
    try stage.start()
  }

  /// Fetches so many pictures of 100 kB and a little, without a path: that would keep its file.
  private func fill(_ count: Int) throws {
    let picture = png() + [UInt8](repeating: 0, count: 100_000)
    for number in 0..<count {
      stage.origin.plan("/\(number)", .picture(picture))
      try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/\#(number)","deliver":"none"}
        < {"ok":true}
        """#)
    }
  }

  @Test func `less memory holds when reload returns`() throws {
    try fill(20)
    let before = try stage.stats("memory", "bytes")
    #expect(before > 2_000_000)
    try stage.configure("[Memory]\nCapacity=1M\nPreferred=500K\n")
    try machine.perform("systemctl reload imgd.service")
    #expect(try machine.state() == "active")
    #expect(try stage.stats("memory", "capacity") == 1 << 20)
    #expect(try stage.stats("memory", "bytes") <= 1 << 20)
  }

  @Test func `less disk is trimmed at once`() throws {
    try fill(20)
    try machine.waitUntil("all is on disk") { try stage.stats("disk", "entries") == 20 }
    try stage.configure("[Disk]\nCapacity=1M\n")
    try machine.perform("systemctl reload imgd.service")
    #expect(try stage.stats("disk", "capacity") == 1 << 20)
    try machine.waitUntil("the files are gone") {
      let files = try machine.perform("find /var/cache/imgd -size +90k -name '*.png' | wc -l")
      return try (Int(files) ?? 99) <= 10 && stage.stats("disk", "bytes") <= 1 << 20
    }
  }

  @Test func `a stop in the middle of one is no failure`() throws {
    for _ in 0..<5 {
      try machine.perform("systemctl reset-failed imgd.service")
      try machine.perform("systemctl reload --no-block imgd.service; systemctl stop imgd.service")
      // Systemd's reload is a client: the stop may cut its connection, or it may start the service again.
      #expect(try machine.state() != "reloading")
      #expect(try machine.property("ExecMainStatus") == "0")
      try machine.perform("systemctl start imgd.service")
    }
  }

  @Test func `users who take all places do not shut root out`() throws {
    try stage.configure("[Control]\nMaxClients=2\n")
    try machine.perform("systemctl restart imgd.service")
    // One user alone may have half of the places.
    let users = ["nobody", "daemon"].map { "setpriv --reuid=\($0) --regid=nogroup --groups=imgd" }
    let crowd = try users.map { user in
      try machine.begin(
        "while :; do \(user) socat -u UNIX-CONNECT:\(Machine.socket) /dev/null; done")
    }
    defer {
      for client in crowd {
        kill(client, SIGKILL)
        _ = ChildProcess.wait(client)
      }
    }
    try machine.waitUntil("there is no place left") {
      try machine.run("\(users[0]) imgctl ping").output.contains("too_many_requests")
    }
    try machine.waitUntil("both are in") { try stage.stats("clients", "connected") == 3 }
    try stage.configure("[Control]\nMaxClients=20\n")
    try machine.perform("systemctl reload imgd.service")
    try machine.perform("\(users[0]) imgctl ping")
  }

  @Test func `a file with a mistake changes nothing, and reload says so`() throws {
    try stage.configure("[Memory]\nCapacity=1M\nPreferred=much\n")
    let (status, _) = try machine.run("systemctl reload imgd.service")
    #expect(status != 0)
    #expect(try machine.state() == "active")
    #expect(try stage.stats("memory", "capacity") == 10 << 20)
    try machine.waitForJournal("/etc/imgd/imgd.conf:3")
    let doctor = try machine.run("imgctl doctor")
    #expect(doctor.status == 1)
    let finding = "problem  configuration /etc/imgd/imgd.conf:3: Memory.Preferred=much"
    #expect(doctor.output.contains(finding), "\(doctor.output)")
    // And it is not held against the next one.
    try stage.configure("[Memory]\nCapacity=2M\nPreferred=1M\n")
    try machine.perform("systemctl reload imgd.service")
    #expect(try stage.stats("memory", "capacity") == 2 << 20)
  }

  /// What is said of them is longer than systemd reads.
  @Test func `a file full of mistakes does not hold up the next reload`() throws {
    try stage.configure(String(repeating: "nonsense\n", count: 5_000))
    #expect(try machine.run("systemctl reload imgd.service").status != 0)
    #expect(try machine.state() == "active")
    #expect(try machine.property("StatusText").hasPrefix("still with the old configuration: "))
    try stage.configure("[Memory]\nCapacity=2M\nPreferred=1M\n")
    try machine.perform("systemctl reload imgd.service")
    #expect(try stage.stats("memory", "capacity") == 2 << 20)
  }

  @Test func `a signal does the same`() throws {
    try stage.configure("[Memory]\nCapacity=1M\nPreferred=500K\n")
    try machine.perform("systemctl kill --signal=HUP imgd.service")
    try machine.waitUntil("it is taken over") {
      try stage.stats("memory", "capacity") == 1 << 20
    }
    try machine.waitUntil(is: "active")
    try stage.configure("nonsense\n")
    try machine.perform("systemctl kill --signal=HUP imgd.service")
    try machine.waitForJournal("/etc/imgd/imgd.conf:1")
    try machine.waitUntil(is: "active")
    #expect(try stage.stats("memory", "capacity") == 1 << 20)
  }

  @Test func `what cannot change while it runs is named`() throws {
    try stage.configure("[Disk]\nDirectory=/var/cache/imgd/other\n")
    let said = try machine.perform("imgctl reload")
    #expect(said.contains("Disk.Directory"), "\(said)")
  }

  @Test func `a socket that is not the service's to make is said to be unused, once`() throws {
    try stage.configure("[Control]\nSocket=/run/imgd/other.sock\n")
    for _ in 0..<3 { try machine.perform("systemctl reload imgd.service") }
    try machine.waitForJournal("Control.Socket=/run/imgd/other.sock is not used")
    #expect(try machine.journal("IMGD_EVENT=configuration").count == 1)
  }

  @Test func `what runs goes on`() throws {
    let gate = Gate()
    stage.origin.plan("/held", .held(at: gate, then: .picture(png())))
    let client = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/held"}"#, on: client)
    #expect(gate.waitUntilReached())
    try machine.perform("systemctl reload imgd.service")
    gate.open()
    try stage.play(#"< {"id":1,"ok":true,"source":"network"}"#, on: client)
  }
}
