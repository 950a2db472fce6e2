/// The entries of the index file: the rows of fixed size that a scan reads, and the stored records.
package struct IndexEntries {
  let connection: Connection
  let unlinks: PendingUnlinks

  /// Adds an entry under a new number; the file of an earlier entry of the same digest becomes a pending unlink.
  ///
  /// Numbers that are negative or absurdly large are clamped to the range that can be read back.
  package func insert(_ row: IndexRow, retiring keepUntil: Int64) throws(IndexProblem) -> Addition {
    try connection.expectWriting()
    var row = row.sane
    let earlier = try entry(of: row.record.digest)
    var retired: PendingUnlink?
    if let earlier { retired = try unlinks.retire(earlier.number, keepUntil: keepUntil) }
    var entry = DiskEntry(row)
    entry.number = try insertEntry(entry)
    row.number = entry.number
    try insertPicture(row)
    try insertTags(of: row)
    return Addition(entry: entry, retired: retired)
  }

  /// A new entry, and the file that it replaces.
  package struct Addition {
    package let entry: DiskEntry
    package let retired: PendingUnlink?
    package var number: UInt32 { entry.number }
  }

  /// Writes what a confirmation has changed: the answer, its freshness, times, flags and tags.
  /// The name and the facts of the file stay. False if the entry is gone.
  package func renew(_ row: IndexRow) throws(IndexProblem) -> Bool {
    try connection.expectWriting()
    guard let old = try self.row(number: row.number) else { return false }
    let new = row.sane
    var renewed = old
    renewed.record = old.record.renewed(by: new.record)
    renewed.lastAccess = new.lastAccess
    try renewEntry(DiskEntry(renewed))
    try renewPicture(renewed)
    try connection.run(.removeTags, row.number)
    try insertTags(of: renewed)
    return true
  }

  /// Notes when entries were last used; those that are gone are passed over.
  package func touch(_ uses: [(number: UInt32, at: Int64)]) throws(IndexProblem) {
    try connection.expectWriting()
    for use in uses { try connection.run(.touch, UInt32(clamping: use.at), use.number) }
  }

  /// Marks entries so that their origin has to confirm them; those that are gone are passed over.
  package func markStale(_ numbers: [UInt32]) throws(IndexProblem) {
    try connection.expectWriting()
    for number in numbers {
      guard var entry = try entry(number: number) else { continue }
      entry.freshUntil = 0
      try connection.run(.refresh, entry.freshUntil, entry.seal, number)
    }
  }

  /// Notes that the bytes of entries go; those that are gone, or have lost theirs, are passed over. The files, which
  /// are returned, become pending unlinks.
  package func shed(_ numbers: [UInt32], keepUntil: (UInt32) -> Int64) throws(IndexProblem) -> [PendingUnlink] {
    try connection.expectWriting()
    var files: [PendingUnlink] = []
    for number in numbers {
      guard var entry = try entry(number: number), entry.hasBody else { continue }
      entry.shed()
      if let file = try unlinks.add(number, keepUntil: keepUntil(number)) { files.append(file) }
      try connection.run(.shedEntry, entry.allocated, entry.marks, entry.seal, number)
    }
    return files
  }

  private func insertEntry(_ entry: DiskEntry) throws(IndexProblem) -> UInt32 {
    let facts = entry.facts
    let statement = try connection.statement(.insertEntry)
    statement.bind(entry.digest)
    statement.bind(entry.bytes, entry.allocated, entry.storedAt, entry.lastAccess, entry.freshUntil)
    statement.bind(facts.format, facts.orientation, facts.width, facts.height, facts.frames)
    statement.bind(entry.modified, entry.checksum.value, entry.marks, entry.base, entry.seal)
    try statement.run()
    guard let number = UInt32(exactly: connection.lastNumber) else { throw .damaged("all numbers are used up") }
    return number
  }

  private func insertPicture(_ row: IndexRow) throws(IndexProblem) {
    let encoded = try encoded(row.record)
    let statement = try connection.statement(.insertPicture, row.number)
    for text in [row.record.url, HostOrder(row.host).stored, row.record.identifier, row.suffix] { statement.bind(text) }
    statement.bind(blob: encoded)
    statement.bind(row.seal(encoded))
    try statement.run()
  }

  private func renewEntry(_ entry: DiskEntry) throws(IndexProblem) {
    try connection.run(
      .renewEntry, entry.storedAt, entry.lastAccess, entry.freshUntil, entry.modified, entry.marks,
      entry.base, entry.seal, entry.number)
  }

  private func renewPicture(_ row: IndexRow) throws(IndexProblem) {
    let encoded = try encoded(row.record)
    let statement = try connection.statement(.renewPicture)
    statement.bind(blob: encoded)
    statement.bind(row.seal(encoded), row.number)
    try statement.run()
  }

  private func encoded(_ record: StoredRecord) throws(IndexProblem) -> [UInt8] {
    guard let encoded = RecordCodec.encode(record) else { throw .tooLarge }
    return encoded
  }

  private func insertTags(of row: IndexRow) throws(IndexProblem) {
    for tag in row.record.tags {
      let statement = try connection.statement(.insertTag)
      statement.bind(tag)
      statement.bind(row.number)
      try statement.run()
    }
  }

  /// One entry; nil when there is none.
  package func entry(of digest: KeyDigest) throws(IndexProblem) -> DiskEntry? {
    let statement = try connection.statement(.entryByDigest)
    statement.bind(digest)
    return try statement.first { (row) throws(IndexProblem) in try row.entry() }
  }

  /// Up to `limit` entries whose answers have this base, the newest first; they may belong to several names, since
  /// the digests of two names may have the same end.
  func entries(ofBase base: UInt32, limit: Int) throws(IndexProblem) -> [DiskEntry] {
    try connection.statement(.entriesOfBase, base, limit).all { (row) throws(IndexProblem) in try row.entry() }
  }

  /// Up to `limit` entries after `number`, in the order of their numbers.
  package func entries(after number: UInt32, limit: Int) throws(IndexProblem) -> [DiskEntry] {
    try connection.statement(.entries, number, max(limit, 0)).all { (row) throws(IndexProblem) in try row.entry() }
  }

  /// The entries whose files belong into a subdirectory.
  func matches(inSubdirectory number: Int) throws(IndexProblem) -> [IndexMatch] {
    let statement = try connection.statement(.subdirectory)
    let digests = Subdirectory.digests(number)
    statement.bind(digests.first)
    statement.bind(digests.last)
    return try statement.all { (row) throws(IndexProblem) in try row.match() }
  }

  /// Everything about one entry; nil when there is none.
  ///
  /// Most entries have no tags: for these one statement does, in a third of the time of four.
  package func row(number: UInt32) throws(IndexProblem) -> IndexRow? {
    if let row = try untaggedRow(number) { return row }
    return try connection.read { () throws(IndexProblem) in try rowWithinReading(number) }
  }

  /// Up to `limit` rows after `number`, in the order in which they were stored, which have the URL and the host that a
  /// filter names, or may have its tag. A URL or a tag takes no look at other rows. At most `most` rows are looked at.
  ///
  /// `next` is the number after which to go on; nil at the end.
  package func page(
    after number: UInt32, limit: Int, examined most: Int, of filter: PurgeFilter = PurgeFilter(),
    containing part: URLPart? = nil
  ) throws(IndexProblem) -> (rows: [IndexRow], next: UInt32?) {
    try connection.read { () throws(IndexProblem) in
      let found = try numbers(after: number, limit: limit, examined: most, of: filter, containing: part)
      var rows: [IndexRow] = []
      for number in found.numbers {
        guard let row = try rowWithinReading(number) else { throw .damaged("an entry is missing") }
        rows.append(row)
      }
      return (rows, found.next)
    }
  }

  /// The numbers of some of the entries up to `last`, the lowest first.
  package func numbers(through last: UInt32, limit: Int) throws(IndexProblem) -> [UInt32] {
    try connection.statement(.numbers, last, limit).all { (row) throws(IndexProblem) in try row.integer() }
  }

  /// The number of the entry that was stored last; zero when there is none.
  package func lastNumber() throws(IndexProblem) -> UInt32 {
    try connection.statement(.lastNumber).first { (row) throws(IndexProblem) in try row.integer() } ?? 0
  }

  private func untaggedRow(_ number: UInt32) throws(IndexProblem) -> IndexRow? {
    let row = try connection.statement(.untaggedRow, number).first { (row) throws(IndexProblem) in
      try row.row(of: row.entry())
    }
    guard let row, !row.record.tags.isEmpty else { return row }
    throw tagsChanged(number)
  }

  private func tagsChanged(_ number: UInt32) -> IndexProblem {
    .damaged("the tags of picture \(number) have been changed")
  }

  private func rowWithinReading(_ number: UInt32) throws(IndexProblem) -> IndexRow? {
    guard let entry = try entry(number: number) else { return nil }
    let tags = try tags(of: number)
    let row = try connection.statement(.row, number).first { (row) throws(IndexProblem) in try row.row(of: entry) }
    guard let row else { throw .damaged("an entry has no picture") }
    guard row.record.tags.elementsEqual(tags, by: sameBytes) else { throw tagsChanged(number) }
    return row
  }

  private func entry(number: UInt32) throws(IndexProblem) -> DiskEntry? {
    try connection.statement(.entryByNumber, number).first { (row) throws(IndexProblem) in try row.entry() }
  }

  private func tags(of number: UInt32) throws(IndexProblem) -> [String] {
    try connection.statement(.tags, number).all { (row) throws(IndexProblem) in try row.text() }
  }

  private func numbers(
    after number: UInt32, limit: Int, examined most: Int, of filter: PurgeFilter, containing part: URLPart?
  ) throws(IndexProblem) -> (numbers: [UInt32], next: UInt32?) {
    let statement: Statement
    if let url = filter.url {
      statement = try connection.statement(.pageOfURL, number)
      statement.bind(url.text)
    } else if let tag = filter.tag {
      statement = try connection.statement(.pageOfTags, number)
      let name = String(decoding: EntryTags.name(of: tag), as: UTF8.self)
      for text in [tag, name, EntryTags.tag(ofGroup: name), EntryTags.every] { statement.bind(text) }
    } else {
      statement = try connection.statement(.pageURLs, number)
    }
    defer { statement.reset() }
    var numbers: [UInt32] = []
    var (last, examined) = (number, 0)
    while try statement.step() {
      // The end is only seen by reading one more row than is wanted.
      if examined >= most || numbers.count >= limit { return (numbers, last) }
      last = try statement.integer()
      let url = try statement.text()
      examined += 1 + (part == nil ? 0 : url.utf8.count / URLPart.bytesOfOneEntry)
      if filter.matchesURL(url.utf8.span), part?.isIn(url.utf8.span) ?? true { numbers.append(last) }
    }
    return (numbers, nil)
  }
}

/// One entry with everything that its rows in the index file hold.
package struct IndexRow: Sendable, Equatable {
  /// The number that the index gives the entry, never twice; with the digest it names the file.
  package var number: UInt32 = 0
  package var record: StoredRecord
  /// The URL's host in lower case; an IPv6 address in brackets.
  package var host: String
  /// The extension of the file's name.
  package var suffix: String
  /// The bytes that the file takes on disk.
  package var allocated = 0
  /// In seconds since 1970.
  package var lastAccess: Int64
  /// Whether the bytes have gone; the record says what they were.
  package var isAway = false

  var file: PictureFile? { PictureFile(digest: record.digest, number: number, suffix: suffix) }

  /// The row with its numbers in range, and the host and the tags as they would be read back.
  var sane: IndexRow {
    var sane = self
    sane.record = record.sane
    sane.host = HostOrder(host).host
    return sane
  }

  /// The seal over the columns of `picture`, and over what ties them to the entry.
  func seal(_ encoded: [UInt8]) -> UInt64 {
    var seal = RowSeal()
    seal.add(number)
    seal.add(record.digest.high)
    seal.add(record.digest.low)
    for name in [record.url, host, suffix] { seal.add(name) }
    seal.add(record.identifier)
    seal.add(encoded.span)
    return seal.finish()
  }
}

/// An entry that a search has found.
package struct IndexMatch: Sendable, Equatable {
  package let number: UInt32
  package let digest: KeyDigest
  package let allocated: Int
}
