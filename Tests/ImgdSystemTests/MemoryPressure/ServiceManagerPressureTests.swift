import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

/// The file that the service manager names for memory pressure.
struct ServiceManagerPressureTests {
  /// The service manager's request, in Base64.
  static let usual = "c29tZSAyMDAwMDAgMjAwMDAwMAA="
  let fixture: PressureFixture
  let path: String

  init() throws {
    fixture = try PressureFixture()
    path = fixture.directory + "/pressure"
  }

  @Test func `an unusable file is refused with a message`() throws {
    for (watch, write, word) in [
      ("pressure", nil, "\"pressure\" is not an absolute path"),
      ("/nowhere/pressure", nil, "stat /nowhere/pressure: No such file"),
      ("/dev/full", nil, "/dev/full is no regular file, FIFO or socket"),
      (fixture.directory, nil, "is no regular file, FIFO or socket"),
      ("/proc/pressure/memory", "%%%%", "\"%%%%\" is not Base64"),
      ("/proc/pressure/memory", "c29tZQ==", "write /proc/pressure/memory: Invalid argument"),
    ] {
      let watched = fixture.watch(watch, write: write)
      #expect(watched.source == .none)
      #expect(watched.note?.hasPrefix("service-manager: ") == true)
      #expect(watched.note?.contains(word) == true, "\(watched.note ?? "")")
    }
    #expect(fixture.watch("").note?.contains("service-manager") == false)
  }

  @Test(.enabled(if: PressureSourceTests.hasStalls))
  func `a file of the kernel is accepted`() {
    let watch = fixture.watch("/proc/pressure/memory", write: Self.usual)
    #expect(watch.source == .serviceManager && watch.note == nil)
    // As something to be read it would be ready all the time.
    #expect(fixture.wakeUps(in: 1_000) == 0)
    #expect(fixture.reports == 0)
  }

  @Test(.enabled(if: PressureSourceTests.hasStalls))
  func `a trigger that was never set is given up`() throws {
    try write(PressureFixture.stalls(0), to: fixture.paths.stalls)
    let watch = fixture.watch("/proc/pressure/memory")
    #expect(watch.source == .serviceManager)
    fixture.loop.settle()
    #expect(watch.source == .sampling)
    #expect(fixture.reports == 0 && fixture.changes.count == 1)
    #expect(fixture.changes.first?.contains("the source is now sampling") == true)
  }

  // MARK: FIFO

  @Test func `a FIFO is accepted, whatever is written to it`() throws {
    mkfifo(path, 0o600)
    let watch = fixture.watch(path)
    #expect(watch.source == .serviceManager && watch.note == nil)
    #expect(fixture.wakeUps(in: 100) == 0)
    let peer = ReportingPeer(writingTo: path)
    #expect(peer.isConnected)
    #expect(fixture.wakeUps(in: 100) == 0)

    peer.report(3_000)
    fixture.loop.settle()
    #expect(fixture.reports == 1)
    peer.report()
    fixture.loop.settle()
    #expect(fixture.reports == 1)
    fixture.pass(PressureMonitor.pause)
    #expect(fixture.reports == 2)
    #expect(fixture.wakeUps(in: 1_000) == 0)
  }

  @Test func `a FIFO gets the request once and unchanged`() throws {
    mkfifo(path, 0o600)
    let other = open(path, O_RDWR | O_NONBLOCK)
    defer { close(other) }
    let watch = fixture.watch(path, write: Self.usual)
    #expect(watch.source == .serviceManager && watch.note == nil)
    var room = [UInt8](repeating: 0, count: 100)
    let count = Glibc.read(other, &room, room.count)
    #expect(room.prefix(max(count, 0)).elementsEqual("some 200000 2000000\0".utf8))
    fixture.pass(.seconds(1))
    #expect(fixture.reports == 0 && Glibc.read(other, &room, room.count) < 0)
    ReportingPeer(writingTo: path).report()
    fixture.loop.settle()
    #expect(fixture.reports == 1)
  }

  @Test func `a FIFO that no other process reads is accepted`() throws {
    mkfifo(path, 0o600)
    let watch = fixture.watch(path, write: Self.usual)
    fixture.pass(.seconds(1))
    #expect(watch.source == .serviceManager && fixture.reports == 0)
    #expect(fixture.wakeUps(in: 100) == 0)
    let peer = ReportingPeer(writingTo: path)
    peer.report()
    fixture.loop.settle()
    #expect(fixture.reports == 1)
    peer.close()
    #expect(fixture.wakeUps(in: 1_000) <= 1)
  }

  @Test func `a FIFO with a report right after the request is accepted`() throws {
    mkfifo(path, 0o600)
    let watch = fixture.watch(path, write: Self.usual)
    ReportingPeer(writingTo: path).report()
    fixture.pass(.seconds(1))
    #expect(watch.source == .serviceManager && fixture.reports == 1)
  }

  /// In a process of its own that starts no other: a child would hold the writer until it has begun.
  @Test func `a FIFO whose writers come and go is accepted`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try PressureFixture()
      let path = fixture.directory + "/pressure"
      mkfifo(path, 0o600)
      let watch = fixture.watch(path)
      for round in 1...5 {
        let peer = ReportingPeer(writingTo: path)
        peer.report()
        peer.close()
        try #require(fixture.wakeUps(in: 1_000) <= 2)
        try #require(fixture.reports == round)
        fixture.pass(.seconds(1))
        try #require(fixture.wakeUps(in: 1_000) == 0)
      }
      try #require(watch.source == .serviceManager && fixture.changes.isEmpty)
    }
  }

  @Test func `a report that is written while the FIFO is reopened is not lost`() throws {
    mkfifo(path, 0o600)
    let watch = fixture.watch(path)
    ReportingPeer(writingTo: path).close()
    fixture.loop.settle()
    ReportingPeer(writingTo: path).report()
    fixture.pass(.seconds(1))
    #expect(fixture.reports == 1 && watch.source == .serviceManager)
  }

  @Test func `frequent writers cost little`() throws {
    mkfifo(path, 0o600)
    let watch = fixture.watch(path)
    var wakeUps = 0
    for _ in 0..<500 {
      ReportingPeer(writingTo: path).close()
      wakeUps += fixture.wakeUps(in: 20)
    }
    #expect(wakeUps <= 5)
    #expect(watch.source == .serviceManager && fixture.reports == 0)
  }

  /// In a process of its own that starts no other, as above.
  @Test func `a FIFO that is removed when its writer leaves is given up`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try PressureFixture()
      let path = fixture.directory + "/pressure"
      mkfifo(path, 0o600)
      try write(PressureFixture.stalls(0), to: fixture.paths.stalls)
      let watch = fixture.watch(path)
      let peer = ReportingPeer(writingTo: path)
      unlink(path)
      peer.close()
      fixture.loop.settle()
      try #require(watch.source == .sampling && fixture.changes.count == 1)
    }
  }

  // MARK: Socket

  @Test func `a socket gets the request first`() throws {
    let server = try ReportingServer(path)
    let watch = fixture.watch(path, write: Self.usual)
    #expect(watch.source == .serviceManager && watch.note == nil)
    let peer = try #require(server.accept())
    #expect(peer.received() == Array("some 200000 2000000\0".utf8))
    #expect(fixture.wakeUps(in: 100) == 0)
    peer.report(100)
    fixture.loop.settle()
    #expect(fixture.reports == 1)
    fixture.pass(.seconds(1))
    #expect(fixture.wakeUps(in: 1_000) == 0)
    #expect(peer.received().isEmpty)
  }

  @Test func `a closed socket is given up once`() throws {
    try write(PressureFixture.stalls(0), to: fixture.paths.stalls)
    let server = try ReportingServer(path)
    let watch = fixture.watch(path)
    let peer = try #require(server.accept())
    peer.report()
    peer.close()
    #expect(fixture.wakeUps(in: 1_000) <= 2)
    #expect(fixture.reports == 1)
    fixture.pass(.seconds(1))
    #expect(fixture.reports == 1 && watch.source == .sampling)
    #expect(fixture.changes.count == 1)
    #expect(watch.note?.contains("was closed by its other side") == true)
    #expect(fixture.wakeUps(in: 1_000) == 0)
  }

  @Test func `a socket without a listener is refused`() throws {
    _ = try ReportingServer(path)
    let watch = fixture.watch(path)
    #expect(watch.source == .none)
    #expect(watch.note?.contains("connect \(path): Connection refused") == true)
  }

  // MARK: Floods

  @Test func `endless reports are ignored for a minute when no task waits for memory`() throws {
    mkfifo(path, 0o600)
    try write(PressureFixture.stalls(0, recent: "0.99"), to: fixture.paths.stalls)
    let watch = fixture.watch(path)
    let peer = ReportingPeer(writingTo: path)
    func flood(for time: Duration) -> Int {
      let before = fixture.reports
      for _ in 0..<(time.milliseconds / PressureMonitor.pause.milliseconds) {
        peer.report()
        fixture.pass(PressureMonitor.pause)
      }
      return fixture.reports - before
    }
    #expect(flood(for: .seconds(10)) == EventRateLimit.limit)
    #expect(fixture.changes.count == 1)
    #expect(flood(for: .seconds(50)) == 0)
    #expect(flood(for: .seconds(60)) == EventRateLimit.limit)
    #expect(fixture.changes.count == 1)
    #expect(watch.source == .serviceManager)

    try write(PressureFixture.stalls(0, recent: "1.00"), to: fixture.paths.stalls)
    fixture.pass(.seconds(60))
    #expect(flood(for: .seconds(20)) >= 99)
  }
}
