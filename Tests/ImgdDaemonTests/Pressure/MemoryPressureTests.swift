import Glibc
import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDaemon

@Suite("The sense of memory pressure") struct MemoryPressureTests {
  /// In a process where nobody starts another: that one would hold the FIFO until it has begun.
  @Test("answers what is told through a FIFO, and sleeps when it is switched off")
  func fifo() async {
    await #expect(processExitsWith: .success) {
      let directory = try ImgdTestSupport.TemporaryDirectory.make()
      defer { ImgdTestSupport.TemporaryDirectory.remove(directory) }
      let path = directory + "/told"
      mkfifo(path, 0o600)
      let clock = LoopClock.manual()
      let loop = try EventLoop(clock: clock)
      var told: [String] = []
      var lines: [String] = []
      let pressure = MemoryPressure(
        PressureRequest(watch: path), loop: loop,
        effects: PressureRelief.Effects(
          release: { .none }, hold: { _ in }, tell: { source, _ in told.append(source) }),
        log: { line, _ in lines.append(line) })
      try #require(pressure.source == "service-manager" && pressure.share == .whole)
      let writer = open(path, O_WRONLY | O_NONBLOCK)
      defer { close(writer) }

      _ = Glibc.write(writer, "!", 1)
      loop.settle()
      try #require(told == ["service-manager"] && pressure.share == .half)
      pressure.relieve("signal")
      try #require(told == ["service-manager"])
      clock.advance(by: .seconds(2))
      loop.settle()
      try #require(told == ["service-manager", "signal"])

      pressure.apply(isWanted: false)
      try #require(pressure.source == "off")
      // Nobody has the other end open any more.
      try #require(open(path, O_WRONLY | O_NONBLOCK) < 0)
      clock.advance(by: .seconds(10))
      loop.settle()
      try #require(told.count == 2)

      pressure.apply(isWanted: true)
      try #require(pressure.source == "service-manager")
      _ = Glibc.write(writer, "!", 1)
      loop.settle()
      try #require(told == ["service-manager", "signal", "service-manager"])
      try #require(lines.count == 1)
    }
  }

  @Test("says in the log which source is used, and why none that is better")
  func passedOver() throws {
    let loop = try EventLoop(clock: .manual())
    var places = PressurePlaces()
    (places.membership, places.mounts, places.stalls) = ("/nowhere", "/nowhere", "/nowhere")
    var lines: [String] = []
    let pressure = MemoryPressure(
      PressureRequest(watch: "/missing"), places: places, loop: loop,
      effects: PressureRelief.Effects(
        release: { .none }, hold: { _ in }, tell: { _, _ in }),
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
