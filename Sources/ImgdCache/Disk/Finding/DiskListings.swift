/// Lists and describes entries, which does not count as a use.
final class DiskListings: DiskPart {
  func page(after cursor: UInt64?, limit: Int, prefix: String?, then: @escaping (EntryPage) -> Void) {
    if mustWait { return gate.wait { [unowned self] in page(after: cursor, limit: limit, prefix: prefix, then: then) } }
    guard health.isUp, let start = UInt32(exactly: cursor ?? 0) else { return then(EntryPage()) }
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.page(after: start, limit: limit, prefix: prefix) },
      orElse: { then(EntryPage()) },
      then: { [unowned self] part in
        // The rows may come from an index that has been given up.
        guard !mustWait else { return page(after: cursor, limit: limit, prefix: prefix, then: then) }
        let rows = (part?.rows ?? []).filter { isCurrent($0) }
        then(EntryPage(entries: rows.map { details(of: $0) }, next: part?.next.map(UInt64.init)))
      })
  }

  func look(for key: CacheKey, then: @escaping (EntryDetails?) -> Void) {
    if mustWait { return gate.wait { [unowned self] in look(for: key, then: then) } }
    guard health.isUp, let digest = key.digest else { return then(nil) }
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.row(of: digest) }, orElse: { then(nil) },
      then: { [unowned self] row in
        guard !mustWait else { return look(for: key, then: then) }
        then(row.flatMap { isCurrent($0) ? details(of: $0) : nil })
      })
  }

  /// The answers to a name that depend on the request.
  ///
  /// Only a few rows are read: no more answers are kept for one name, and hardly any two names have digests with
  /// the same end.
  func variants(of base: CacheKey, then: @escaping ([Variant]) -> Void) {
    if mustWait { return gate.wait { [unowned self] in variants(of: base, then: then) } }
    guard health.isUp, let digest = base.digest else { return then([]) }
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.rows(ofBase: digest.tag, limit: 2 * VariantTable.mostOfOne) },
      orElse: { then([]) },
      then: { [unowned self] rows in
        guard !mustWait else { return variants(of: base, then: then) }
        then(rows.filter { $0.record.isNamed(base) && isCurrent($0) }.compactMap { Variant($0.record) })
      })
  }

  /// Whether there may be such answers, as far as that is known without waiting.
  func mayHaveVariants(of base: CacheKey) -> Bool {
    guard let digest = base.digest else { return false }
    return mustWait || health.isUp && index.mayHaveEntry(ofBase: digest.tag)
  }

  private var mustWait: Bool { gate.isClosed || health.isOpening }

  /// Whether a row of the index file belongs to an entry that a look-up would find.
  private func isCurrent(_ row: IndexRow) -> Bool {
    guard pending.spares(row) else { return false }
    guard let place = index.place(of: row.record.digest) else { return index.isUnread(row.number) }
    return index[place].number == row.number && !rules.isTooOld(index[place])
  }

  /// Whether there is a file, which a row may not say yet.
  private func hasBody(_ entry: DiskEntry) -> Bool {
    entry.hasBody && index.place(of: entry.digest, number: entry.number).map { index[$0].hasBody } ?? true
  }

  private func details(of row: IndexRow) -> EntryDetails {
    let (record, entry, wall) = (row.record, DiskEntry(row), rules.wall)
    return EntryDetails(
      url: record.url, identifier: record.identifier, facts: record.facts, bytes: record.bytes,
      age: Int(max(wall - record.storedAt, 0) + record.initialAgeMs / 1_000),
      freshFor: Int(max(record.freshUntil - wall, 0)), storedAt: record.storedAt,
      hasBody: hasBody(entry), tags: record.tags, path: files.path(of: entry) ?? "")
  }
}
