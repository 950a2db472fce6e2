internal import ImgdSystem

/// What the parts of the disk tier stand on: it depends on none of them, and is handed to each as a whole.
struct DiskGround {
  /// Where the directory is, or will be.
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

  /// The ground of a tier that is off.
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
protocol DiskPart: AnyObject { var ground: DiskGround { get } }

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
