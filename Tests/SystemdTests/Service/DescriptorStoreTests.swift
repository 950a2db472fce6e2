import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The memory tier from one process to the next, through systemd's descriptor store.
@Suite(.machine) struct DescriptorStoreTests {
  private let stage: ServiceStage
  private var machine: Machine { stage.machine }

  init() throws {
    stage = try ServiceStage(unit: "[Service]\nRestartSec=100ms\n")
    stage.origin.plan("/small", .picture(Self.small))
    stage.origin.plan("/large", .picture(Self.large))
    try machine.perform("systemctl start imgd.socket imgd.service")
  }

  private static let small = TestPicture.png(bytes: 900, seed: 1)
  private static let large = TestPicture.png(bytes: 200_000, seed: 2)

  private func fetchBoth() throws -> [String] {
    try ["/small", "/large"].map { try #require(try stage.fetch($0)["source"]?.string) }
  }

  private var kept: Int {
    get throws { Int(try machine.property("NFileDescriptorStore")) ?? -1 }
  }

  /// Reloads, and waits until the snapshot is stored: clients get their answer before.
  private func reload(toKeep count: Int) throws {
    try machine.perform("systemctl reload imgd.service")
    try machine.waitUntil("\(count) are kept") { try kept == count }
  }

  @Test func `after a restart the next hit is one in memory, and the store is empty`()
    throws
  {
    #expect(try fetchBoth() == ["network", "network"])
    for _ in 0..<2 {
      try machine.perform("systemctl restart imgd.service")
      #expect(try kept == 0)
      #expect(try stage.stats("memory", "entries") == 2)
      #expect(try fetchBoth() == ["memory", "memory"])
    }
    #expect(stage.origin.count("/large") == 1)
    // The path is the one that it has had, and the bytes are those of the picture.
    let path = try #require(try stage.fetch("/large")["path"]?.string)
    #expect(readBytes(machine.path(path)) == Self.large)
    #expect(try stage.stats("disk", "entries") == 2)
    #expect(try stage.stats("disk", "insertions") == 0)
    let complaints = try machine.journal("--unit=imgd.service --priority=warning")
    #expect(complaints.isEmpty, "\(complaints)")
  }

  @Test func `pictures taken over are delivered in every form`() throws {
    _ = try fetchBoth()
    try machine.perform("systemctl restart imgd.service")
    let client = try stage.connect()
    for (path, bytes) in [("/small", Self.small), ("/large", Self.large)] {
      let answers = try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN\#(path)","deliver":"inline"}
        < {"ok":true,"source":"memory"}
        > {"cmd":"fetch","url":"ORIGIN\#(path)","deliver":"fd"}
        < {"ok":true,"source":"memory","fds":[{"kind":"encoded","bytes":\#(bytes.count)}]}
        """#, on: client)
      #expect(Base64.decode(answers[0]["data"]?.string ?? "-") == bytes)
      let descriptor = try #require(client.takeDescriptor())
      defer { close(descriptor) }
      #expect(readBytes("/proc/self/fd/\(descriptor)") == bytes)
    }
  }

  @Test func `a stopped service begins with nothing in memory`() throws {
    _ = try fetchBoth()
    try machine.perform("systemctl stop imgd.service")
    try machine.perform("systemctl start imgd.service")
    #expect(try kept == 0)
    #expect(try fetchBoth() == ["disk", "disk"])
    let complaints = try machine.journal("--unit=imgd.service --priority=notice")
      .filter { $0.message.contains("memory tier") }
    #expect(complaints.isEmpty, "\(complaints)")
  }

  @Test func `after a crash nothing is taken over that was taken over before`() throws {
    _ = try fetchBoth()
    try machine.perform("systemctl restart imgd.service")
    #expect(try fetchBoth() == ["memory", "memory"])
    kill(try machine.process(), SIGKILL)
    try machine.waitUntil("it was started again") { try machine.property("NRestarts") == "1" }
    try machine.waitUntil(is: "active")
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try fetchBoth() == ["disk", "disk"])
  }

  @Test func `after a crash nothing is taken over, not even a snapshot of a reload`() throws {
    _ = try fetchBoth()
    try reload(toKeep: 2)
    kill(try machine.process(), SIGKILL)
    try machine.waitUntil("it was started again") { try machine.property("NRestarts") == "1" }
    try machine.waitUntil(is: "active")
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try kept == 0)
    #expect(try fetchBoth() == ["disk", "disk"])
    try machine.waitForJournal("its daemon did not stop in good order")
    // That is no reason to distrust the next one.
    try machine.perform("systemctl restart imgd.service")
    #expect(try fetchBoth() == ["memory", "memory"])
  }

  @Test func `after a hang nothing is taken over`() throws {
    try machine.extend(with: "[Service]\nWatchdogSec=2\nRestartSec=100ms\n")
    try machine.perform("systemctl restart imgd.service")
    _ = try fetchBoth()
    try machine.perform("systemctl reload imgd.service")
    let hold = try ThreadHold("imgd-transfer", of: try machine.process())
    try machine.waitUntil("it was started again") { try machine.property("NRestarts") == "1" }
    hold.letGo()
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try fetchBoth() == ["disk", "disk"])
  }

  @Test func `purged pictures do not come back`() throws {
    stage.origin.plan("/marked", .picture(Self.large))
    _ = try fetchBoth()
    try stage.fetch("/marked")
    try machine.perform("systemctl reload imgd.service")
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/large"}
      < {"ok":true,"removed":true}
      > {"cmd":"purge","url":"ORIGIN/marked","soft":true}
      < {"ok":true}
      """#)
    try machine.perform("systemctl restart imgd.service")
    #expect(try stage.stats("memory", "entries") == 2)
    #expect(try fetchBoth() == ["memory", "network"])
    try stage.fetch("/marked")
    #expect(stage.origin.count("/marked") == 2)
  }

  @Test func `under memory pressure the store is emptied`() throws {
    _ = try fetchBoth()
    try reload(toKeep: 2)
    kill(try machine.process(), SIGUSR1)
    try machine.waitUntil("nothing is kept") { try kept == 0 }
  }

  @Test func `a purge empties the store at once`() throws {
    _ = try fetchBoth()
    try reload(toKeep: 2)
    try stage.play(
      #"""
      > {"cmd":"purge","tier":"memory"}
      < {"ok":true,"removed":true}
      """#)
    try machine.waitUntil("nothing is kept") { try kept == 0 }
  }

  /// So large that each is left in a memfd of its own.
  private func fetchLargePictures(_ count: Int) throws {
    for number in 0..<count {
      stage.origin.plan("/\(number)", .picture(TestPicture.png(bytes: 150_000, seed: 3)))
      try stage.fetch("/\(number)")
    }
  }

  @Test func `there are never more descriptors than the unit allows`() throws {
    let settings = "[Service]\nFileDescriptorStoreMax=8\nEnvironment=IMGD_FDSTORE=8\n"
    try machine.extend(with: settings)
    try machine.perform("systemctl restart imgd.service")
    try fetchLargePictures(20)
    try reload(toKeep: 8)
    try machine.perform("systemctl restart imgd.service")
    #expect(try stage.stats("memory", "entries") == 7)
    #expect(try stage.fetch("/19")["source"] == .string("memory"))
    #expect(try stage.fetch("/0")["source"] == .string("disk"))
    let complaints = try machine.journal("--unit=imgd.service --priority=warning")
    #expect(complaints.isEmpty, "\(complaints)")
  }

  @Test func `systemd may keep fewer descriptors than it announced`() throws {
    try machine.extend(with: "[Service]\nFileDescriptorStoreMax=3\n")
    try machine.perform("systemctl restart imgd.service")
    try fetchLargePictures(5)
    try machine.perform("systemctl restart imgd.service")
    #expect(try kept == 0)
    #expect(try stage.stats("memory", "entries") == 2)
    // Which of those that it was sent at once it keeps, systemd decides.
    let sources = try (0..<5).map { try stage.fetch("/\($0)")["source"]?.string ?? "" }
    #expect(sources.sorted() == ["disk", "disk", "disk", "memory", "memory"])
  }

  @Test func `without a service manager nothing is taken over`() throws {
    try machine.perform("systemctl stop imgd.socket imgd.service")
    let said = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(said) }
    for source in ["network", "disk"] {
      let daemon = try machine.begin(
        "IMGD_FDSTORE=128 exec imgd --socket /run/imgd/imgd.sock --cache-directory /run/pictures",
        output: said + "/output")
      try machine.waitUntil("it listens") { (try? stage.connect()) != nil }
      #expect(try stage.fetch("/large")["source"] == .string(source))
      try machine.perform("kill $(pidof imgd)")
      #expect(ChildProcess.wait(daemon) == 0)
    }
    // The machine may run short of memory meanwhile, and say so.
    #expect(read(said + "/output")?.contains("the memory tier begins") == false)
  }

  @Test func `without a store nothing is sent`() throws {
    try machine.extend(
      with: "[Service]\nFileDescriptorStoreMax=0\nUnsetEnvironment=IMGD_FDSTORE\n")
    try machine.perform("systemctl restart imgd.service")
    _ = try fetchBoth()
    try machine.perform("systemctl reload imgd.service; systemctl restart imgd.service")
    #expect(try fetchBoth() == ["disk", "disk"])
    let complaints = try machine.journal("--priority=warning")
      .filter { $0.message.contains("imgd") }
    #expect(complaints.isEmpty, "\(complaints)")
  }
}

/// From 254 on systemd announces its limit itself.
@Suite(.machine, .newerSystemd) struct NewerDescriptorStoreTests {
  @Test func `systemd's own limit is used`() throws {
    let stage = try ServiceStage(
      unit: "[Service]\nFileDescriptorStoreMax=3\nUnsetEnvironment=IMGD_FDSTORE\n",
      below: Layer.newerSystemd)
    try stage.machine.perform("systemctl start imgd.socket imgd.service")
    for path in ["/a", "/b", "/c"] {
      stage.origin.plan(path, .picture(TestPicture.png(bytes: 150_000, seed: 3)))
      try stage.fetch(path)
    }
    try stage.machine.perform("systemctl restart imgd.service")
    #expect(try stage.stats("memory", "entries") == 2)
    #expect(try stage.fetch("/c")["source"] == .string("memory"))
    #expect(try stage.fetch("/a")["source"] == .string("disk"))
  }
}
