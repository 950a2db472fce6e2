/// Some answers that have been read, and the key behind which to go on; nil at the end.
struct AnswerPart: Sendable {
  let answers: [StoredAnswer]
  let next: [UInt8]?
}

/// The writer's work on the rows of remembered answers.
struct AnswerWork {
  /// What the loop takes in within a tick.
  static let mostRead = 64
  private static let mostInCommit = 256
  /// Each row is compared with so many purges.
  private static let mostOrders = 64

  private let disk: OpenDisk

  init(_ disk: OpenDisk) {
    self.disk = disk
  }

  /// Makes changes; those that cannot be made are removals that are owed: what is replaced must not come
  /// back.
  func carryOut(_ changes: AnswerChanges) throws(DiskTrouble) {
    if changes.takesAll {
      // A disk that cannot be written to is not asked for nothing.
      if changes.byDigest.isEmpty, try isEmpty() { return }
      disk.answerDebts.addAll()
    }
    var left = Array(changes.byDigest)[...]
    repeat {
      let part = left.prefix(Self.mostInCommit)
      do throws(DiskTrouble) {
        try disk.commit { index throws(IndexProblem) in
          for (digest, record) in part { try Self.set(record, digest, in: index.answers) }
        }
      } catch {
        disk.answerDebts.add(left.map(\.key))
        throw error
      }
      left.removeFirst(part.count)
    } while !left.isEmpty
  }

  private func isEmpty() throws(DiskTrouble) -> Bool {
    guard disk.answerDebts.isEmpty else { return false }
    return try disk.read { index throws(IndexProblem) in index.answers.tally.isEmpty }
  }

  private static func set(
    _ record: StoredRecord?, _ digest: KeyDigest, in rows: AnswerRows
  ) throws(IndexProblem) {
    if let record { try rows.put(record) } else { try rows.remove(digest.bytes) }
  }

  /// Reads some answers of use; the rows of others go.
  func read(after key: [UInt8], at wall: Int64) throws(DiskTrouble) -> AnswerPart {
    guard !disk.answerDebts.takesAll else { return AnswerPart(answers: [], next: nil) }
    let rows = try disk.read { index throws(IndexProblem) in
      try index.answers.countedRows(after: key, limit: Self.mostRead)
    }
    var (answers, useless): ([StoredAnswer], [[UInt8]]) = ([], [])
    for row in rows {
      if let answer = row.answer, isOfUse(answer, wall) {
        answers.append(answer)
      } else {
        useless.append(row.key)
      }
    }
    // Where that is refused, they are found again at the next start.
    if !useless.isEmpty { try? remove(useless) }
    return AnswerPart(answers: answers, next: rows.count < Self.mostRead ? nil : rows.last?.key)
  }

  private func isOfUse(_ answer: StoredAnswer, _ wall: Int64) -> Bool {
    answer.isOfUse(at: wall) && !disk.answerDebts.contains(answer.record.digest)
  }

  private func remove(_ keys: [[UInt8]]) throws(DiskTrouble) {
    try disk.commit { index throws(IndexProblem) in
      for key in keys { try index.answers.remove(key) }
    }
  }

  /// Removes the rows behind a key that purges mean, or marks their answers; too many purges mean all.
  ///
  /// If that is refused all rows are owed: nothing tells which ones were meant.
  func purge(_ orders: [RemovalOrder], after key: [UInt8]) throws(DiskTrouble) {
    guard orders.count <= Self.mostOrders else { return try clear() }
    do throws(DiskTrouble) {
      var next: [UInt8]? = key
      while let key = next { next = try purgeSome(orders, after: key) }
    } catch {
      disk.answerDebts.addAll()
      throw error
    }
  }

  /// Removes all rows.
  func clear() throws(DiskTrouble) {
    disk.answerDebts.addAll()
    try disk.commit { _ throws(IndexProblem) in }
  }

  private func purgeSome(
    _ orders: [RemovalOrder], after key: [UInt8]
  ) throws(DiskTrouble) -> [UInt8]? {
    let rows = try disk.read { index throws(IndexProblem) in
      try index.answers.rows(after: key, limit: Self.mostInCommit)
    }
    let meant = rows.compactMap(\.answer).compactMap { answer in
      let orders = orders.filter { $0.means(answer) }
      return orders.isEmpty ? nil : (answer.record, isSoft: orders.allSatisfy(\.isSoft))
    }
    if !meant.isEmpty {
      try disk.commit { index throws(IndexProblem) in
        for (record, isSoft) in meant {
          try Self.set(isSoft ? record.markedStale : nil, record.digest, in: index.answers)
        }
      }
    }
    return rows.count < Self.mostInCommit ? nil : rows.last?.key
  }
}

extension StoredRecord {
  fileprivate var markedStale: StoredRecord {
    var marked = self
    marked.freshUntil = 0
    return marked
  }
}
