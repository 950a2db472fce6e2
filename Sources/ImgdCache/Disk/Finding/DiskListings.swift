internal import ImgdSystem

/// Lists and describes entries, which does not count as a use.
final class DiskListings: DiskPart {
  private let stores: DiskStores
  private let renewals: DiskRenewals

  init(_ ground: DiskGround, stores: DiskStores, renewals: DiskRenewals) {
    self.stores = stores
    self.renewals = renewals
    super.init(ground)
  }

  func page(
    after cursor: UInt64?, limit: Int, of names: PurgeFilter, containing part: URLPart?,
    then: @escaping (EntryPage) -> Void
  ) {
    let again = { [unowned self] in page(after: cursor, limit: limit, of: names, containing: part, then: then) }
    if mustWait { return gate.wait(again) }
    guard health.isUp, let start = UInt32(exactly: cursor ?? 0) else { return then(EntryPage()) }
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.page(after: start, limit: limit, of: names, containing: part) },
      orElse: { then(EntryPage()) },
      then: { [unowned self] part in
        // The rows may come from an index that has been given up.
        guard !mustWait else { return again() }
        let rows = (part?.rows ?? []).filter { isCurrent($0) }
        then(EntryPage(entries: rows.map { details(of: $0) }, next: part?.next.map(UInt64.init)))
      })
  }

  /// Finds what a fetch would find: where a picture is on its way to the disk, its own entry, as soon as that is there.
  func look(for key: CacheKey, then: @escaping (EntryDetails?) -> Void) {
    let again = { [unowned self] in look(for: key, then: then) }
    if mustWait { return gate.wait(again) }
    guard health.isUp, let digest = key.digest else { return then(nil) }
    if let image = stores.image(for: key), stores.whenSettled(image, again) { return }
    if let row = renewedRow(of: digest) { return then(isCurrent(row) ? details(of: row) : nil) }
    let before = number(of: digest)
    threads.ask(
      { (reader) throws(DiskTrouble) in try reader.row(of: digest) }, orElse: { then(nil) },
      then: { [unowned self] row in
        // Another entry may have come in place of the one whose row was read.
        guard !mustWait, number(of: digest) == before || !index.isLoaded else { return again() }
        then(row.flatMap { isCurrent($0) ? details(of: $0) : nil })
      })
  }

  /// The row that is being written for an entry that its origin has confirmed.
  private func renewedRow(of digest: KeyDigest) -> IndexRow? {
    guard let number = number(of: digest), let image = renewals.image(of: number),
      let record = StoredRecord(image, wall: rules.wall, at: loop.now)
    else { return nil }
    return IndexRow(
      number: number, record: record, host: image.url.host, suffix: files.suffix(of: image.facts),
      lastAccess: rules.wall)
  }

  private func number(of digest: KeyDigest) -> UInt32? { index.place(of: digest).map { index[$0].number } }

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

  /// A picture may have any number of forms: so many are looked at, and the rows of so many are read.
  private static let (mostForms, mostRead) = (64, 4)

  func forms(of key: CacheKey, where mayBe: (ImageFacts) -> Bool, then: @escaping ([StoredFormText]) -> Void)
    -> Look<[StoredFormText]>
  {
    guard !gate.isClosed, health.isUp, let digest = key.digest else { return .now([]) }
    let forms = index.forms(of: digest, most: Self.mostForms).filter { $0.hasBody && mayBe($0.facts) }
    guard !forms.isEmpty else { return .now([]) }
    let digests = forms.sorted { $0.facts.width > $1.facts.width }.prefix(Self.mostRead).map(\.digest)
    threads.ask(
      { (reader) throws(DiskTrouble) in
        var rows: [IndexRow] = []
        for digest in digests { if let row = try reader.row(of: digest) { rows.append(row) } }
        return rows
      }, orElse: { then([]) },
      then: { rows in
        then(
          rows.map { row in
            StoredFormText(text: String(decoding: row.record.description, as: UTF8.self), facts: row.record.facts)
          })
      })
    return .later
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

  /// What the index in memory knows goes before the row, which may not say it yet.
  private func details(of row: IndexRow) -> EntryDetails {
    let (wall, record, written) = (rules.wall, row.record, DiskEntry(row))
    let entry = index.place(of: written.digest, number: row.number).map { index[$0] } ?? written
    let aged = index.ageEntry(of: entry)
    let initialAge = Int64(aged.storedAt) == record.storedAt ? record.initialAgeMs / 1_000 : 0
    return EntryDetails(
      url: record.url, identifier: record.identifier,
      key: CacheKey(
        url: CanonicalURL(canonical: record.url), identifier: record.identifier, variant: record.variant,
        knownDigest: record.digest), facts: record.facts, bytes: record.bytes,
      age: Int(max(wall - Int64(aged.storedAt), 0) + initialAge),
      freshFor: Int(max(Int64(aged.freshUntil) - wall, 0)), storedAt: record.storedAt,
      lastAccess: Int64(aged.lastAccess),
      hasBody: entry.hasBody, claims: EntryClaims(owner: record.owner, tags: record.tags),
      path: files.path(of: entry) ?? "")
  }
}
