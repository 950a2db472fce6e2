import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

/// When the routes are looked at, by a clock that the test turns; a pair of sockets is the kernel's bell.
struct RouteMonitorTests {
  private final class Scene {
    let clock = LoopClock.manual()
    let loop: EventLoop
    var isOnline: Bool? = true
    /// Whether looks are left without an answer.
    var isHeld = false
    private var answers: [(Bool?) -> Void] = []
    private(set) var looks = 0
    private(set) var told: [Bool] = []
    private let rope: CInt
    private(set) var monitor: RouteMonitor?

    init(isOnline: Bool = true) throws {
      loop = try EventLoop(clock: clock)
      self.isOnline = isOnline
      var ends: [CInt] = [-1, -1]
      let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
      guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemFailure("socketpair") }
      rope = ends[0]
      monitor = try RouteMonitor(
        FileDescriptor(owning: ends[1]), on: loop, isOffline: !isOnline,
        look: { [unowned self] answer in
          looks += 1
          if isHeld { answers.append(answer) } else { answer(self.isOnline) }
        }, onChange: { [unowned self] in told.append($0) })
    }

    deinit { close(rope) }

    func ring() {
      _ = send(rope, "x", 1, 0)
      loop.settle()
    }

    /// Answers the looks that were held.
    func release() {
      isHeld = false
      for answer in answers { answer(isOnline) }
      answers = []
    }

    func pass(_ time: Duration) {
      clock.advance(by: time)
      loop.settle()
    }
  }

  @Test("a ring is answered by a look at once, and a change is told once")
  func ring() throws {
    let scene = try Scene()
    #expect(scene.looks == 0)
    scene.isOnline = false
    scene.ring()
    #expect(scene.told == [true])
    #expect(scene.monitor?.isOffline == true)
    scene.pass(RouteMonitor.pause)
    scene.ring()
    #expect(scene.looks == 2)
    #expect(scene.told == [true])
  }

  @Test("a machine that begins offline comes online")
  func beginning() throws {
    let scene = try Scene(isOnline: false)
    #expect(scene.monitor?.isOffline == true)
    scene.isOnline = true
    scene.ring()
    #expect(scene.told == [false])
  }

  @Test("rings during a pause are answered by one look at its end")
  func pause() throws {
    let scene = try Scene()
    scene.ring()
    scene.isOnline = false
    for _ in 0..<40 { scene.ring() }
    #expect(scene.looks == 1)
    #expect(scene.told.isEmpty)
    scene.pass(RouteMonitor.pause)
    #expect(scene.looks == 2)
    #expect(scene.told == [true])
  }

  @Test("a thousand flaps in ten seconds cost at most a hundred looks")
  func flaps() throws {
    let scene = try Scene()
    for flap in 0..<1_000 {
      scene.isOnline = flap % 2 == 0
      scene.ring()
      scene.pass(.milliseconds(10))
    }
    #expect(scene.looks <= 101)
    scene.isOnline = true
    scene.ring()
    scene.pass(RouteMonitor.pause)
    #expect(scene.monitor?.isOffline == false)
  }

  @Test("while a look waits there is no other, and what rings meanwhile is looked at afterwards")
  func slowLook() throws {
    let scene = try Scene()
    scene.isHeld = true
    scene.ring()
    for _ in 0..<10 {
      scene.ring()
      scene.pass(RouteMonitor.pause)
    }
    #expect(scene.looks == 1)
    scene.release()
    #expect(scene.told.isEmpty)
    scene.isOnline = false
    scene.pass(RouteMonitor.pause)
    #expect(scene.looks == 2)
    #expect(scene.told == [true])
  }

  @Test("a look that fails changes nothing")
  func failure() throws {
    let scene = try Scene(isOnline: false)
    scene.isOnline = nil
    scene.ring()
    #expect(scene.told.isEmpty)
    #expect(scene.monitor?.isOffline == true)
  }
}

/// The same with the kernel: links that come and go in networks of the test's own.
@Suite(
  .enabled(
    if: PrivateNetwork.obstacle == nil, Comment(rawValue: PrivateNetwork.obstacle ?? "")))
struct KernelRouteTests {
  @Test("a link with an address leads out, until it is down")
  func link() throws {
    let (network, other) = (try PrivateNetwork(), try PrivateNetwork())
    try network.connect(to: other)
    #expect(try Self.states(in: network, settingLinkUp: false) == [false, true])
    #expect(try Self.states(in: network, settingLinkUp: true) == [true, false])
  }

  /// Whether the machine is offline, before and after a change of its link.
  private static func states(in network: PrivateNetwork, settingLinkUp up: Bool) throws -> [Bool] {
    try network.inside {
      let loop = try EventLoop()
      let before = try !RouteMonitor.findsWayOut()
      let monitor = try RouteMonitor(on: loop, isOffline: before) { _ in }
      try network.setLink(up: up)
      let alarm = loop.schedule(after: Patience.limit) {}
      while monitor.isOffline == before, loop.now < alarm.deadline { loop.tick(waiting: true) }
      return [before, monitor.isOffline]
    }
  }

  @Test("a monitor looks once without a ring, in case something has changed before it was there")
  func firstLook() throws {
    let network = try PrivateNetwork()
    let isOffline = try network.inside {
      let loop = try EventLoop()
      let monitor = try RouteMonitor(on: loop, isOffline: false) { _ in }
      let alarm = loop.schedule(after: Patience.limit) {}
      while !monitor.isOffline, loop.now < alarm.deadline { loop.tick(waiting: true) }
      return monitor.isOffline
    }
    #expect(isOffline)
  }

  @Test("a network with nothing but a loopback is offline")
  func loopback() throws {
    let network = try PrivateNetwork()
    #expect(try network.inside { try RouteMonitor.findsWayOut() } == false)
  }
}
