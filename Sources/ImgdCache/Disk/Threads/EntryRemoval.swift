internal import ImgdSystem

/// Removes entries and their files: the rows become pending unlinks in one commit, and
/// then the files go whose leases have ended.
struct EntryRemoval {
  /// How many entries or files are removed in one go when their numbers come from the index.
  private static let mostAtOnce = 128

  let disk: OpenDisk

  /// Removes entries, and in the same commit the row of the purge whose last ones they are.
  func remove(_ numbers: [UInt32], leases: LeaseEnds = LeaseEnds(), at wall: Int64, closing id: Int64? = nil)
    throws(DiskTrouble)
  {
    let files = try commit(removing: numbers, leases: leases) { index throws(IndexProblem) in
      if let id { try index.removals.remove(id) }
      return try index.unlinks.retire(numbers) { leases.end(of: $0) }
    }
    try unlink(files.filter { $0.keepUntil <= wall })
  }

  /// Removes the files of entries, and notes in their rows that the bytes have gone.
  func shed(_ numbers: [UInt32], leases: LeaseEnds, at wall: Int64) throws(DiskTrouble) {
    let files = try commit(removing: numbers, leases: leases) { index throws(IndexProblem) in
      try index.entries.shed(numbers) { leases.end(of: $0) }
    }
    try unlink(files.filter { $0.keepUntil <= wall })
  }

  /// Removes some of the entries that a purge of everything covers, and in the end its row; returns
  /// whether more are left.
  func removeSome(of order: RemovalOrder, leases: LeaseEnds, at wall: Int64) throws(DiskTrouble) -> Bool {
    let numbers = try someNumbers(through: order.ceiling)
    let isLast = numbers.isEmpty
    try remove(numbers, leases: leases, at: wall, closing: isLast ? order.id : nil)
    return !isLast
  }

  /// Removes files; one that cannot be removed stays a pending unlink, and is tried again later.
  func unlink(_ files: [PendingUnlink]) throws(DiskTrouble) {
    guard !files.isEmpty else { return }
    let gone = files.filter { pending in
      guard let file = pending.file else { return true }
      return (try? disk.shelves.remove(file)) != nil
    }
    try disk.commit { index throws(IndexProblem) in try index.unlinks.forget(gone.map(\.number)) }
  }

  /// Removes some of the files that are due, beginning after a number. Returns the number after
  /// which to go on, or else when the next file is due.
  func unlinkDue(after number: UInt32, at wall: Int64) throws(DiskTrouble) -> (count: Int, next: UInt32?, due: Int64?) {
    let files = try disk.read { index throws(IndexProblem) in
      try index.unlinks.due(after: number, by: wall, limit: Self.mostAtOnce)
    }
    try unlink(files)
    if files.count == Self.mostAtOnce { return (files.count, files.last?.number, nil) }
    return (files.count, nil, try disk.read { index throws(IndexProblem) in try index.unlinks.next(after: wall) })
  }

  /// Writes down purges before they are carried out. Each comes back with its ceiling, and with the number of its
  /// row unless the disk is full. A purge with a row survives a kill.
  func record(_ orders: [RemovalOrder], leases: LeaseEnds = LeaseEnds()) throws(DiskTrouble) -> [RemovalOrder] {
    let last = try disk.read { index throws(IndexProblem) in try index.entries.lastNumber() }
    let add: (IndexFile) throws(IndexProblem) -> [RemovalOrder] = { index throws(IndexProblem) in
      var recorded: [RemovalOrder] = []
      for order in orders { recorded.append(try index.removals.add(order, ceiling: last)) }
      return recorded
    }
    // Files can only make room for a row if it is known which files go.
    let victims = orders.contains(where: \.takesEverything) ? try someNumbers(through: last) : []
    do throws(DiskTrouble) { return try commit(removing: victims, leases: leases, add) } catch {
      guard error.kind == .full, victims.isEmpty else { throw error }
      return orders.map { order in
        var order = order
        order.ceiling = last
        return order
      }
    }
  }

  private func someNumbers(through last: UInt32) throws(DiskTrouble) -> [UInt32] {
    try disk.read { index throws(IndexProblem) in try index.entries.numbers(through: last, limit: Self.mostAtOnce) }
  }

  /// Commits the removal of some entries. If there is not even room for that, their files go first unless they
  /// are leased: a row without its file is just a miss.
  private func commit<Answer>(
    removing numbers: [UInt32], leases: LeaseEnds, _ body: (IndexFile) throws(IndexProblem) -> Answer
  ) throws(DiskTrouble) -> Answer {
    do throws(DiskTrouble) { return try disk.commit(body) } catch {
      guard error.kind == .full, !numbers.isEmpty else { throw error }
      for number in numbers where leases.end(of: number) == 0 {
        let row = try? disk.read { index throws(IndexProblem) in try index.entries.row(number: number) }
        if let file = row?.file { try? disk.shelves.remove(file) }
      }
      return try disk.commit(body)
    }
  }
}

/// Carries out at a stop what is left of the purges, as far as time allows. The files stay, since their rows
/// say that they have to go. A purge that is not finished keeps its row, too.
struct LastRemovals {
  let disk: OpenDisk
  let leases: LeaseEnds

  /// Writes down the purges that have no row yet, and carries out all in the table; returns those that could
  /// neither be written down nor carried out.
  @discardableResult func carryOut(recording orders: [RemovalOrder], within time: Duration) -> [RemovalOrder] {
    let deadline = Instant.current + time
    var left = orders
    if !orders.isEmpty, let recorded = try? EntryRemoval(disk: disk).record(orders, leases: leases) {
      left = recorded.filter { $0.id == nil }
    }
    left.removeAll { finish($0, by: deadline) }
    let rows = try? disk.read { index throws(IndexProblem) in try index.removals.all() }
    for order in rows ?? [] { _ = finish(order, by: deadline) }
    return left
  }

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
