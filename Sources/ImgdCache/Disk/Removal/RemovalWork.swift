/// The outcome of one step of a removal.
enum RemovalProgress {
  case more, done
  /// The disk has refused; to be tried again when it works.
  case failed
}

/// One kind of thing that has to go from the disk, step by step.
protocol RemovalWork: AnyObject {
  /// Does so much that others need not wait long for the writer.
  func step(then: @escaping (RemovalProgress) -> Void)
}

/// The number of entries that one step removes.
enum RemovalStep {
  static let most = 64
}

/// What the works of the queue share.
struct RemovalTools {
  // A job under way holds its work, and the threads their jobs.
  unowned let threads: DiskThreads
  let rules: DiskRules
  let leases: FileLeases
  /// Removes the files that stay for a lease.
  let unlinks: UnlinkWork

  init(_ ground: DiskGround) {
    threads = ground.threads
    rules = ground.rules
    leases = ground.leases
    unlinks = UnlinkWork(ground)
  }

  /// An order for what is asked for now.
  func order(_ filter: PurgeFilter, isSoft: Bool = false) -> RemovalOrder {
    RemovalOrder(filter, isSoft: isSoft, askedAt: rules.wall, keepUntil: leases.lastEnd)
  }

  /// Has files looked for when the leases have ended that may be on them now.
  func unlinkLater() { unlinks.schedule(after: rules.limits.lease) }
}
