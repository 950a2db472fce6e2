/// The table of purges that still have to be carried out.
package final class RemovalRows {
  private let connection: Connection
  private let transactions: IndexTransactions

  init(_ transactions: IndexTransactions) {
    connection = transactions.connection
    self.transactions = transactions
  }

  /// Adds a purge that covers entries up to `ceiling`, and returns it with the number of its row.
  package func add(_ order: RemovalOrder, ceiling: UInt32) throws(IndexProblem) -> RemovalOrder {
    try transactions.expectWriting()
    var order = order
    order.ceiling = ceiling
    let statement = try connection.statement(.addRemoval)
    for text in [order.filter.url?.text, order.filter.identifier, order.filter.prefix] { statement.bind(text) }
    for text in [order.filter.host, order.filter.tag] { statement.bind(text) }
    for age in [order.filter.olderThan, order.filter.unusedFor] { statement.bind(age?.wholeSeconds) }
    statement.bind(order.filter.digest)
    statement.bind(order.filter.expired ? 1 : 0)
    statement.bind(order.isSoft ? 1 : 0)
    statement.bind(order.askedAt)
    statement.bind(order.ceiling)
    statement.bind(order.keepUntil)
    statement.bind(order.seal)
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
    try transactions.expectWriting()
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
