/// Looks for the entries that a removal covers, part by part. Others may write in between, and entries that
/// are stored in between are left alone.
///
/// It keeps the log from being carried over, so it is not kept longer than it is needed.
package final class IndexSearch {
  private let statement: Statement
  private let ceiling: UInt32

  init(_ order: RemovalOrder, in connection: Connection) throws(IndexProblem) {
    let query = FilterQuery(order)
    statement = try connection.prepare(query.text)
    query.bind(to: statement)
    ceiling = order.ceiling
  }

  /// The matches among the next `most` rows, how many rows there were, and whether those were the last. It stops
  /// earlier when there are `mostFound` matches.
  package func next(examining most: Int, finding mostFound: Int = .max) throws(IndexProblem) -> (
    matches: [IndexMatch], examined: Int, isLast: Bool
  ) {
    var matches: [IndexMatch] = []
    for examined in 0..<most {
      guard try statement.step() else { return (matches, examined, true) }
      let match = try statement.match()
      if try statement.integer(UInt8.self) == 1, match.number <= ceiling { matches.append(match) }
      if matches.count == mostFound { return (matches, examined + 1, false) }
    }
    return (matches, most, false)
  }
}
