import Glibc
import ImgdPicture
import ImgdSystem
import ImgdTestSupport

@testable import ImgdCache
@testable import ImgdDaemon

/// One core from its start to its end, with its loop and its clock.
final class CoreLife {
  /// Shorter than any repeated timer, so that each fires as often as it should.
  private static let step = Duration.milliseconds(250)

  let core: Core
  private let clock: LoopClock
  private let loop: EventLoop
  private let transfers: PlannedTransfers
  private let disk: DiskParts?
  private let holdsCopies: Bool

  init(
    _ settings: [String], home: String, origin: PlannedOrigin, decoding: PlannedDecoding,
    fleet: PlannedFleet? = nil, copies: HeldCopies? = nil
  ) throws {
    let configuration = try Self.configuration(settings, home: home)
    // Latencies are measured by the system's clock: they are small if this one begins with it.
    clock = .manual(at: .current)
    loop = try EventLoop(clock: clock)
    transfers = try PlannedTransfers(of: origin, on: loop)
    decoding.loop = loop
    disk = try Self.disk(configuration.disk, on: loop)
    let tier = try disk.map {
      DiskTier($0, .success(try DiskDirectory.open(configuration.disk.directory)))
    }
    holdsCopies = copies != nil
    var surroundings = Surroundings(
      reload: { $0(.changed([], waiting: [])) }, pressureSource: { ("none", nil) },
      onActivity: {},
      fleetServer: fleet.map { _ in "planned:6379" }, processFacts: ProcessFacts.read,
      access: Access(owner: geteuid()))
    if let copies { surroundings.copy = copies.copy }
    core = Core(
      configuration, transfers: transfers, decoding: decoding, fleet: fleet,
      disk: tier ?? DiskTier(offOn: loop), loop: loop,
      in: surroundings)
    transfers.receive = { [unowned core] in core.receive($0) }
    fleet?.attach(to: core, on: loop)
    settle()
  }

  private static func disk(
    _ settings: Configuration.Disk, on loop: EventLoop
  ) throws -> DiskParts? {
    guard settings.enabled else { return nil }
    return DiskParts(
      try DiskGround(
        path: settings.directory, runtime: nil, limits: DiskLimits(settings),
        suffixes: PictureFormat.allCases.map(\.fileExtension), loop: loop, wall: WallClock.seconds))
  }

  static func configuration(_ settings: [String], home: String) throws -> Configuration {
    // A capacity that does not depend on the machine.
    let options = try CommandLineOptions.parse(
      (["Disk.Capacity=150M"] + settings).flatMap { ["--set", $0] })
    var configuration = try ConfigurationLoader.load(
      options, environment: [:], uid: 0, systemFile: home + "/no.conf")
    configuration.disk.directory = cache(in: home)
    return configuration
  }

  static func cache(in home: String) -> String { home + "/cache" }

  func apply(_ configuration: Configuration) {
    core.apply(configuration)
    settle()
  }

  /// Ends all transfers and connections after all pending writes.
  func end() {
    core.refuseAll(.shuttingDown)
    core.clients.finishNow()
    settle()
    core.disk.stop()
    core.close()
    loop.close()
  }

  /// A new connection, after all pending work; of this user, or of another one.
  func connect(as uid: UInt32? = nil, turning: Bool = true) throws -> TestClient {
    settle()
    let (near, far) = try socketPair()
    core.clients.admit(
      StreamSocket(FileDescriptor(owning: near)),
      as: uid.map { PeerCredentials(pid: 1, uid: $0, gid: $0) })
    return try TestClient(FileDescriptor(owning: far)) { [weak self] in
      if turning { self?.settle() }
    }
  }

  // MARK: Turning

  func tick() { loop.tick(waiting: false) }

  func letWorkTakeTime(_ each: Duration) { clock.stride = each }

  var now: Instant { loop.moment }

  /// Whether a thread of the disk tier has something to do or to tell.
  private var diskHasJobs: Bool { (disk?.threads.pending ?? 0) > 0 }

  /// Whether a thread has something to do or to tell.
  private var threadsHaveJobs: Bool { diskHasJobs || (!holdsCopies && core.parts.copies.count > 0) }

  /// Turns until neither the loop nor a thread has anything to do.
  func settle() {
    repeat {
      while threadsHaveJobs { loop.tick(waiting: true) }
      loop.settle()
    } while threadsHaveJobs
  }

  func pass(_ time: Duration) {
    var left = time
    while left > .zero {
      jump(min(left, Self.step))
      left -= Self.step
    }
  }

  func jump(_ time: Duration) {
    settle()
    clock.advance(by: time)
    settle()
  }
}

/// The two ends of a connection: the core's, and the one of its client.
private func socketPair() throws -> (near: CInt, far: CInt) {
  var ends: [CInt] = [-1, -1]
  let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
  guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemFailure("socketpair") }
  return (ends[0], ends[1])
}
