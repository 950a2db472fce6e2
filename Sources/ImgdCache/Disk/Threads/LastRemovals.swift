internal import ImgdSystem

/// Carries out at a stop what is left of the purges, as far as there is time for it. Files stay:
/// their rows say that they have to go; and so does each purge that is not finished.
struct LastRemovals {
  private let disk: OpenDisk
  private let leases: LeaseEnds

  init(_ disk: OpenDisk, leases: LeaseEnds) {
    self.disk = disk
    self.leases = leases
  }

  /// Writes down the purges that have no row yet, and goes through the table.
  func run(recording orders: [RemovalOrder], within time: Duration) {
    let deadline = Instant.current + time
    var left: [RemovalOrder] = []
    if !orders.isEmpty {
      left = (try? EntryRemoval(disk).record(orders, leases: leases)) ?? []
      left = left.filter { $0.id == nil }
    }
    left += (try? disk.read { index throws(IndexProblem) in try index.removals.all() }) ?? []
    for order in left where !order.takesEverything && Instant.current < deadline {
      try? finish(order, by: deadline)
    }
  }

  private func finish(_ order: RemovalOrder, by deadline: Instant) throws(DiskTrouble) {
    var part = try disk.find(order)
    while true {
      let numbers = part.matches.map(\.number)
      try disk.commit { index throws(IndexProblem) in
        if order.isSoft {
          try index.entries.markStale(numbers)
        } else {
          _ = try index.unlinks.retire(numbers) { leases.end(of: $0) }
        }
        if part.isLast, let id = order.id { try index.removals.remove(id) }
      }
      guard !part.isLast, Instant.current < deadline else { return }
      part = try disk.findMore()
    }
  }
}
