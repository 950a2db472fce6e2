/// Looks for the entries that a filter means, part by part: what is written in between is not waited
/// for, and entries that are stored in between are not meant.
///
/// It holds the log back, so it is not kept longer than it is needed.
package final class IndexSearch {
  private let statement: Statement
  private let last: UInt32

  init(_ filter: IndexFilter, in index: IndexFile) throws(IndexProblem) {
    let query = FilterQuery(filter)
    statement = try index.connection.prepare(query.text)
    query.bind(to: statement)
    last = try index.lastNumber()
  }

  /// What is found among the next `most` rows, and whether those were the last.
  package func next(
    examining most: Int
  ) throws(IndexProblem) -> (matches: [IndexMatch], isLast: Bool) {
    var matches: [IndexMatch] = []
    for _ in 0..<most {
      guard try statement.step() else { return (matches, true) }
      let match = try statement.match()
      if try statement.integer(UInt8.self) == 1, match.number <= last { matches.append(match) }
    }
    return (matches, false)
  }
}

extension IndexFile {
  /// Begins to look for the entries that a filter means, in no order.
  package func search(_ filter: IndexFilter) throws(IndexProblem) -> IndexSearch {
    try IndexSearch(filter, in: self)
  }

  /// The entries that a filter means, in no order.
  package func numbers(matching filter: IndexFilter) throws(IndexProblem) -> [IndexMatch] {
    try search(filter).next(examining: .max).matches
  }
}
