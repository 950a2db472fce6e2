internal import ImgdSystem

/// Uses of entries, which the index file learns of later: a crash may lose the last seconds.
final class UseLog {
  private static let delay = Duration.seconds(10)
  private static let mostAtOnce = 4_096

  private let index: DiskIndex
  private let threads: DiskThreads
  private let rules: DiskRules
  private let loop: EventLoop
  private var touched: [(place: Int, number: UInt32)] = []

  init(_ index: DiskIndex, _ threads: DiskThreads, _ rules: DiskRules, loop: EventLoop) {
    self.index = index
    self.threads = threads
    self.rules = rules
    self.loop = loop
  }

  /// Counts a use of the entry at a place.
  func note(_ place: Int) {
    guard index.touch(place, at: rules.wall) else { return }
    if touched.isEmpty {
      loop.schedule(after: Self.delay) { [unowned self] in write() }
    }
    touched.append((place, index[place].number))
  }

  /// Has all uses written now.
  func write() {
    var uses = take()[...]
    while !uses.isEmpty {
      let part = Array(uses.prefix(Self.mostAtOnce))
      uses = uses.dropFirst(part.count)
      threads.order { (disk) throws(DiskTrouble) in try disk.note(part) }
    }
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
