/// Looks for the entries that several removals cover in one pass over all entries, part by part.
///
/// This is for removals for which no index helps: each row is read once, and compared with each of them.
final class IndexScan {
  private let conditions: [Condition]
  private let identifiers: [String?]
  private let statement: Statement
  private let asksForNames: Bool

  init(_ orders: [RemovalOrder], in connection: Connection) throws(IndexProblem) {
    conditions = orders.map { Condition($0) }
    identifiers = orders.map(\.filter.identifier)
    asksForNames = identifiers.contains { $0 != nil }
    statement = try connection.prepare(
      "SELECT number, digest, allocated, stored_at, last_access, fresh_until"
        + (asksForNames
          ? ", ifnull(identifier, '') FROM entry NOT INDEXED CROSS JOIN picture USING (number)"
          : " FROM entry NOT INDEXED"))
  }

  /// Each removal's matches among the next `most` rows, and whether those rows were the last. It stops earlier
  /// when there are `mostFound` matches.
  func next(examining most: Int, finding mostFound: Int = .max) throws(IndexProblem) -> (
    matches: [[IndexMatch]], isLast: Bool
  ) {
    var matches = [[IndexMatch]](repeating: [], count: conditions.count)
    var found = 0
    for _ in 0..<most where found < mostFound {
      guard try statement.step() else { return (matches, true) }
      let match = try statement.match()
      let ages = try statement.ages()
      let identifier = asksForNames ? try statement.text() : ""
      for place in conditions.indices
      where conditions[place].isMet(by: ages, number: match.number) && isNamed(identifier, place) {
        matches[place].append(match)
        found += 1
      }
    }
    return (matches, false)
  }

  private func isNamed(_ identifier: String, _ place: Int) -> Bool {
    identifiers[place].map { sameBytes($0, identifier) } ?? true
  }
}

private struct Ages { let storedAt, lastAccess, freshUntil: Int64 }

/// The limits that a removal sets to an entry's number and times.
private struct Condition {
  private let ceiling: UInt32
  private let storedBefore, usedBefore, staleAt: Int64

  init(_ order: RemovalOrder) {
    ceiling = order.ceiling
    storedBefore = order.storedBefore ?? .max
    usedBefore = order.usedBefore ?? .max
    staleAt = order.staleAt ?? .max
  }

  func isMet(by ages: Ages, number: UInt32) -> Bool {
    number <= ceiling && ages.storedAt < storedBefore && ages.lastAccess < usedBefore && ages.freshUntil <= staleAt
  }
}

extension Statement {
  fileprivate func ages() throws(IndexProblem) -> Ages {
    Ages(storedAt: try integer(), lastAccess: try integer(), freshUntil: try integer())
  }
}
