import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

/// How memory pressure reaches the service, and what it frees then.
@Suite(.machine) struct PressureTests {
  /// The path of a FIFO or a socket that the unit may open.
  static let channel = "/run/pressure"
  static let extended = """
    [Service]
    Environment=MEMORY_PRESSURE_WATCH=\(channel)
    Environment=MEMORY_PRESSURE_WRITE=c29tZSAyMDAwMDAgMjAwMDAwMAA=

    """
  static let roomy = "[Memory]\nCapacity=200M\nPreferred=200M\n[Disk]\nEnabled=no\n"
  /// As small as those that are kept on the heap, which is what the resident size shows.
  private static let picture = TestPicture.png(bytes: 15_000)
  static let count = 2_000

  func source(_ stage: ServiceStage) throws -> String? {
    try stage.connect().ask(#"{"cmd":"stats"}"#)["pressure"]?["source"]?.string
  }

  private func reliefs(_ stage: ServiceStage) throws -> [JournalEntry] {
    try stage.machine.journal("IMGD_EVENT=pressure").filter { $0["IMGD_BYTES"] != nil }
  }

  func subscribe(_ stage: ServiceStage) throws -> TestClient {
    let client = try stage.connect()
    let answer = try client.ask(#"{"cmd":"subscribe","events":["pressure"]}"#)
    #expect(answer["ok"] == .bool(true))
    return client
  }

  /// Fetches so much that it is seen in the size of the process.
  func fill(_ stage: ServiceStage) throws {
    let client = try stage.connect()
    for number in 0..<Self.count { stage.origin.plan("/\(number)", .picture(Self.picture)) }
    for number in 0..<Self.count {
      let url = stage.origin.url("/\(number)")
      try client.send(#"{"cmd":"fetch","url":"\#(url)","id":"\#(number)","progress":false}"#)
    }
    var ends = 0
    while ends < Self.count { if try client.receive()["ok"] != nil { ends += 1 } }
    #expect(try stage.stats("memory", "entries") == Self.count)
  }

  private func expectAlive(_ stage: ServiceStage, as process: pid_t) throws {
    #expect(try stage.machine.process() == process)
    #expect(try stage.machine.property("NRestarts") == "0")
    let complaints = try stage.machine.journal("--unit=imgd.service --priority=warning")
    #expect(complaints.isEmpty, "\(complaints)")
  }

  // MARK: Without pressure

  @Test func `the source is the group of the unit`() throws {
    let stage = try ServiceStage()
    try stage.start()
    #expect(try source(stage) == "cgroup")
  }

  @Test func `where the group is out of reach the source is the whole machine, and stats say why`()
    throws
  {
    let stage = try ServiceStage(unit: "[Service]\nExecStartPre=\nReadWritePaths=\n")
    try stage.start()
    #expect(try source(stage) == "system")
    let note = try stage.connect().ask(#"{"cmd":"stats"}"#)["pressure"]?["note"]?.string
    #expect(note?.hasPrefix("cgroup: open /sys/fs/cgroup/system.slice/imgd.service") == true)
  }

  @Test func `it can be switched off, and on again by a reload`() throws {
    let stage = try ServiceStage(configuration: "[Memory]\nPressure=off\n")
    try stage.start()
    #expect(try source(stage) == "off")
    try stage.configure("[Memory]\nPressure=auto\n")
    try stage.machine.perform("systemctl reload imgd.service")
    #expect(try source(stage) == "cgroup")
  }

  @Test func `a signal frees memory on demand`() throws {
    let stage = try ServiceStage(configuration: Self.roomy)
    try stage.start()
    let client = try subscribe(stage)
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    try stage.machine.perform("systemctl kill --signal=USR1 imgd.service")
    let event = try client.receive()
    #expect(event["source"] == .string("signal") && event["removed_entries"]?.integer == 1)
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try reliefs(stage).map { $0["IMGD_SOURCE"] } == ["signal"])
  }

  @Test
  func `a file that systemd names and cannot be used is skipped, and the journal says so once`()
    throws
  {
    let stage = try ServiceStage(unit: Self.extended)
    try stage.start()
    #expect(try source(stage) == "cgroup")
    let lines = try stage.machine.journal("IMGD_EVENT=pressure").map(\.message)
    #expect(lines.count == 1, "\(lines)")
    #expect(lines.first?.contains("service-manager: stat \(Self.channel): No such file") == true)
  }

  @Test func `a flood of signals is one relief in two seconds`() throws {
    let stage = try ServiceStage()
    try stage.start()
    let process = try stage.machine.process()
    let begun = Instant.current
    // Pending signals merge into one: the others must come after the first relief.
    kill(process, SIGUSR1)
    try stage.machine.waitUntil("the first is answered") {
      try stage.stats("pressure", "events") == 1
    }
    for _ in 0..<2_000 { kill(process, SIGUSR1) }
    try stage.machine.waitUntil("the second relief is done") {
      try stage.stats("pressure", "events") == 2
    }
    #expect(Instant.current - begun >= .seconds(2))
    try expectAlive(stage, as: process)
  }

  // MARK: Reported by other processes

  @Test func `a FIFO empties the memory tier, and its writers may come and go`() throws {
    let stage = try ServiceStage(unit: Self.extended, configuration: Self.roomy)
    try stage.machine.perform("mkfifo --mode=644 \(Self.channel)")
    try stage.start()
    #expect(try source(stage) == "service-manager")
    let process = try stage.machine.process()
    try fill(stage)
    let client = try subscribe(stage)

    try stage.machine.perform("printf x >\(Self.channel)")
    let event = try client.receive()
    #expect(event["source"] == .string("service-manager"))
    #expect(event["removed_entries"]?.integer == Int64(Self.count))
    #expect(try stage.stats("memory", "bytes") == 0)
    #expect(try stage.stats("memory", "capacity") == 100 << 20)
    #expect(try reliefs(stage).count == 1)

    try stage.machine.perform("printf x >\(Self.channel)")
    #expect(try client.receive()["removed_entries"]?.integer == 0)
    #expect(try stage.stats("pressure", "events") == 2)
    #expect(try source(stage) == "service-manager")
    try expectAlive(stage, as: process)
  }

  @Test func `a socket is the source until its other side closes, and then the group is`() throws {
    let stage = try ServiceStage(unit: Self.extended, configuration: Self.roomy)
    let path = stage.machine.path(Self.channel)
    let listener = try UnixListener(path: path)
    chmod(path, 0o666)
    try stage.start()
    #expect(try source(stage) == "service-manager")
    let process = try stage.machine.process()
    guard case .client(let peer) = listener.accept() else { throw TestFailure("no connection") }
    #expect(text(from: peer) == "some 200000 2000000\0")
    let client = try subscribe(stage)

    #expect(Glibc.send(peer.descriptor.number, "x", 1, 0) == 1)
    #expect(try client.receive()["source"] == .string("service-manager"))
    shutdown(peer.descriptor.number, CInt(SHUT_RDWR))
    try stage.machine.waitUntil("the group is listened to") { try source(stage) == "cgroup" }
    let notes = try stage.machine.journal("IMGD_EVENT=pressure").filter {
      $0.message.contains("closed by its other side")
    }
    #expect(notes.count == 1)
    #expect(try stage.stats("pressure", "events") == 1)
    try expectAlive(stage, as: process)
  }

  private func text(from peer: borrowing StreamSocket) -> String {
    let scratch = ReadScratch()
    guard case .bytes(let count) = peer.read(into: scratch) else { return "" }
    return scratch.withBytes(count) { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
  }

  // MARK: Real pressure

  @Test func `the memory tier gives way when tasks of the unit wait for memory`() throws {
    try giveWay(in: ServiceStage(configuration: Self.roomy), to: "cgroup")
  }

  @Test(.newerSystemd)
  func `a newer systemd hands out the file, and the memory tier gives way as well`() throws {
    let stage = try ServiceStage(configuration: Self.roomy, below: Layer.newerSystemd)
    try stage.machine.perform(
      """
      install -D /usr/local/share/doc/imgd/254.conf /etc/systemd/system/imgd.service.d/254.conf
      systemctl daemon-reload
      """)
    try giveWay(in: stage, to: "service-manager")
  }

  private func giveWay(in stage: ServiceStage, to expected: String) throws {
    try stage.start()
    #expect(try source(stage) == expected)
    let process = try stage.machine.process()
    try fill(stage)
    let client = try subscribe(stage)
    client.patience = .seconds(120)
    let event = try Shortage.during(in: stage.machine, of: "imgd.service") { try client.receive() }

    #expect(event["event"] == .string("pressure") && event["source"] == .string(expected))
    #expect(event["removed_entries"]?.integer == Int64(Self.count))
    #expect(try stage.stats("memory", "bytes") == 0)
    let reliefs = try reliefs(stage)
    #expect(reliefs.first?["IMGD_ENTRIES"] == "\(Self.count)")
    // One more where it went on so long that the tier is held to less.
    #expect(reliefs.count <= 2, "\(reliefs)")
    stage.origin.plan("/a", .picture(png()))
    #expect(try stage.fetch("/a")["ok"] == .bool(true))
    try expectAlive(stage, as: process)
  }
}
