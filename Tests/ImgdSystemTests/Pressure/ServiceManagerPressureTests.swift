import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

@Suite("What the service manager names for memory pressure") struct ServiceManagerPressureTests {
  /// What the service manager asks for, in its own letters.
  static let usual = "c29tZSAyMDAwMDAgMjAwMDAwMAA="
  let plant: PressurePlant
  let path: String

  init() throws {
    plant = try PressurePlant()
    path = plant.directory + "/told"
  }

  @Test("is refused with a word when it cannot be used")
  func refusals() throws {
    for (watch, write, word) in [
      ("told", nil, "\"told\" is not an absolute path"),
      ("/nowhere/told", nil, "stat /nowhere/told: No such file"),
      ("/dev/full", nil, "/dev/full is no regular file, FIFO or socket"),
      (plant.directory, nil, "is no regular file, FIFO or socket"),
      ("/proc/pressure/memory", "%%%%", "\"%%%%\" is not Base64"),
      ("/proc/pressure/memory", "c29tZQ==", "write /proc/pressure/memory: Invalid argument"),
    ] {
      let watched = plant.watch(watch, write: write)
      #expect(watched.source == .none)
      #expect(watched.note?.hasPrefix("service-manager: ") == true)
      #expect(watched.note?.contains(word) == true, "\(watched.note ?? "")")
    }
    #expect(plant.watch("").note?.contains("service-manager") == false)
  }

  @Test("may be a file of the kernel's", .enabled(if: PressureLadderTests.hasStalls))
  func trigger() {
    let watch = plant.watch("/proc/pressure/memory", write: Self.usual)
    #expect(watch.source == .serviceManager && watch.note == nil)
    // As something to be read it would be ready all the time.
    #expect(plant.wakeUps(in: 1_000) == 0)
    #expect(plant.told == 0)
  }

  @Test(
    "is given up when it is a trigger that was never set",
    .enabled(if: PressureLadderTests.hasStalls))
  func noTrigger() throws {
    try write(PressurePlant.stalls(0), to: plant.places.stalls)
    let watch = plant.watch("/proc/pressure/memory")
    #expect(watch.source == .serviceManager)
    plant.loop.settle()
    #expect(watch.source == .sampling)
    #expect(plant.told == 0 && plant.changes.count == 1)
    #expect(plant.changes.first?.contains("from now on: sampling") == true)
  }

  // MARK: FIFO

  @Test("may be a FIFO, of which every word counts alike") func fifo() throws {
    mkfifo(path, 0o600)
    let watch = plant.watch(path)
    #expect(watch.source == .serviceManager && watch.note == nil)
    #expect(plant.wakeUps(in: 100) == 0)
    let peer = TellingPeer(writingTo: path)
    #expect(peer.isConnected)
    #expect(plant.wakeUps(in: 100) == 0)

    peer.tell(3_000)
    plant.loop.settle()
    #expect(plant.told == 1)
    peer.tell()
    plant.loop.settle()
    #expect(plant.told == 1)
    plant.pass(PressureWatch.breath)
    #expect(plant.told == 2)
    #expect(plant.wakeUps(in: 1_000) == 0)
  }

  @Test("may be a FIFO, which is told what is wanted, once and to the letter")
  func fifoGreeting() throws {
    mkfifo(path, 0o600)
    let other = open(path, O_RDWR | O_NONBLOCK)
    defer { close(other) }
    let watch = plant.watch(path, write: Self.usual)
    #expect(watch.source == .serviceManager && watch.note == nil)
    var room = [UInt8](repeating: 0, count: 100)
    let count = Glibc.read(other, &room, room.count)
    #expect(room.prefix(max(count, 0)).elementsEqual("some 200000 2000000\0".utf8))
    plant.pass(.seconds(1))
    #expect(plant.told == 0 && Glibc.read(other, &room, room.count) < 0)
    TellingPeer(writingTo: path).tell()
    plant.loop.settle()
    #expect(plant.told == 1)
  }

  @Test("does not take its own word in a FIFO for news, if nobody else reads it")
  func fifoEcho() throws {
    mkfifo(path, 0o600)
    let watch = plant.watch(path, write: Self.usual)
    plant.pass(.seconds(1))
    #expect(watch.source == .serviceManager && plant.told == 0)
    #expect(plant.wakeUps(in: 100) == 0)
    let peer = TellingPeer(writingTo: path)
    peer.tell()
    plant.loop.settle()
    #expect(plant.told == 1)
    peer.close()
    #expect(plant.wakeUps(in: 1_000) <= 1)
  }

  @Test("hears what comes in a FIFO on the heels of its own word") func fifoHeels() throws {
    mkfifo(path, 0o600)
    let watch = plant.watch(path, write: Self.usual)
    TellingPeer(writingTo: path).tell()
    plant.pass(.seconds(1))
    #expect(watch.source == .serviceManager && plant.told == 1)
  }

  /// In a process where nobody starts another: that one would hold the writer until it has begun.
  @Test("may be a FIFO whose writers come and go") func fifoWriters() async {
    await #expect(processExitsWith: .success) {
      let plant = try PressurePlant()
      let path = plant.directory + "/told"
      mkfifo(path, 0o600)
      let watch = plant.watch(path)
      for round in 1...5 {
        let peer = TellingPeer(writingTo: path)
        peer.tell()
        peer.close()
        try #require(plant.wakeUps(in: 1_000) <= 2)
        try #require(plant.told == round)
        plant.pass(.seconds(1))
        try #require(plant.wakeUps(in: 1_000) == 0)
      }
      try #require(watch.source == .serviceManager && plant.changes.isEmpty)
    }
  }

  @Test("is not lost when it is written while nobody listens") func fifoBetween() throws {
    mkfifo(path, 0o600)
    let watch = plant.watch(path)
    TellingPeer(writingTo: path).close()
    plant.loop.settle()
    TellingPeer(writingTo: path).tell()
    plant.pass(.seconds(1))
    #expect(plant.told == 1 && watch.source == .serviceManager)
  }

  @Test("costs little however often a writer comes") func restlessWriters() throws {
    mkfifo(path, 0o600)
    let watch = plant.watch(path)
    var wakeUps = 0
    for _ in 0..<500 {
      TellingPeer(writingTo: path).close()
      wakeUps += plant.wakeUps(in: 20)
    }
    #expect(wakeUps <= 5)
    #expect(watch.source == .serviceManager && plant.told == 0)
  }

  /// In a process where nobody starts another, as above.
  @Test("is given up when the FIFO is gone as its writer goes") func fifoGone() async {
    await #expect(processExitsWith: .success) {
      let plant = try PressurePlant()
      let path = plant.directory + "/told"
      mkfifo(path, 0o600)
      try write(PressurePlant.stalls(0), to: plant.places.stalls)
      let watch = plant.watch(path)
      let peer = TellingPeer(writingTo: path)
      unlink(path)
      peer.close()
      plant.loop.settle()
      try #require(watch.source == .sampling && plant.changes.count == 1)
    }
  }

  // MARK: Socket

  @Test("may be a socket, which is told first what is wanted") func socket() throws {
    let server = try TellingServer(path)
    let watch = plant.watch(path, write: Self.usual)
    #expect(watch.source == .serviceManager && watch.note == nil)
    let peer = try #require(server.accept())
    #expect(peer.received() == Array("some 200000 2000000\0".utf8))
    #expect(plant.wakeUps(in: 100) == 0)
    peer.tell(100)
    plant.loop.settle()
    #expect(plant.told == 1)
    plant.pass(.seconds(1))
    #expect(plant.wakeUps(in: 1_000) == 0)
    #expect(peer.received().isEmpty)
  }

  @Test("is given up, once, when the socket is closed") func socketClosed() throws {
    try write(PressurePlant.stalls(0), to: plant.places.stalls)
    let server = try TellingServer(path)
    let watch = plant.watch(path)
    let peer = try #require(server.accept())
    peer.tell()
    peer.close()
    #expect(plant.wakeUps(in: 1_000) <= 2)
    #expect(plant.told == 1)
    plant.pass(.seconds(1))
    #expect(plant.told == 1 && watch.source == .sampling)
    #expect(plant.changes.count == 1)
    #expect(watch.note?.contains("was closed by its other side") == true)
    #expect(plant.wakeUps(in: 1_000) == 0)
  }

  @Test("is refused when nobody accepts on the socket") func nobody() throws {
    _ = try TellingServer(path)
    let watch = plant.watch(path)
    #expect(watch.source == .none)
    #expect(watch.note?.contains("connect \(path): Connection refused") == true)
  }

  // MARK: Too much of it

  @Test("is not believed for a minute when it never ends and nobody waits for memory")
  func storm() throws {
    mkfifo(path, 0o600)
    try write(PressurePlant.stalls(0, recent: "0.99"), to: plant.places.stalls)
    let watch = plant.watch(path)
    let peer = TellingPeer(writingTo: path)
    func flood(for time: Duration) -> Int {
      let before = plant.told
      for _ in 0..<(time.milliseconds / PressureWatch.breath.milliseconds) {
        peer.tell()
        plant.pass(PressureWatch.breath)
      }
      return plant.told - before
    }
    #expect(flood(for: .seconds(10)) == StormGuard.limit)
    #expect(plant.changes.count == 1)
    #expect(flood(for: .seconds(50)) == 0)
    #expect(flood(for: .seconds(60)) == StormGuard.limit)
    #expect(plant.changes.count == 1)
    #expect(watch.source == .serviceManager)

    try write(PressurePlant.stalls(0, recent: "1.00"), to: plant.places.stalls)
    plant.pass(.seconds(60))
    #expect(flood(for: .seconds(20)) >= 99)
  }
}
