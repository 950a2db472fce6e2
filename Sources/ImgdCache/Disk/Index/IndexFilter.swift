/// Which entries are meant: every condition that is given has to hold, and none holds for all.
package struct IndexFilter: Sendable {
  /// This canonical URL with all its identifiers.
  package var url: String?
  /// This additional identifier; the empty one stands for none.
  package var identifier: String?
  /// How the canonical URL begins, byte for byte.
  package var prefix: String?
  /// This host and the hosts below it; nothing lies below an address.
  package var host: String?
  package var tag: String?
  /// Stored before this second.
  package var storedBefore: Int64?
  /// Last used before this second.
  package var usedBefore: Int64?
  /// No longer fresh at this second.
  package var staleAt: Int64?

  package init() {}

  /// Whether nothing is asked of an entry.
  package var isEmpty: Bool {
    url == nil && identifier == nil && prefix == nil && host == nil && tag == nil
      && storedBefore == nil && usedBefore == nil && staleAt == nil
  }
}

/// A filter as one query: its text depends on which conditions there are, all values are bound.
struct FilterQuery {
  private(set) var text: String
  private var values: [Value] = []

  private enum Value {
    case number(Int64)
    case text([UInt8])
  }

  init(_ filter: IndexFilter) {
    text = "SELECT number, digest, allocated FROM entry"
    if filter.asksForNames { text += " JOIN picture USING (number)" }
    if filter.tag != nil { text += " JOIN tag USING (number)" }
    // Every condition can begin with AND.
    text += " WHERE true"
    addNames(filter)
    addTimes(filter)
  }

  func bind(to statement: Statement) {
    for value in values {
      switch value {
      case .number(let number): statement.bind(number)
      case .text(let bytes): statement.bind(text: bytes)
      }
    }
  }

  private mutating func addNames(_ filter: IndexFilter) {
    if let url = filter.url { add("url = ?", url) }
    if let identifier = filter.identifier { add("ifnull(identifier, '') = ?", identifier) }
    if let prefix = filter.prefix { addRange("url", Array(prefix.utf8)) }
    if let host = filter.host { addHost(HostOrder(host)) }
    if let tag = filter.tag { add("tag = ?", tag) }
  }

  private mutating func addTimes(_ filter: IndexFilter) {
    if let time = filter.storedBefore { add("stored_at < ?", time) }
    if let time = filter.usedBefore { add("last_access < ?", time) }
    if let time = filter.staleAt { add("fresh_until <= ?", time) }
  }

  private mutating func addHost(_ host: HostOrder) {
    guard host.isName else { return add("host = ?", host.stored) }
    addRange("host", Array(host.stored.utf8))
    // An address could look like a name that has been turned round, but for its end.
    text += " AND substr(host, -1) = '.'"
  }

  private mutating func addRange(_ column: String, _ prefix: [UInt8]) {
    text += " AND \(column) >= ?"
    values.append(.text(prefix))
    guard let end = end(ofPrefix: prefix) else { return }
    text += " AND \(column) < ?"
    values.append(.text(end))
  }

  private mutating func add(_ condition: String, _ value: String) {
    text += " AND " + condition
    values.append(.text(Array(value.utf8)))
  }

  private mutating func add(_ condition: String, _ value: Int64) {
    text += " AND " + condition
    values.append(.number(value))
  }
}

extension IndexFilter {
  fileprivate var asksForNames: Bool {
    url != nil || identifier != nil || prefix != nil || host != nil
  }
}
