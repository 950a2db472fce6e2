import Glibc
import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDaemon

/// Memory pressure in the whole daemon.
struct MemoryPressureTests {
  /// In a process of its own: a child being started elsewhere would hold the FIFO open.
  @Test func `the daemon answers reports through a FIFO, and none when pressure is turned off`()
    async
  {
    await #expect(processExitsWith: .success) {
      let directory = try ImgdTestSupport.TemporaryDirectory.make()
      defer { ImgdTestSupport.TemporaryDirectory.remove(directory) }
      let path = directory + "/pressure"
      mkfifo(path, 0o600)
      let clock = LoopClock.manual()
      let loop = try EventLoop(clock: clock)
      var reports: [String] = []
      var lines: [String] = []
      let pressure = MemoryPressure(
        PressureRequest(watch: path), loop: loop,
        effects: PressureRelief.Effects(
          release: { $0(.none) }, hold: { _ in }, tell: { source, _ in reports.append(source) }),
        log: { line, _ in lines.append(line) })
      try #require(pressure.source == "service-manager" && pressure.share == .whole)
      let writer = open(path, O_WRONLY | O_NONBLOCK)
      defer { close(writer) }

      _ = Glibc.write(writer, "!", 1)
      loop.settle()
      try #require(reports == ["service-manager"] && pressure.share == .half)
      pressure.relieve("signal")
      try #require(reports == ["service-manager"])
      clock.advance(by: .seconds(2))
      loop.settle()
      try #require(reports == ["service-manager", "signal"])

      pressure.apply(isWanted: false)
      try #require(pressure.source == "off")
      // The other end is closed.
      try #require(open(path, O_WRONLY | O_NONBLOCK) < 0)
      clock.advance(by: .seconds(10))
      loop.settle()
      try #require(reports.count == 2)

      pressure.apply(isWanted: true)
      try #require(pressure.source == "service-manager")
      _ = Glibc.write(writer, "!", 1)
      loop.settle()
      try #require(reports == ["service-manager", "signal", "service-manager"])
      try #require(lines.count == 1)
    }
  }

  @Test func `the daemon logs the source in use and why no better one is used`() throws {
    let loop = try EventLoop(clock: .manual())
    var paths = PressurePaths()
    (paths.membership, paths.mounts, paths.stalls) = ("/nowhere", "/nowhere", "/nowhere")
    var lines: [String] = []
    let pressure = MemoryPressure(
      PressureRequest(watch: "/missing"), paths: paths, loop: loop,
      effects: PressureRelief.Effects(
        release: { $0(.none) }, hold: { _ in }, tell: { _, _ in }),
      log: { line, _ in lines.append(line) })
    #expect(lines.count == 1)
    let why = "none (service-manager: stat /missing: No such file or directory; cgroup: "
    #expect(lines.first?.contains(why) == true, "\(lines)")
    pressure.apply(isWanted: false)
    #expect(lines.count == 1)
    pressure.apply(isWanted: true)
    #expect(lines.count == 2)
  }
}
