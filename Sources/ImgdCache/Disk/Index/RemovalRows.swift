internal import ImgdSystem

/// The table of purges that still have to be carried out.
package struct RemovalRows {
  let connection: Connection

  /// Adds a purge that covers entries up to `ceiling`, and returns it with the number of its row.
  package func add(_ order: RemovalOrder, ceiling: UInt32) throws(IndexProblem) -> RemovalOrder {
    try connection.expectWriting()
    var order = order
    order.ceiling = ceiling
    let filter = order.filter
    let statement = try connection.statement(.addRemoval)
    for text in [filter.url?.text, filter.identifier, filter.prefix, filter.host, filter.tag] { statement.bind(text) }
    for age in [filter.olderThan, filter.unusedFor] { statement.bind(age?.wholeSeconds) }
    statement.bind(filter.digest)
    statement.bind(filter.expired ? 1 : 0, order.isSoft ? 1 : 0)
    statement.bind(order.askedAt, order.ceiling, order.keepUntil, order.seal)
    try statement.run()
    order.id = connection.lastNumber
    return order
  }

  /// All purges in the table, the oldest first.
  package func all() throws(IndexProblem) -> [RemovalOrder] {
    try connection.statement(.removals).all { (row) throws(IndexProblem) in try row.removalOrder() }
  }

  /// Takes a purge that has been carried out off the table.
  package func remove(_ id: Int64) throws(IndexProblem) {
    try connection.expectWriting()
    try connection.run(.removeRemoval, id)
  }
}

extension Statement {
  fileprivate func removalOrder() throws(IndexProblem) -> RemovalOrder {
    let id: Int64 = try integer()
    var filter = PurgeFilter()
    filter.url = try textOrNull().map { CanonicalURL(canonical: $0) }
    filter.identifier = try textOrNull()
    filter.prefix = try textOrNull()
    filter.host = try textOrNull()
    filter.tag = try textOrNull()
    filter.olderThan = try age()
    filter.unusedFor = try age()
    filter.digest = try digestOrNull()
    filter.expired = try boolean()
    let (isSoft, askedAt) = (try boolean(), try integer(Int64.self))
    let (ceiling, keepUntil): (UInt32, Int64) = (try integer(), try integer())
    var order = RemovalOrder(filter, isSoft: isSoft, askedAt: askedAt, keepUntil: keepUntil)
    order.ceiling = ceiling
    guard try bits() == order.seal else { throw .damaged("removal \(id) has been changed") }
    order.id = id
    return order
  }

  private func age() throws(IndexProblem) -> Duration? {
    try integerOrNull().map { .seconds(min(max($0, -SaneRange.most), SaneRange.most)) }
  }
}

extension RemovalOrder {
  /// The seal over everything but the number of its row.
  fileprivate var seal: UInt64 {
    var seal = RowSeal()
    for text in [filter.url?.text, filter.identifier, filter.prefix, filter.host, filter.tag] { seal.add(text) }
    for age in [filter.olderThan, filter.unusedFor] {
      seal.add(age == nil ? 0 : 1)
      seal.add(age?.wholeSeconds ?? 0)
    }
    seal.add(filter.digest?.hex)
    for flag in [filter.expired, isSoft] { seal.add(flag ? 1 : 0) }
    seal.add(askedAt)
    seal.add(ceiling)
    seal.add(keepUntil)
    return seal.finish()
  }
}

/// A purge as the index file keeps it until it has been carried out.
package struct RemovalOrder: Sendable, Equatable {
  /// The number of its row; nil while it has not been written.
  package var id: Int64?
  package let filter: PurgeFilter
  /// Whether entries are only marked as stale.
  package let isSoft: Bool
  /// In seconds since 1970; the filter's ages count back from here.
  package let askedAt: Int64
  /// The number of the last entry that it covers; entries that are stored later stay.
  package var ceiling: UInt32 = .max
  /// Until when a later process leaves the files in place, since it does not know their leases.
  package let keepUntil: Int64

  package init(_ filter: PurgeFilter, isSoft: Bool, askedAt: Int64, keepUntil: Int64 = 0) {
    self.filter = filter
    self.isSoft = isSoft
    self.askedAt = askedAt
    self.keepUntil = keepUntil
    storedBefore = filter.olderThan.map { askedAt - $0.wholeSeconds + 1 }
    usedBefore = filter.unusedFor.map { askedAt - $0.wholeSeconds + 1 }
    staleAt = filter.expired ? askedAt : nil
  }

  /// Whether every entry up to the ceiling goes, whatever it is.
  package var takesEverything: Bool { filter.matchesAll && !isSoft }

  /// Whether no index leads to its entries, so that every row has to be looked at.
  var needsScan: Bool {
    filter.digest == nil && filter.url == nil && filter.tag == nil && filter.prefix == nil && filter.host == nil
  }

  // Rounded to whole seconds: removing an entry needlessly is the safe mistake. They are computed once, since many
  // entries are compared with them.

  let storedBefore: Int64?
  let usedBefore: Int64?
  let staleAt: Int64?
}

extension Duration { var wholeSeconds: Int64 { nanoseconds / 1_000_000_000 } }

/// A file that no entry needs any more and that still has to be removed.
package struct PendingUnlink: Sendable, Equatable {
  package let number: UInt32
  package let digest: KeyDigest
  package let suffix: String
  /// The end of the lease on its path, in seconds since 1970.
  package let keepUntil: Int64

  var file: PictureFile? { PictureFile(digest: digest, number: number, suffix: suffix) }
}

/// The table of files that still have to be removed, some of them only after a lease has ended.
package struct PendingUnlinks {
  let connection: Connection

  /// Turns entries into files to be removed; numbers without an entry are passed over.
  package func retire(_ numbers: [UInt32], keepUntil: (UInt32) -> Int64) throws(IndexProblem) -> [PendingUnlink] {
    var retired: [PendingUnlink] = []
    for number in numbers { if let file = try retire(number, keepUntil: keepUntil(number)) { retired.append(file) } }
    return retired
  }

  func retire(_ number: UInt32, keepUntil: Int64) throws(IndexProblem) -> PendingUnlink? {
    try connection.expectWriting()
    guard let file = try add(number, keepUntil: keepUntil) else {
      let entry: Void? = try connection.statement(.entryByNumber, number).first { _ in () }
      guard entry == nil else { throw .damaged("an entry has no picture") }
      return nil
    }
    for query in [IndexQuery.removeTags, .removePicture, .removeEntry] { try connection.run(query, number) }
    return file
  }

  /// Up to `limit` of the files that are due at `wall`, in the order of their numbers, after `number`.
  package func due(after number: UInt32 = 0, by wall: Int64 = .max, limit: Int = .max) throws(IndexProblem)
    -> [PendingUnlink]
  {
    try connection.statement(.dueUnlinks, number, wall, limit).all { (row) throws(IndexProblem) in
      PendingUnlink(
        number: try row.integer(), digest: try row.digest(), suffix: try row.text(), keepUntil: try row.saneInteger())
    }
  }

  /// When the next file is due that is kept beyond `wall`; nil if there is none.
  package func next(after wall: Int64) throws(IndexProblem) -> Int64? {
    let next = try connection.statement(.nextUnlink, wall).first { (row) throws(IndexProblem) in
      try row.saneIntegerOrNull()
    }
    return next ?? nil
  }

  /// Whether a file still has to be removed.
  package func contains(_ number: UInt32, _ digest: KeyDigest) throws(IndexProblem) -> Bool {
    let statement = try connection.statement(.isPendingUnlink, number)
    statement.bind(digest)
    defer { statement.reset() }
    return try statement.step()
  }

  /// Takes files that have been removed off the table.
  package func forget(_ numbers: [UInt32]) throws(IndexProblem) {
    try connection.expectWriting()
    for number in numbers { try connection.run(.forgetUnlink, number) }
  }

  /// Has the file of an entry removed; nil if there is no entry. For an entry whose bytes have gone it is there
  /// already, or its file is found to be missing.
  func add(_ number: UInt32, keepUntil: Int64) throws(IndexProblem) -> PendingUnlink? {
    let keepUntil = SaneRange.clamped(keepUntil)
    let statement = try connection.statement(.addUnlink, keepUntil, number)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    let (digest, suffix) = (try statement.digest(), try statement.text())
    // The row is only really written once the statement has run to its end.
    _ = try statement.step()
    return PendingUnlink(number: number, digest: digest, suffix: suffix, keepUntil: keepUntil)
  }
}
