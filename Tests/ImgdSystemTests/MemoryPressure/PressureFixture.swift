import Glibc
import ImgdTestSupport

@testable import ImgdSystem

/// A directory that stands for a control group, and files that say that the process is in it.
final class PressureFixture {
  let directory: String
  let clock = LoopClock.manual(at: Instant(nanoseconds: 1_000_000_000_000))
  let loop: EventLoop
  var paths = PressurePaths()
  /// How often pressure was reported.
  private(set) var reports = 0
  private(set) var changes: [String] = []

  init() throws {
    directory = try ImgdTestSupport.TemporaryDirectory.make()
    loop = try EventLoop(clock: clock)
    mkdir(directory + "/imgd.service", 0o700)
    paths.membership = directory + "/membership"
    paths.mounts = directory + "/mounts"
    paths.stalls = directory + "/stalls"
    try write("4:memory:/elsewhere\n0::/imgd.service\n", to: paths.membership)
    try write("31 23 0:28 / \(directory) rw,relatime - cgroup2 cgroup2 rw\n", to: paths.mounts)
  }

  deinit {
    ImgdTestSupport.TemporaryDirectory.remove(directory)
  }

  var cgroup: String { directory + "/imgd.service" }

  /// A file of stalls as the kernel writes it.
  static func stalls(_ total: Int, recent: String = "0.00") -> String {
    let figures = "avg10=\(recent) avg60=0.00 avg300=0.00 total=\(total)"
    return "some \(figures)\nfull \(figures)\n"
  }

  func watch(_ path: String? = nil, write: String? = nil) -> PressureMonitor {
    let watch = PressureMonitor(
      PressureRequest(watch: path, write: write), paths: paths, loop: loop
    ) { [unowned self] in reports += 1 }
    watch.onChange = { [unowned self] in changes.append($0) }
    return watch
  }

  /// Advances the clock in steps no longer than the shortest pause, and turns the loop.
  func pass(_ time: Duration) {
    let step = min(time, PressureMonitor.pause)
    for _ in 0..<max(time.milliseconds / step.milliseconds, 1) {
      clock.advance(by: step)
      loop.settle()
    }
  }

  /// Turns the loop while the clock stands; answers how often it was woken.
  func wakeUps(in turns: Int) -> Int {
    (0..<turns).count { _ in loop.tick(waiting: false) }
  }
}

/// The test's end of a FIFO or a socket, which reports pressure.
final class ReportingPeer {
  private var number: CInt

  init(_ number: CInt) {
    self.number = number
  }

  /// Opens a FIFO that another descriptor reads; not connected when there is none.
  convenience init(writingTo fifo: String) {
    self.init(open(fifo, O_WRONLY | O_NONBLOCK))
  }

  deinit { close() }

  var isConnected: Bool { number >= 0 }

  @discardableResult
  func report(_ count: Int = 1) -> Int {
    let bytes = [UInt8](repeating: UInt8(ascii: "!"), count: count)
    return Glibc.write(number, bytes, count)
  }

  func received(_ limit: Int = 1_000) -> [UInt8] {
    var room = [UInt8](repeating: 0, count: limit)
    let count = recv(number, &room, limit, CInt(MSG_DONTWAIT))
    return Array(room.prefix(max(count, 0)))
  }

  func close() {
    guard number >= 0 else { return }
    // A process that is just being started may hold a copy, and closing alone would say nothing.
    shutdown(number, CInt(SHUT_RDWR))
    Glibc.close(number)
    number = -1
  }
}

/// A server of the test's on a Unix socket.
final class ReportingServer {
  private let listener: CInt

  init(_ path: String) throws {
    listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
    }
    guard bound == 0, listen(listener, 4) == 0 else { throw SystemFailure("bind", path) }
  }

  deinit {
    // A process that is just being started may hold a copy, which would go on listening.
    shutdown(listener, CInt(SHUT_RDWR))
    close(listener)
  }

  /// The connection that waits; nil when there is none.
  func accept() -> ReportingPeer? {
    let number = Glibc.accept(listener, nil, nil)
    return number < 0 ? nil : ReportingPeer(number)
  }
}
