internal import ImgdSystem

/// What the parts of the disk tier stand on: it depends on none of them, and is handed to each as a whole.
struct DiskGround {
  let path: String
  let loop: EventLoop
  let reports: DiskReports
  let rules: DiskRules
  let health: DiskHealth
  let gate: DiskGate
  let threads: DiskThreads
  let index: DiskIndex
  let files: DiskFiles
  let uses: UseLog
  let leases: FileLeases
  let pending: PendingPurges
  let purges = PurgeList()

  init(path: String, runtime: String? = nil, limits: DiskLimits, suffixes: [String], loop: EventLoop, wall: Int64)
    throws(SystemFailure)
  {
    self.init(
      path: path, state: .down, threads: try DiskThreads(on: loop, owed: OwedFile(runtime: runtime, cache: path)),
      rules: DiskRules(limits, loop: loop, wall: wall), suffixes: suffixes, loop: loop)
  }

  init(offOn loop: EventLoop) {
    self.init(
      path: "", state: .off, threads: DiskThreads(), rules: DiskRules(.none, loop: loop, wall: 0), suffixes: [],
      loop: loop)
  }

  private init(
    path: String, state: DiskState, threads: DiskThreads, rules: DiskRules, suffixes: [String], loop: EventLoop
  ) {
    self.path = path
    self.loop = loop
    self.threads = threads
    self.rules = rules
    reports = DiskReports()
    health = DiskHealth(state, reports: reports)
    gate = DiskGate(loop: loop)
    index = DiskIndex()
    files = DiskFiles(index: index, threads: threads, suffixes: suffixes)
    uses = UseLog(index: index, threads: threads, rules: rules, loop: loop)
    leases = FileLeases(index: index, rules: rules)
    pending = PendingPurges(index: index)
  }
}

/// A part of the disk tier. All parts use the same names for what they stand on.
class DiskPart {
  final let ground: DiskGround

  init(_ ground: DiskGround) { self.ground = ground }
}

// A hit reads these, so they are inlined, which makes them as fast as fields of the part.
extension DiskPart {
  @inline(__always) var loop: EventLoop { ground.loop }
  @inline(__always) var reports: DiskReports { ground.reports }
  @inline(__always) var rules: DiskRules { ground.rules }
  @inline(__always) var health: DiskHealth { ground.health }
  @inline(__always) var gate: DiskGate { ground.gate }
  @inline(__always) var threads: DiskThreads { ground.threads }
  @inline(__always) var index: DiskIndex { ground.index }
  @inline(__always) var files: DiskFiles { ground.files }
  @inline(__always) var uses: UseLog { ground.uses }
  @inline(__always) var leases: FileLeases { ground.leases }
  @inline(__always) var pending: PendingPurges { ground.pending }
  @inline(__always) var purges: PurgeList { ground.purges }
}

/// Counts the events of the tier, and passes on its news.
final class DiskReports {
  var counts = DiskCounts()
  /// Set once by the composition of the daemon.
  var onNews: (DiskNews) -> Void = { _ in }

  func evicted(_ removal: Removal) {
    counts.evictions += removal.entries
    counts.evictedBytes += removal.bytes
    onNews(.evicted(removal))
  }

  func damaged(_ description: String) {
    counts.corrupt += 1
    onNews(.damaged(description))
  }
}

/// Holds questions back while an index is opened.
final class DiskGate {
  private static let mostAtOnce = 256

  private let loop: EventLoop
  private var closings = 0
  private var waiting = Fifo<() -> Void>()

  init(loop: EventLoop) { self.loop = loop }

  var isClosed: Bool { closings > 0 }

  func close() { closings += 1 }

  /// Undoes one `close`; after the last one, everything that waited goes on.
  func open() {
    closings -= 1
    goOn()
  }

  func wait(_ action: @escaping () -> Void) { waiting.append(action) }

  private func goOn() {
    for _ in 0..<Self.mostAtOnce {
      guard closings == 0, let action = waiting.popFirst() else { return }
      action()
    }
    loop.nextTick { [unowned self] in goOn() }
  }
}

/// Uses of entries, which are written to the index file later: a crash may lose the last seconds.
///
/// In a period of ten seconds each entry is written only once, and only a limited number of entries, so that
/// the writer has time for other things however many pictures are asked for. The order in memory
/// is right even for uses that are not written.
final class UseLog {
  private static let period = Duration.seconds(10)
  /// How many uses are written at once: few enough for one step.
  static let mostAtOnce = 16_384
  /// How many entries' uses are noted in one period; further ones are not written.
  static let mostInPeriod = 4 * mostAtOnce

  private let index: DiskIndex
  private let threads: DiskThreads
  private let rules: DiskRules
  private let loop: EventLoop
  private var timer: Timer?
  private var used: [(place: Int, number: UInt32)] = []
  /// The number of the period, never 0, which stands for an entry whose use has not been noted.
  private var number: UInt16 = 1
  private(set) var noted = 0

  init(index: DiskIndex, threads: DiskThreads, rules: DiskRules, loop: EventLoop) {
    self.index = index
    self.threads = threads
    self.rules = rules
    self.loop = loop
  }

  func note(_ place: Int) {
    index.use(place, at: rules.wall)
    writeLater(place)
  }

  /// Notes the use of a form as one of its picture's facts.
  func noteFacts(_ place: Int) {
    index.useFacts(place, at: rules.wall)
    writeLater(place)
  }

  private func writeLater(_ place: Int) {
    guard noted < Self.mostInPeriod, index.noteUse(place, in: number) else { return }
    if timer == nil { begin() }
    noted += 1
    used.append((place, index[place].number))
    if used.count >= Self.mostAtOnce { send() }
  }

  private func begin() {
    timer = loop.schedule(after: Self.period) { [unowned self] in
      timer = nil
      noted = 0
      write()
    }
  }

  /// Has all noted uses written now, and begins a new period, so that later uses are noted again.
  func write() {
    number = number == .max ? 1 : number + 1
    send()
  }

  private func send() {
    let uses = takeUses()
    guard !uses.isEmpty else { return }
    threads.order { (disk) throws(DiskTrouble) in try disk.note(uses) }
  }

  /// Takes the uses that were noted but not written; they count as written from now on.
  func takeUses() -> [Use] {
    defer { used = [] }
    return used.compactMap { place, number in
      index.entry(at: place, number: number).map { (number, Int64($0.lastAccess)) }
    }
  }

  func forget() { used = [] }
}
