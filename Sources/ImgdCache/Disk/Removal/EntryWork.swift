/// Removes entries that were evicted or lost: they are out of memory, and their rows and files follow.
///
/// A stop or a kill leaves the rest to the next start, which finds it again.
final class EntryWork: RemovalWork {
  // A job under way holds its work, and the threads their jobs.
  private unowned let threads: DiskThreads
  private let leases: FileLeases
  private let rules: DiskRules
  private let unlinks: UnlinkWork
  private var numbers: [UInt32] = []

  init(
    _ threads: DiskThreads, _ leases: FileLeases, _ rules: DiskRules, _ unlinks: UnlinkWork
  ) {
    self.threads = threads
    self.leases = leases
    self.rules = rules
    self.unlinks = unlinks
  }

  var count: Int { numbers.count }

  func add(_ numbers: [UInt32]) { self.numbers += numbers }

  func forget() { numbers = [] }

  func step(then: @escaping (RemovalProgress) -> Void) {
    guard !numbers.isEmpty else { return then(.done) }
    let part = Array(numbers.suffix(RemovalStep.most))
    numbers.removeLast(part.count)
    let (leases, wall) = (leases.ends(of: part), rules.wall)
    if !leases.ends.isEmpty { unlinks.schedule(after: rules.limits.lease) }
    threads.order(
      { (disk) throws(DiskTrouble) in
        try EntryRemoval(disk).remove(part, leases: leases, at: wall)
      },
      then: { [unowned self, generation = threads.generation] done in
        if done == nil, generation == threads.generation { numbers += part }
        then(done == nil ? .failed : numbers.isEmpty ? .done : .more)
      })
  }

  /// Orders at once the steps for the numbers that were added last, for a store that waits for the
  /// room.
  func stepThrough(_ count: Int) {
    for _ in stride(from: 0, to: count, by: RemovalStep.most) { step { _ in } }
  }
}
