internal import ImgdSystem

/// Uses of entries, which the index file learns of later: a crash may lose the last seconds.
final class UseLog {
  private static let delay = Duration.seconds(10)
  /// Few enough for one step, and so many that hits of ten thousand pictures do not have the writer write
  /// all the time.
  private static let mostAtOnce = 16_384

  private let index: DiskIndex
  private let threads: DiskThreads
  private let rules: DiskRules
  private let loop: EventLoop
  private var timer: Timer?
  private var touched: [(place: Int, number: UInt32)] = []

  init(_ index: DiskIndex, _ threads: DiskThreads, _ rules: DiskRules, loop: EventLoop) {
    self.index = index
    self.threads = threads
    self.rules = rules
    self.loop = loop
  }

  /// Counts a use of the entry at a place, by somebody who has asked for it again or by those whom it
  /// was stored for.
  func note(_ place: Int, again: Bool = true) {
    guard index.touch(place, again: again, at: rules.wall) else { return }
    if timer == nil {
      timer = loop.schedule(after: Self.delay) { [unowned self] in
        timer = nil
        write()
      }
    }
    touched.append((place, index[place].number))
    if touched.count >= Self.mostAtOnce { write() }
  }

  /// Has all uses written now.
  func write() {
    let uses = take()
    guard !uses.isEmpty else { return }
    threads.order { (disk) throws(DiskTrouble) in try disk.note(uses) }
  }

  /// The uses that the index file does not know of, which count as written.
  func take() -> [Use] {
    defer { touched = [] }
    return touched.compactMap { place, number in
      index.takeUse(at: place, number: number).map { (number, $0) }
    }
  }

  func forget() { touched = [] }
}
