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

    /// The tag that stands for every tag.
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
    if table != .picture, filter.asksForNames { text += " CROSS JOIN picture USING (number)" }
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
    if let tag = filter.tag { leads.append((leads.isEmpty ? isTag(tag) : hasTag(tag), .tag)) }
    if let prefix = filter.prefix { leads.append((range("url", Array(prefix.utf8)), .picture)) }
    if let host = filter.host {
      let order = HostOrder(host)
      let stored = Array(order.stored.utf8)
      leads.append((order.isName ? range("host", stored) : equal("host", order.stored), .picture))
    }
    return leads
  }

  private static func others(_ order: RemovalOrder) -> [Condition] {
    let filter = order.filter
    var others: [Condition] = []
    // But for its end, an address could look like a name that has been turned round.
    if let host = filter.host, HostOrder(host).isName {
      others.append(Condition(text: "substr(host, -1) = '.'", values: []))
    }
    if let identifier = filter.identifier { others.append(equal("ifnull(identifier, '')", identifier)) }
    if let time = order.storedBefore { others.append(moment("stored_at < ?", time)) }
    if let time = order.usedBefore { others.append(moment("last_access < ?", time)) }
    if let time = order.staleAt { others.append(moment("fresh_until <= ?", time)) }
    return others
  }

  private static func equal(_ column: String, _ value: String) -> Condition {
    Condition(text: column + " = ?", values: [.text(Array(value.utf8))])
  }

  private static func isTag(_ tag: String) -> Condition {
    Condition(text: "tag IN (?, ?)", values: [.text(Array(tag.utf8)), .every])
  }

  private static func hasTag(_ tag: String) -> Condition {
    Condition(
      text: "EXISTS (SELECT 1 FROM tag WHERE tag.tag IN (?, ?) AND tag.number = entry.number)",
      values: [.text(Array(tag.utf8)), .every])
  }

  private static func range(_ column: String, _ prefix: [UInt8]) -> Condition {
    guard let end = end(ofPrefix: prefix) else { return Condition(text: column + " >= ?", values: [.text(prefix)]) }
    return Condition(text: "\(column) >= ? AND \(column) < ?", values: [.text(prefix), .text(end)])
  }

  private static func moment(_ text: String, _ time: Int64) -> Condition {
    Condition(text: text, values: [.number(time)])
  }
}

extension PurgeFilter {
  fileprivate var asksForNames: Bool { url != nil || identifier != nil || prefix != nil || host != nil }
}
