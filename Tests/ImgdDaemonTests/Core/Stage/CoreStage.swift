import ImgdSystem
import ImgdTestSupport

@testable import ImgdDaemon

/// The surroundings of a test of the core: a core with a clock that the test advances, an origin that
/// is a plan, and clients at the other ends of socket pairs. It belongs to the thread of its test.
///
/// Nothing happens while the test does not look: a client that receives turns the loop until there is
/// nothing left to do, and an answer that is not there then has failed to come.
final class CoreStage: DaemonStage {
  let origin = PlannedOrigin()
  let decoding = PlannedDecoding()
  /// The client that speaks when no other is named.
  private(set) var client: TestClient
  /// Nil between two lives: the directory must be free for the second one.
  private var current: CoreLife?
  /// A directory of the test's own, with the cache in it.
  let home: String
  private var settings: [String]
  private let fleet: PlannedFleet?
  private let copies: HeldCopies?

  convenience init(_ settings: String...) throws { try self.init(settings) }

  /// A core that is one of a fleet.
  convenience init(in fleet: PlannedFleet, _ settings: String...) throws {
    try self.init(settings, in: fleet)
  }

  /// A core whose copies of what clients hand in are held up.
  convenience init(holding copies: HeldCopies, _ settings: String...) throws {
    try self.init(settings, holding: copies)
  }

  init(_ settings: [String], in fleet: PlannedFleet? = nil, holding copies: HeldCopies? = nil) throws {
    self.settings = settings
    self.fleet = fleet
    self.copies = copies
    home = try TemporaryDirectory.make()
    let life = try CoreLife(
      settings, home: home, origin: origin, decoding: decoding, fleet: fleet, copies: copies)
    current = life
    client = try life.connect(as: nil)
  }

  deinit {
    current?.end()
    TemporaryDirectory.remove(home)
  }

  private var life: CoreLife {
    guard let current else { preconditionFailure("a restart has failed") }
    return current
  }

  var core: Core { life.core }
  var base: String { origin.url("") }
  /// How many clients the core has.
  var connected: Int { core.clients.connected }
  /// The directory of the pictures on disk.
  var cache: String { CoreLife.cache(in: home) }

  /// The paths of all pictures that are kept on disk.
  var files: Set<String> {
    Set(CacheFiles.below(cache + "/1").filter { !$0.hasPrefix(cache + "/1/index.db") })
  }

  func connect() throws -> TestClient { try life.connect(as: nil) }

  /// A connection of another user than the one who runs the test.
  func connect(as uid: UInt32) throws -> TestClient { try life.connect(as: uid) }

  /// A client whose looking turns nothing: the test does, tick by tick.
  func connectObserver() throws -> TestClient { try life.connect(turning: false) }

  /// Ends this core in good order, and begins another where it left off, with a client that speaks
  /// to it.
  func restart() throws {
    life.end()
    current = nil
    current = try CoreLife(settings, home: home, origin: origin, decoding: decoding, fleet: fleet)
    client = try life.connect(as: nil)
  }

  /// Gives the core another configuration: settings beside those that the stage began with.
  func apply(_ further: String...) throws {
    settings += further
    life.apply(try CoreLife.configuration(settings, home: home))
  }

  // MARK: Time

  /// Runs one tick.
  func tick() { life.tick() }

  /// Lets all work take time from now on: so much for each look at the clock.
  func letWorkTakeTime(_ each: Duration) { life.letWorkTakeTime(each) }

  /// The time of the clock.
  var now: Instant { life.now }

  /// Turns until there is nothing left to do at this moment.
  func settle() { life.settle() }

  /// Lets the next tick be another moment than the last one. Without this all that happens happens
  /// at once: the kernel, say, is asked once a moment whether anybody has touched the files.
  func passMoment() { life.jump(.nanoseconds(1)) }

  /// Lets time pass bit by bit, with all that happens on the way.
  func pass(_ time: Duration) { life.pass(time) }

  /// Lets time pass at once, as on a machine that was suspended.
  func jump(_ time: Duration) { life.jump(time) }
}
