internal import ImgdText

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

/// The filter of a removal as one query, whose last column says whether the removal covers a row.
///
/// One condition leads, by its index; the others are checked for each row that it leads to. So no step
/// of the query passes over many rows, and it can be carried out in parts. All values are bound.
struct FilterQuery {
  private(set) var text = ""
  private var values: [Value] = []

  private enum Value {
    case number(Int64)
    case text([UInt8])
    case digest(KeyDigest)

    static let every = Value.text(Array(EntryTags.every.utf8))
  }

  private struct Condition {
    let text: String
    let values: [Value]
  }

  private enum Table { case entry, picture, tag }

  init(_ order: RemovalOrder) {
    let filter = order.filter
    var leads = Self.leads(filter)
    let (lead, table) = leads.isEmpty ? (nil, .entry) : leads.removeFirst()
    let asked = leads.map(\.condition) + Self.others(order)
    let isMeant = (["true"] + asked.map(\.text)).joined(separator: " AND ")
    text = "SELECT number, digest, allocated, \(isMeant) FROM "
    switch table {
    case .entry: text += lead == nil ? "entry NOT INDEXED" : "entry"
    case .picture: text += "picture CROSS JOIN entry USING (number)"
    case .tag: text += "tag CROSS JOIN entry USING (number)"
    }
    let asksForNames = filter.url != nil || filter.identifier != nil || filter.prefix != nil || filter.host != nil
    if table != .picture, asksForNames { text += " CROSS JOIN picture USING (number)" }
    if let lead { text += " WHERE " + lead.text }
    values = asked.flatMap(\.values) + (lead?.values ?? [])
  }

  func bind(to statement: Statement) {
    for value in values {
      switch value {
      case .number(let number): statement.bind(number)
      case .text(let bytes): statement.bind(text: bytes)
      case .digest(let digest): statement.bind(digest)
      }
    }
  }

  /// Conditions with an index, the one that leads to the fewest rows first.
  private static func leads(_ filter: PurgeFilter) -> [(condition: Condition, table: Table)] {
    var leads: [(condition: Condition, table: Table)] = []
    if let digest = filter.digest { leads.append((Condition(text: "digest = ?", values: [.digest(digest)]), .entry)) }
    if let url = filter.url { leads.append((equal("url", url.text), .picture)) }
    if let tag = filter.tag {
      leads.append((tagged(tag, orGroup: filter.host != nil, leads: leads.isEmpty), .tag))
    }
    if let prefix = filter.prefix { leads.append((range("url", Array(prefix.utf8)), .picture)) }
    if let host = filter.host {
      let order = HostOrder(host)
      let stored = Array(order.stored.utf8)
      leads.append((order.isName ? range("host", stored) : equal("host", order.stored), .picture))
    }
    return leads
  }

  /// Whether an entry has the tag, also as one of users, or every tag, or, where groups count, that group. Where this
  /// leads, an entry is led to once, by the first of these that it has.
  private static func tagged(_ tag: String, orGroup: Bool, leads: Bool) -> Condition {
    let name = Array(tag.utf8)
    // Behind the name users' tags have a NUL.
    let values: [Value] = [
      .every, .text(orGroup ? Array(EntryTags.tag(ofGroup: tag).utf8) : []), .text(name), .text(name + [1]),
    ]
    func isOne(_ table: String) -> String {
      "(\(table).tag = ? OR \(table).tag = ? OR \(table).tag >= ? AND \(table).tag < ?)"
    }
    guard leads else {
      let exists = "EXISTS (SELECT 1 FROM tag WHERE tag.number = entry.number AND \(isOne("tag")))"
      return Condition(text: exists, values: values)
    }
    let isEarlier = "SELECT 1 FROM tag AS own WHERE own.number = tag.number AND own.tag < tag.tag AND \(isOne("own"))"
    return Condition(text: "\(isOne("tag")) AND NOT EXISTS (\(isEarlier))", values: values + values)
  }

  private static func others(_ order: RemovalOrder) -> [Condition] {
    let filter = order.filter
    var others: [Condition] = []
    // But for its end, an address could look like a name that has been turned round.
    if let host = filter.host, HostOrder(host).isName {
      others.append(Condition(text: "substr(host, -1) = '.'", values: []))
    }
    if let identifier = filter.identifier { others.append(equal("ifnull(identifier, '')", identifier)) }
    let times = [
      ("stored_at < ?", order.storedBefore), ("last_access < ?", order.usedBefore),
      (FormFreshness.column + " <= ?", order.staleAt),
    ]
    for case (let text, let time?) in times { others.append(Condition(text: text, values: [.number(time)])) }
    return others
  }

  private static func equal(_ column: String, _ value: String) -> Condition {
    Condition(text: column + " = ?", values: [.text(Array(value.utf8))])
  }

  private static func range(_ column: String, _ prefix: [UInt8]) -> Condition {
    guard let end = end(ofPrefix: prefix) else { return Condition(text: column + " >= ?", values: [.text(prefix)]) }
    return Condition(text: "\(column) >= ? AND \(column) < ?", values: [.text(prefix), .text(end)])
  }
}

/// The form in which a host is stored, so that the hosts below it form a range: "www.example.org" is stored as
/// "org.example.www.", and an address, below which there is nothing, unchanged.
struct HostOrder {
  let host: String
  let stored: String
  /// Whether there can be hosts below it.
  let isName: Bool

  init(_ host: String) {
    let bytes = host.utf8.map(lowerCase)
    isName = !Self.isAddress(bytes)
    self.host = String(decoding: bytes, as: UTF8.self)
    stored = isName ? turnedRound(bytes.dropLast(0)) + "." : self.host
  }

  init(stored: String) {
    self.stored = stored
    // Only a name that has been turned round ends with a dot.
    isName = stored.utf8.last == dot
    host = isName ? turnedRound(Array(stored.utf8).dropLast()) : stored
  }

  private static func isAddress(_ host: [UInt8]) -> Bool {
    guard let first = host.first, let last = host.last else { return true }
    return decimalValue(last) != nil || first == UInt8(ascii: "[") && last == UInt8(ascii: "]")
  }
}

private func turnedRound(_ host: ArraySlice<UInt8>) -> String {
  let labels = host.split(separator: dot, omittingEmptySubsequences: false)
  return String(decoding: Array(labels.reversed().joined(separator: [dot])), as: UTF8.self)
}

private let dot = UInt8(ascii: ".")

/// The first text after all those that begin with `prefix`, in the order of their bytes; nil if there is none.
func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
  var end = prefix
  while end.last == 0xFF { end.removeLast() }
  guard let last = end.popLast() else { return nil }
  return end + [last + 1]
}

/// Looks part by part, in one pass, for the entries that several removals cover when no index helps: each row is read
/// once, and compared with each removal.
final class IndexScan {
  private let conditions: [Condition]
  private let statement: Statement
  private let asksForNames: Bool

  init(_ orders: [RemovalOrder], in connection: Connection) throws(IndexProblem) {
    conditions = orders.map { Condition($0) }
    asksForNames = orders.contains { $0.filter.identifier != nil }
    statement = try connection.prepare(
      "SELECT number, digest, allocated, stored_at, last_access, \(FormFreshness.column)"
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
      let ages = Ages(
        storedAt: try statement.integer(), lastAccess: try statement.integer(), freshUntil: try statement.integer())
      let identifier = asksForNames ? try statement.text() : ""
      for place in conditions.indices where conditions[place].isMet(by: ages, identifier, number: match.number) {
        matches[place].append(match)
        found += 1
      }
    }
    return (matches, false)
  }
}

/// A form is as fresh as its picture: no purge of what has expired means it.
private enum FormFreshness { static let column = "iif(plain & 2, \(Int64.max), fresh_until)" }

private struct Ages { let storedAt, lastAccess, freshUntil: Int64 }

/// The conditions of a removal on an entry's number, times and identifier.
private struct Condition {
  private let ceiling: UInt32
  private let identifier: String?
  private let storedBefore, usedBefore, staleAt: Int64

  init(_ order: RemovalOrder) {
    ceiling = order.ceiling
    identifier = order.filter.identifier
    storedBefore = order.storedBefore ?? .max
    usedBefore = order.usedBefore ?? .max
    staleAt = order.staleAt ?? .max
  }

  func isMet(by ages: Ages, _ ownIdentifier: String, number: UInt32) -> Bool {
    number <= ceiling && ages.storedAt < storedBefore && ages.lastAccess < usedBefore && ages.freshUntil <= staleAt
      && (identifier.map { sameBytes($0, ownIdentifier) } ?? true)
  }
}
