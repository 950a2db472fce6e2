import Glibc
import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import ImgdWire

@testable import ImgdDaemon

/// A pool of decoders that behave as their name and their orders say, with a clock that the test advances.
///
/// The processes are real: they are waited for, and what takes them time takes the pool none.
final class PoolStage {
  /// A decoder learns from its name how it greets.
  private static let names = [
    "honest", "finds-no-library", "ends", "says-nothing", "hangs-up", "talks-nonsense",
    "has-no-filter", "greets-twice",
  ]

  let pool: DecoderPool
  private let clock = LoopClock.manual()
  private let loop: EventLoop
  private let home: String
  private var settings: Configuration.Decode
  private var serial: UInt64 = 0
  private var answers: [UInt64: [DecodeAnswer]] = [:]

  /// With a decoder of this name; nil: there is no such program.
  convenience init(
    _ name: String? = "honest", workers: Int = 1,
    _ change: (inout Configuration.Decode) -> Void = { _ in }
  ) throws {
    try self.init(workers: workers, change) { home in Self.names.map { home + "/" + $0 } }
    if let name { try install(name) }
  }

  /// With another decoder than those of the test, whatever of a sandbox it has here.
  convenience init(program: String) throws {
    try self.init(workers: 1) {
      $0.sandbox = .bestEffort
    } places: { _ in
      [program]
    }
  }

  private init(
    workers: Int, _ change: (inout Configuration.Decode) -> Void, places: (String) -> [String]
  ) throws {
    home = try TemporaryDirectory.make()
    loop = try EventLoop(clock: clock)
    settings = Configuration.Decode()
    settings.workers = .count(workers)
    change(&settings)
    pool = try DecoderPool(settings, program: DecoderLocation(places: places(home)), loop: loop)
  }

  deinit {
    pool.stop()
    TemporaryDirectory.remove(home)
  }

  /// Puts a decoder of this name where there may be another one.
  func install(_ name: String) throws {
    uninstall()
    guard symlink(BuiltProduct.path(of: "lying-decoder"), home + "/" + name) == 0 else {
      throw SystemFailure("symlink", name)
    }
  }

  func uninstall() {
    for name in TemporaryDirectory.names(in: home) { unlink(home + "/" + name) }
  }

  func apply(_ change: (inout Configuration.Decode) -> Void) {
    change(&settings)
    pool.apply(settings)
  }

  // MARK: Orders

  /// Begins an order whose picture says what the decoder does.
  @discardableResult
  func begin(
    _ behaviour: String = "is honest", as uid: UInt32 = 1, expecting time: Duration = .zero
  ) -> UInt64 {
    begin(Payload(Array(behaviour.utf8)), as: uid, expecting: time)
  }

  private func begin(
    _ picture: Payload, as uid: UInt32 = 1, expecting expected: Duration = .zero
  ) -> UInt64 {
    serial += 1
    let serial = serial
    answers[serial] = []
    let order = DecodeOrder(
      serial: serial, format: .png, picture: picture,
      rendition: Rendition(.pixels), limits: DecodeLimits())
    let claimant = Claimant(uid: uid, connection: UInt64(uid))
    let queued = QueuedOrder(
      order: order, picture: .unknown, expected: ServiceTime(expected),
      claims: [DecodeClaim(claimant: claimant, priority: .normal): 1]
    ) { [unowned self] in answers[serial]?.append($0) }
    pool.begin(queued)
    return serial
  }

  /// All answers to an order so far: never more than one.
  func answers(to serial: UInt64) -> [DecodeAnswer] { answers[serial] ?? [] }

  /// Begins an order and waits for its answer.
  func answer(_ behaviour: String = "is honest") throws -> DecodeAnswer {
    try answer(Payload(Array(behaviour.utf8)))
  }

  /// Begins an order for a picture and waits for its answer.
  func answer(_ picture: Payload) throws -> DecodeAnswer {
    let serial = begin(picture)
    try turn("an answer") { !answers(to: serial).isEmpty }
    return answers(to: serial)[0]
  }

  // MARK: Time

  func advance(by time: Duration) {
    clock.advance(by: time)
    loop.settle()
  }

  func settle() { loop.settle() }

  /// Whether no decoder is started for a while.
  var isPaused: Bool { pool.starts.obstacle(at: loop.now) != nil }

  /// Turns until something has come about; meanwhile so much time passes in each turn.
  func turn(
    _ what: String, passing step: Duration = .zero, until isThere: () -> Bool
  ) throws {
    let end = Patience.end
    while !isThere() {
      guard Instant.current < end else { throw TestFailure("there is no \(what)") }
      clock.advance(by: step)
      if !loop.tick(waiting: false) { poll(nil, 0, 1) }
    }
  }

  // MARK: Processes

  /// The numbers of all processes that have not been taken note of as ended.
  var pids: [pid_t] { pool.workers.compactMap(\.pid) }

  /// Waits until a process has been started.
  func awaitProcess() throws {
    try turn("process") { !pids.isEmpty }
  }

  /// Waits until so many decoders have an order that they do not answer.
  func awaitWork(_ count: Int = 1) throws {
    try turn("work of \(count) decoders") { pool.figures.active == count }
  }

  /// Waits until there is no process any more.
  func awaitNone() throws {
    try turn("end of all decoders") { pool.workers.isEmpty }
  }
}

extension DecodeAnswer {
  var isPicture: Bool {
    if case .picture = self { true } else { false }
  }

  var failure: DecodeFailure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}
