internal import ImgdSystem

// Purges, and what has to go: by parts, so that no job takes long, whatever there is.

/// What a part of a search has found.
struct SearchPart: Sendable {
  let matches: [IndexMatch]
  let isLast: Bool
}

/// A purge in the words of the index file.
struct PurgeOrder: Sendable {
  let filter: IndexFilter
  let soft: Bool
}

extension DiskWriter {
  /// So many rows are looked at in one go, and so many removed.
  private static let mostExamined = 4_096
  private static let mostRemoved = 128

  // MARK: Looking

  /// Begins to look for what a purge means.
  func find(_ filter: IndexFilter) throws(DiskTrouble) -> SearchPart {
    search = nil
    search = try read { index throws(IndexProblem) in try index.search(filter) }
    return try findMore()
  }

  func findMore() throws(DiskTrouble) -> SearchPart {
    guard let search else { throw DiskTrouble(.gone, "the index was opened anew") }
    do throws(IndexProblem) {
      let part = try search.next(examining: Self.mostExamined)
      if part.isLast { self.search = nil }
      return SearchPart(matches: part.matches, isLast: part.isLast)
    } catch {
      self.search = nil
      throw DiskTrouble(error)
    }
  }

  func markStale(_ numbers: [UInt32]) throws(DiskTrouble) {
    try commit { index throws(IndexProblem) in try index.markStale(numbers) }
  }

  // MARK: Everything

  /// What was stored last, which a purge of everything still means.
  func lastNumber() throws(DiskTrouble) -> UInt32 {
    try read { index throws(IndexProblem) in try index.lastNumber() }
  }

  /// Has all entries up to a number gone; `clearSome` removes them.
  func clear(through number: UInt32, leases: [UInt32: Int64]) throws(DiskTrouble) {
    let some = try read { index throws(IndexProblem) in
      try index.numbers(through: number, limit: Self.mostRemoved)
    }
    try commitRemoval(
      of: some, leases: leases,
      by: { index throws(IndexProblem) in try index.clear(through: number) })
  }

  /// Removes some of what is gone already; false when there is nothing more.
  func clearSome(leases: [UInt32: Int64], at wall: Int64) throws(DiskTrouble) -> Bool {
    let numbers = try read { index throws(IndexProblem) in
      try index.numbers(through: try index.cleared(), limit: Self.mostRemoved)
    }
    guard !numbers.isEmpty else { return false }
    try doom(numbers, leases: leases, at: wall)
    return true
  }

  // MARK: What is doomed

  /// Removes some of the files whose time has come, those behind a number. Answers behind which
  /// number to go on, or else when the next one's time comes.
  func carryOut(
    after number: UInt32, at wall: Int64
  ) throws(DiskTrouble) -> (next: UInt32?, due: Int64?) {
    let files = try read { index throws(IndexProblem) in
      try index.doomed(after: number, dueBy: wall, limit: Self.mostRemoved)
    }
    try remove(files)
    if files.count == Self.mostRemoved { return (files.last?.number, nil) }
    return (nil, try read { index throws(IndexProblem) in try index.nextDoom(after: wall) })
  }

  // MARK: The end

  /// Carries out what is left of some purges, as far as there is time for it. Files stay: their rows
  /// say that they have to go.
  func finish(_ purges: [PurgeOrder], leases: [UInt32: Int64], within time: Duration) {
    let deadline = Instant.current + time
    for purge in purges where Instant.current < deadline {
      try? finish(purge, leases: leases, by: deadline)
    }
  }

  private func finish(
    _ purge: PurgeOrder, leases: [UInt32: Int64], by deadline: Instant
  ) throws(DiskTrouble) {
    if purge.filter.isEmpty, !purge.soft {
      try finish(Array(leases.keys), soft: false, leases: leases)
      return try clear(through: try lastNumber(), leases: leases)
    }
    var part = try find(purge.filter)
    while true {
      try finish(part.matches.map(\.number), soft: purge.soft, leases: leases)
      guard !part.isLast, Instant.current < deadline else { return }
      part = try findMore()
    }
  }

  private func finish(
    _ numbers: [UInt32], soft: Bool, leases: [UInt32: Int64]
  ) throws(DiskTrouble) {
    try commit { index throws(IndexProblem) in
      guard !soft else { return try index.markStale(numbers) }
      _ = try index.doom(numbers) { leases[$0] ?? 0 }
    }
  }
}
