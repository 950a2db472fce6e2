internal import ImgdSystem

/// Uses of entries, which the index file learns of later: a crash may lose the last seconds.
///
/// It learns of each entry once in a period of ten seconds, and of a number of entries in each, so that
/// the writer has time for other things however many pictures are asked for. What it does not learn of
/// is in the right order here all the same.
final class UseLog {
  private static let period = Duration.seconds(10)
  /// Few enough for one step.
  static let mostAtOnce = 16_384
  /// Of more entries the index file learns nothing in a period.
  static let mostInPeriod = 4 * mostAtOnce

  private let index: DiskIndex
  private let threads: DiskThreads
  private let rules: DiskRules
  private let loop: EventLoop
  private var timer: Timer?
  private var used: [(place: Int, number: UInt32)] = []
  /// The number of the period; no entry that is used is of period 0.
  private var number: UInt16 = 1
  /// How many uses were noted in it.
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

  /// Has all uses written now, and takes note of those that come later.
  func write() {
    number = number == .max ? 1 : number + 1
    send()
  }

  private func send() {
    let uses = takeUses()
    guard !uses.isEmpty else { return }
    threads.order { (disk) throws(DiskTrouble) in try disk.note(uses) }
  }

  /// The uses that were noted and not written; they count as written.
  func takeUses() -> [Use] {
    defer { used = [] }
    return used.compactMap { place, number in
      index.entry(at: place, number: number).map { (number, Int64($0.lastAccess)) }
    }
  }

  func forget() { used = [] }
}
