import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// A disk tier in a directory of its own, with a loop and a clock that the test turns.
///
/// Another life of the tier begins with `restart` or, without an orderly end, with `crash`.
final class TierStage {
  /// When the first life begins, in seconds since 1970.
  static let start: Int64 = 1_800_000_000

  let place: DiskPlace
  private(set) var clock = LoopClock.manual()
  private(set) var loop: EventLoop
  private(set) var news = News()
  private var life: (tier: DiskTier, parts: DiskParts)?
  private(set) var limits: DiskLimits

  final class News {
    var stored = 0
    var evicted = 0
    var damaged: [String] = []
    var troubles: [String] = []
    var recoveries = 0
    /// What was told of the notes about the fleet.
    var fleet: [FleetNotes.News] = []
  }

  /// `prepare` gets the place before the tier does.
  init(
    _ limits: DiskLimits = .roomy, prepare: (DiskPlace) throws -> Void = { _ in }
  ) throws {
    place = try DiskPlace()
    try Directory.make(place.root + "/run", permissions: 0o700)
    self.limits = limits
    loop = try EventLoop(clock: clock)
    try prepare(place)
    try begin(at: Self.start)
  }

  var tier: DiskTier {
    guard let life else { preconditionFailure("a stage has no tier between its lives") }
    return life.tier
  }

  /// The parts of the tier.
  var parts: DiskParts {
    guard let life else { preconditionFailure("a stage has no tier between its lives") }
    return life.parts
  }

  var wall: Int64 { parts.rules.wall }

  var now: Instant { loop.now }

  /// The directory that outlives a process, and not the machine.
  var runtime: String { place.root + "/run" }

  // MARK: Lives

  /// Ends this life in order and begins another, on a clock that says `wall`.
  func restart(wall: Int64? = nil, turning: Bool = true) throws {
    let next = wall ?? self.wall
    tier.stop()
    try succeed(at: next, turning: turning)
  }

  /// Ends the tier like a kill: nothing is closed, nothing more is written.
  func crash(wall: Int64? = nil, turning: Bool = true) throws {
    try succeed(at: wall ?? self.wall, turning: turning)
  }

  /// Ends this life in order and leaves the place to the test until `begin`.
  func end() {
    tier.stop()
    life = nil
  }

  func begin(at wall: Int64, turning: Bool = true) throws {
    clock = .manual()
    loop = try EventLoop(clock: clock)
    news = News()
    life = try makeTier(at: wall)
    tier.onNews = { [news] in news.note($0) }
    tier.onFleetNotes = { [news] in news.fleet.append($0) }
    if turning { turn() }
  }

  /// Only the tier may hold its directory afterwards.
  private func makeTier(at wall: Int64) throws -> (DiskTier, DiskParts) {
    let parts = DiskParts(
      try DiskGround(
        path: place.path, runtime: runtime, limits: limits, suffixes: ["bin", "jpg", "png", "gif"],
        loop: loop,
        wall: wall))
    return (DiskTier(parts, try openWhenFree()), parts)
  }

  /// Whether one of the threads has something to do or to tell.
  var hasJobs: Bool { parts.threads.pending > 0 }

  private func succeed(at wall: Int64, turning: Bool) throws {
    life = nil
    try begin(at: wall, turning: turning)
  }

  /// A thread that was left behind holds the lock until it has ended.
  private func openWhenFree() throws -> Result<DiskDirectory, DirectoryProblem> {
    var opened: Result<DiskDirectory, DirectoryProblem>?
    _ = try becomes {
      do throws(DirectoryProblem) {
        opened = .success(try DiskDirectory.open(place.path))
      } catch {
        if case .taken = error { return false }
        opened = .failure(error)
      }
      return true
    }
    guard let opened else { throw TestFailure("\(place.path) is not let go") }
    return opened
  }

  // MARK: Turning

  /// Turns until neither thread has anything to do and nothing is due.
  func turn() {
    repeat {
      while hasJobs { loop.tick(waiting: true) }
      loop.settle()
    } while hasJobs
  }

  /// Lets time pass second by second, with all that happens on the way.
  func pass(_ time: Duration) {
    var left = time
    while left > .zero {
      let step = min(left, .seconds(1))
      clock.advance(by: step)
      turn()
      left -= step
    }
  }

  /// Puts the clock forward, and turns nothing.
  func advance(_ time: Duration) { clock.advance(by: time) }

  /// Lets time pass at once, as a machine that was busy elsewhere.
  func jump(_ time: Duration) {
    clock.advance(by: time)
    turn()
  }

  // MARK: Doing

  @discardableResult
  func store(_ image: CachedImage) -> PathRefusal? {
    let refusal = tier.add(image)
    turn()
    return refusal
  }

  func fetch(_ key: CacheKey) -> CachedImage? {
    var found: CachedImage?
    switch tier.fetch(key, then: { found = $0 }) {
    case .now(let image): return image
    case .later: turn()
    }
    return found
  }

  func fetch(_ url: String) -> CachedImage? { fetch(key(url)) }

  func lend(_ image: CachedImage, mayStore: Bool = true) -> PathLending {
    // What is missing may first have to be looked for, and is then stored.
    for _ in 0..<3 {
      let lending = tier.lend(image, mayStore: mayStore)
      guard lending == .waiting else { return lending }
      turn()
    }
    return .waiting
  }

  @discardableResult
  func purge(soft: Bool = false, _ change: (inout PurgeFilter) -> Void = { _ in }) -> Removal {
    var filter = PurgeFilter()
    change(&filter)
    guard case .done(let removal) = outcome(of: filter, soft: soft) else { return .none }
    return removal
  }

  /// What is said to a purge; nil when there is no answer.
  func outcome(of filter: PurgeFilter, soft: Bool = false) -> PurgeOutcome? {
    var outcome: PurgeOutcome?
    tier.purge(filter, soft: soft) { outcome = $0 }
    turn()
    return outcome
  }

  /// Keeps the index from being written until the lock is let go.
  func lockIndex() throws -> Connection {
    let connection = try Connection(path: place.path + "/1/index.db", isReadOnly: false)
    try connection.execute("BEGIN IMMEDIATE")
    return connection
  }

  func letGo(_ lock: Connection) throws {
    try lock.execute("ROLLBACK")
    lock.close()
  }

  func apply(_ limits: DiskLimits) {
    self.limits = limits
    tier.apply(limits)
    turn()
  }

  // MARK: Looking

  /// The pictures' files, without the index.
  func pictures() throws -> [String] {
    guard (try? FileStatus.of(path: place.path + "/1")) != nil else { return [] }
    return try files(below: place.path + "/1").filter { !$0.contains("/1/index.db") }.sorted()
  }

  /// Which of the URLs are found, without counting as a use.
  func known(_ urls: [String]) -> [String] {
    urls.filter { url in
      var listing: EntryDetails?
      tier.look(for: key(url)) { listing = $0 }
      turn()
      return listing != nil
    }
  }
}

extension TierStage.News {
  func note(_ news: DiskNews) {
    switch news {
    case .stored: stored += 1
    case .evicted(let removal): evicted += removal.entries
    case .trouble(let reason): troubles.append(reason)
    case .damaged(let reason): damaged.append(reason)
    case .recovered: recoveries += 1
    }
  }
}

extension PurgeOutcome {
  /// How many were removed for sure.
  var entries: Int {
    if case .done(let removal) = self { removal.entries } else { 0 }
  }
}

extension DiskLimits {
  static let roomy = limits()

  static func limits(
    capacity: Int = 100 << 20, trimTo percent: Int = 90,
    maxAge: Duration? = .seconds(7 * 86_400),
    minFree: DiskLimits.MinFree = .bytes(0), lease: Duration = .seconds(60)
  ) -> Self {
    limits(
      .bytes(capacity), trimTo: percent, maxAge: maxAge, minFree: minFree,
      lease: lease)
  }

  static func limits(
    _ capacity: DiskLimits.Capacity, trimTo percent: Int = 90,
    maxAge: Duration? = .seconds(7 * 86_400), minFree: DiskLimits.MinFree = .bytes(0),
    lease: Duration = .seconds(60)
  ) -> Self {
    Self(
      capacity: capacity, trimToPercent: percent, maxAge: maxAge,
      minFree: minFree, lease: lease)
  }
}

/// A picture as it comes from its origin at this moment.
func photo(
  _ key: CacheKey, _ content: [UInt8] = body(1_000), headers: HeaderList = fresh,
  tags: [String] = [], of owner: UInt32? = nil, on stage: TierStage, isPurged: Bool = false
) -> CachedImage {
  CachedImage.make(
    key: key,
    body: ImageBody(
      Payload(content),
      facts: ImageFacts(format: 1, width: 8, height: 8, frames: 1, orientation: 1)),
    answer: ImageAnswer(
      StoredResponse(status: 200, headers: headers),
      freshness: Freshness(status: 200, headers: headers, receivedAt: stage.wall)),
    tags: tags, owner: owner, serial: 1, isPurged: isPurged, checked: stage.tier.purges.newest,
    stored: StoredMoment(stage.now, wall: stage.wall))
}

func photo(
  _ url: String, _ content: [UInt8] = body(1_000), headers: HeaderList = fresh,
  tags: [String] = [], of owner: UInt32? = nil, on stage: TierStage
) -> CachedImage {
  photo(key(url), content, headers: headers, tags: tags, of: owner, on: stage)
}

/// Good for an hour.
let fresh: HeaderList = [("cache-control", "max-age=3600"), ("etag", "\"1\"")]

func url(_ number: Int) -> String { "https://example.org/\(number)" }

extension DiskTier {
  /// A purge of the disk alone.
  func purge(_ filter: PurgeFilter, soft: Bool, then: @escaping (PurgeOutcome) -> Void) {
    purge(purges.add(filter, isSoft: soft, from: .disk, at: at(0)), then: then)
  }
}
