internal import ImgdSystem

/// Carries out at a stop what is left of the purges, as far as time allows. The files stay, since their rows
/// say that they have to go. A purge that is not finished keeps its row, too.
struct LastRemovals {
  private let disk: OpenDisk
  private let leases: LeaseEnds

  init(_ disk: OpenDisk, leases: LeaseEnds) {
    self.disk = disk
    self.leases = leases
  }

  /// Writes down the purges that have no row yet, and carries out all in the table; returns those that could
  /// neither be written down nor carried out.
  @discardableResult func carryOut(recording orders: [RemovalOrder], within time: Duration) -> [RemovalOrder] {
    let deadline = Instant.current + time
    var left = orders
    if !orders.isEmpty, let recorded = try? EntryRemoval(disk).record(orders, leases: leases) {
      left = recorded.filter { $0.id == nil }
    }
    left.removeAll { finish($0, by: deadline) }
    let rows = try? disk.read { index throws(IndexProblem) in try index.removals.all() }
    for order in rows ?? [] { _ = finish(order, by: deadline) }
    return left
  }

  /// Carries out a purge; false if it could not be finished.
  private func finish(_ order: RemovalOrder, by deadline: Instant) -> Bool {
    guard !order.takesEverything, Instant.current < deadline else { return false }
    var goesOn = false
    while let part = try? disk.find([order], goingOn: goesOn).first {
      guard !part.isClosed else { return true }
      guard (try? retire(part, of: order)) != nil else { return false }
      if part.isLast { return true }
      guard Instant.current < deadline else { return false }
      goesOn = true
    }
    return false
  }

  private func retire(_ part: SearchPart, of order: RemovalOrder) throws(DiskTrouble) {
    let numbers = part.matches.map(\.number)
    try disk.commit { index throws(IndexProblem) in
      if order.isSoft {
        try index.entries.markStale(numbers)
      } else {
        _ = try index.unlinks.retire(numbers) { leases.end(of: $0) }
      }
      if part.isLast, let id = order.id { try index.removals.remove(id) }
    }
  }
}
