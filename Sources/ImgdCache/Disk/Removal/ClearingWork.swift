/// Removes the rows and files of entries that are gone all together: a purge of everything has been
/// written down, and none of them is found any more.
final class ClearingWork: RemovalWork {
  // A job under way holds its work, and the threads their jobs.
  private unowned let threads: DiskThreads
  private let rules: DiskRules
  private let unlinks: UnlinkWork
  private let order: RemovalOrder
  private let leases: LeaseEnds

  init(
    _ threads: DiskThreads, _ rules: DiskRules, _ unlinks: UnlinkWork, _ order: RemovalOrder,
    _ leases: LeaseEnds
  ) {
    self.threads = threads
    self.rules = rules
    self.unlinks = unlinks
    self.order = order
    self.leases = leases
  }

  func step(then: @escaping (RemovalProgress) -> Void) {
    let (order, leases, wall) = (order, leases, rules.wall)
    threads.order(
      { (disk) throws(DiskTrouble) in
        try EntryRemoval(disk).removeSome(of: order, leases: leases, at: wall)
      },
      then: { [unowned self] more in
        guard let more else { return then(.failed) }
        if !more { unlinks.schedule(after: rules.limits.lease) }
        then(more ? .more : .done)
      })
  }
}
