internal import ImgdSystem

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
  /// How many uses have been noted in this period.
  private(set) var noted = 0

  init(index: DiskIndex, threads: DiskThreads, rules: DiskRules, loop: EventLoop) {
    self.index = index
    self.threads = threads
    self.rules = rules
    self.loop = loop
  }

  /// Counts a use of the entry at a place.
  func note(_ place: Int) {
    index.use(place, at: rules.wall)
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
