/// The outcome of one step of a removal.
enum RemovalProgress {
  case more, done
  /// The disk has refused; the step is tried again when the disk works.
  case failed
}

/// One kind of thing that has to go from the disk, step by step.
protocol RemovalWork: AnyObject {
  /// Does only as much as keeps others from waiting long for the writer.
  func step(then: @escaping (RemovalProgress) -> Void)
}

/// The number of entries that one step removes.
enum RemovalStep { static let most = 64 }

/// What the works of the queue share.
struct RemovalTools {
  // Unowned, since the threads hold their jobs, and a job under way holds its work.
  unowned let threads: DiskThreads
  let rules: DiskRules
  let leases: FileLeases
  /// Removes files that have stayed because of a lease.
  let unlinks: UnlinkWork

  init(_ ground: DiskGround) {
    threads = ground.threads
    rules = ground.rules
    leases = ground.leases
    unlinks = UnlinkWork(ground)
  }

  /// The order for a purge that is asked for now.
  func order(_ filter: PurgeFilter, isSoft: Bool = false) -> RemovalOrder {
    RemovalOrder(filter, isSoft: isSoft, askedAt: rules.wall, keepUntil: leases.lastEnd)
  }

  /// Has files looked for when all leases that may be on them now have ended.
  func unlinkLater() { unlinks.schedule(after: rules.limits.lease) }
}
