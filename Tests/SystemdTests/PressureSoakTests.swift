import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

/// What memory pressure costs the service in processor time, and what it gives back to the machine.
@Suite(.machine, .slow) struct PressureSoakTests {
  private let pressure = PressureTests()

  /// The processor time that a process has used, in milliseconds.
  private func processorTime(_ process: pid_t) throws -> Int {
    let status = try #require(read("/proc/\(process)/stat"))
    let fields = status[(status.lastIndex(of: ")") ?? status.startIndex)...].split(separator: " ")
    let ticks = [12, 13].compactMap { Int(fields[$0]) }.reduce(0, +)
    return ticks * 1000 / sysconf(CInt(_SC_CLK_TCK))
  }

  /// Fails when a process is busy while nothing is asked of it.
  private func expectQuiet(_ stage: ServiceStage) throws {
    let process = try stage.machine.process()
    let before = try processorTime(process)
    let end = Instant.current + .seconds(1)
    try stage.machine.waitUntil("a second has passed") { Instant.current > end }
    #expect(try processorTime(process) - before < 200)
  }

  @Test func `without pressure it does nothing`() throws {
    let stage = try ServiceStage()
    try stage.start()
    #expect(try pressure.source(stage) == "cgroup")
    try expectQuiet(stage)
  }

  @Test func `where the group is out of reach it does nothing either`() throws {
    let stage = try ServiceStage(unit: "[Service]\nExecStartPre=\nReadWritePaths=\n")
    try stage.start()
    #expect(try pressure.source(stage) == "system")
    try expectQuiet(stage)
  }

  @Test func `when a socket has closed it does nothing`() throws {
    let stage = try ServiceStage(unit: PressureTests.extended)
    let path = stage.machine.path(PressureTests.channel)
    let listener = try UnixListener(path: path)
    chmod(path, 0o666)
    try stage.start()
    guard case .client(let peer) = listener.accept() else { throw TestFailure("no connection") }
    shutdown(peer.descriptor.number, CInt(SHUT_RDWR))
    try stage.machine.waitUntil("the group is listened to") {
      try pressure.source(stage) == "cgroup"
    }
    try expectQuiet(stage)
  }

  @Test func `a FIFO that is written to gives memory back, and then nothing is done`() throws {
    let stage = try ServiceStage(
      unit: PressureTests.extended, configuration: PressureTests.roomy)
    try stage.machine.perform("mkfifo --mode=644 \(PressureTests.channel)")
    try stage.start()
    try pressure.fill(stage)
    let resident = try stage.stats("process", "rss_bytes")
    let client = try pressure.subscribe(stage)
    try stage.machine.perform("printf x >\(PressureTests.channel)")
    _ = try client.receive()
    try expectReturned(from: resident, stage)
    try expectQuiet(stage)
  }

  @Test func `tasks of the unit that wait for memory get it, at little cost`() throws {
    try giveWay(in: ServiceStage(configuration: PressureTests.roomy))
  }

  @Test(.newerSystemd) func `a newer systemd changes nothing about that`() throws {
    let stage = try ServiceStage(
      configuration: PressureTests.roomy, below: Layer.newerSystemd)
    try stage.machine.perform(
      """
      install -D /usr/local/share/doc/imgd/254.conf /etc/systemd/system/imgd.service.d/254.conf
      systemctl daemon-reload
      """)
    try giveWay(in: stage)
  }

  private func giveWay(in stage: ServiceStage) throws {
    try stage.start()
    let process = try stage.machine.process()
    try pressure.fill(stage)
    let resident = try stage.stats("process", "rss_bytes")
    let client = try pressure.subscribe(stage)
    client.patience = .seconds(120)
    let worked = try processorTime(process)
    _ = try Shortage.during(in: stage.machine, of: "imgd.service") { try client.receive() }
    try expectReturned(from: resident, stage)
    #expect(try processorTime(process) - worked < 500)
    try expectQuiet(stage)
  }

  private func expectReturned(from resident: Int, _ stage: ServiceStage) throws {
    let held = try stage.stats("process", "rss_bytes")
    #expect(resident - held > 15_000 * PressureTests.count / 2, "\(resident) then \(held)")
  }
}
