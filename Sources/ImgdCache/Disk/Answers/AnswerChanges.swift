/// What the writer is to do to the rows of remembered answers, in one piece: the last change to each.
struct AnswerChanges: Sendable {
  /// More removals than a table has rows mean all of them.
  private static let most = AnswerRows.mostRows

  /// All rows go before anything else.
  private(set) var takesAll = false
  /// Records to be written, and nil for rows that go.
  private(set) var byDigest: [KeyDigest: StoredRecord?] = [:]
  /// The bytes of the records, roughly.
  private(set) var bytes = 0

  var isEmpty: Bool { byDigest.isEmpty && !takesAll }

  /// The memory that they take, roughly.
  var heldBytes: Int { bytes + byDigest.count * 64 }

  mutating func keep(_ record: StoredRecord) { set(record, for: record.digest) }

  mutating func drop(_ digest: KeyDigest) {
    set(nil, for: digest)
    if byDigest.count > Self.most { dropAll() }
  }

  mutating func dropAll() {
    self = AnswerChanges()
    takesAll = true
  }

  private mutating func set(_ record: StoredRecord?, for digest: KeyDigest) {
    let former = byDigest.updateValue(record, forKey: digest) ?? nil
    bytes += (record?.roughBytes ?? 0) - (former?.roughBytes ?? 0)
  }
}

extension StoredRecord {
  fileprivate var roughBytes: Int {
    512 + url.utf8.count + headers.count + varying.count + tags.reduce(0) { $0 + $1.utf8.count }
  }
}
