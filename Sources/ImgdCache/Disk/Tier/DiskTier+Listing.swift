internal import ImgdSystem

/// What is told of an entry on disk to who looks around.
package struct DiskListing: Sendable {
  package let url: String
  package let identifier: String?
  package let facts: ImageFacts
  package let bytes: Int
  package let age: Int
  package let freshFor: Int
  /// Seconds since 1970.
  package let storedAt: Int64
  package let tags: [String]
  package let path: String
}

extension DiskTier {
  /// Some of the entries, in the order in which they were stored.
  package struct Page {
    package var entries: [DiskListing] = []
    /// Where to go on; nil when there is nothing more.
    package var next: UInt64?
  }

  /// Reads on after a cursor in the order of storing, without counting as a use.
  package func page(
    after cursor: UInt64?, limit: Int, prefix: String?, then: @escaping (Page) -> Void
  ) {
    if isOpening {
      return afterPurge.append { [unowned self] in
        page(after: cursor, limit: limit, prefix: prefix, then: then)
      }
    }
    guard isEnabled, state != .off, let start = UInt32(exactly: cursor ?? 0) else {
      return then(Page())
    }
    ask(
      { (reader) throws(DiskTrouble) in
        try reader.page(after: start, limit: limit, prefix: prefix)
      }, orElse: { then(Page()) },
      then: { [unowned self] part in
        let rows = (part?.rows ?? []).filter { isCurrent($0.record) }
        then(Page(entries: rows.map { listing($0) }, next: part?.next.map(UInt64.init)))
      })
  }

  /// What is known of an entry, without counting as a use.
  package func look(for key: CacheKey, then: @escaping (DiskListing?) -> Void) {
    if isOpening { return afterPurge.append { [unowned self] in look(for: key, then: then) } }
    guard isEnabled, state != .off else { return then(nil) }
    let digest = KeyDigest(url: key.url.text, identifier: key.identifier)
    ask(
      { (reader) throws(DiskTrouble) in
        try reader.record(digest).flatMap { (record) throws(DiskTrouble) in
          try reader.row(record.number)
        }
      }, orElse: { then(nil) },
      then: { [unowned self] row in
        then(row.flatMap { isCurrent($0.record) ? listing($0) : nil })
      })
  }

  /// Whether an entry of the index file is one that would be found.
  private func isCurrent(_ record: IndexRecord) -> Bool {
    let digest = KeyDigest(high: record.digestHigh, low: record.digestLow)
    guard let place = index.place(of: digest) else {
      return isUnread(record.number)
    }
    return index[place].number == record.number && !isTooOld(index[place])
  }

  private func listing(_ row: IndexRow) -> DiskListing {
    let entry = DiskEntry(row.record, isTrusted: true)
    let age = max(wall - row.record.storedAt, 0)
    return DiskListing(
      url: row.url, identifier: row.identifier, facts: entry.facts, bytes: row.record.bytes,
      age: Int(age + row.initialAgeMs / 1_000),
      freshFor: Int(max(row.record.freshUntil - wall, 0)), storedAt: row.record.storedAt,
      tags: row.tags, path: pictureFile(of: entry).flatMap { directory?.path(of: $0) } ?? "")
  }
}
