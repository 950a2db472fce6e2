import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// What one release leaves to the next on this machine: the index with its pictures, the handover of the memory tier, and
/// purges that are owed. An earlier release's is read exactly, a later one's is set aside.
struct LayoutTests {
  // MARK: The index

  private static let bytes = body(1_500)

  /// A plain picture with its file, a form of it, an answer for other headers that is a user's own, and a picture whose
  /// bytes have gone.
  private static let rows: [IndexRow] = {
    func row(_ url: String, _ change: (inout StoredRecord) -> Void = { _ in }) -> IndexRow {
      var record = sampleRow(1, url: url, tags: ["red"]).record
      record.url = url
      record.digest = KeyDigest(url: url, identifier: nil)
      record.facts = ImageFacts(format: 1, width: 8, height: 8, frames: 1, orientation: 1)
      record.flags = [.plain]
      change(&record)
      var row = IndexRow(record: record, host: "example.org", suffix: "png", lastAccess: 1_800_000_100)
      row.allocated = 4_096
      return row
    }
    let picture = row(url(1)) { record in
      (record.bytes, record.checksum) = (bytes.count, BodyChecksum(of: Payload(bytes)))
      (record.storedAt, record.freshUntil, record.lifetimeMs) = (1_800_000_000, 1_900_000_000, 100_000_000_000)
      record.headers = StoredHeaders([("etag", "\"1\"")]).packed
      (record.owner, record.initialAgeMs) = (1_000, 0)
    }
    var form = row(url(1)) { record in
      record.variant = KeyVariant(high: 1, low: 2)
      record.digest = KeyDigest(url: record.url, identifier: nil, variant: record.variant)
      record.flags = [.form]
      record.place = VariantPlace(owner: nil, rest: Digest128(high: 3, low: 4))
      record.description = [1, 2, 3]
    }
    form.suffix = "webp"
    let special = row(url(2)) { record in
      (record.identifier, record.variant) = ("thumb é", KeyVariant(high: 5, low: .max))
      record.digest = KeyDigest(url: record.url, identifier: record.identifier, variant: record.variant)
      record.varying = StoredHeaders([("accept", "image/png")]).packed
      (record.redirectTarget, record.ifErrorMs) = ("https://elsewhere.example/", 0)
      record.flags = [.needsConfirmation, .mustRevalidate, .immutable, .publicAddress, .openOnlyWhileFresh]
    }
    var away = row(url(3))
    away.isAway = true
    return [picture, form, special, away]
  }()

  private static let removals: [RemovalOrder] = {
    var named = PurgeFilter()
    (named.tag, named.host, named.olderThan) = ("t", "gone.example", .seconds(5))
    return [RemovalOrder(named, isSoft: true, askedAt: 1_800_000_001, keepUntil: 1_800_000_061)]
  }()

  /// Fills a new index with all that an index may hold.
  private static func fill(_ sample: SampleIndex) throws {
    let index = try sample.open()
    // Numbers begin anywhere.
    try index.connection.execute("UPDATE sqlite_sequence SET seq = 0")
    try index.add(rows + [sampleRow(9)])
    try index.write { () throws(IndexProblem) in
      for order in removals { _ = try index.removals.add(order, ceiling: 2) }
      _ = try index.unlinks.retire([5]) { _ in 1_800_000_099 }
      try index.fleet.put(FleetRowsTests.position)
      for purge in FleetRowsTests.purges { try index.fleet.put(purge) }
    }
    try index.close(clean: true)
  }

  /// All of a database in SQL.
  private static func dump(_ path: String) throws -> String {
    let connection = try Connection(path: path, isReadOnly: true)
    defer { connection.close() }
    func words(_ text: String) throws -> [String] {
      try connection.prepare(text).all { (row) throws(IndexProblem) in try row.text() }
    }
    let isOwn = "FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*'"
    var lines = try words("SELECT sql \(isOwn) ORDER BY name")
    for table in try words("SELECT name \(isOwn) AND type = 'table' ORDER BY name") {
      let columns = try words("SELECT 'quote(' || name || ')' FROM pragma_table_info('\(table)')")
      let row = columns.joined(separator: " || ',' || ")
      lines += try words("SELECT 'INSERT INTO \(table) VALUES(' || \(row) || ')' FROM \(table) ORDER BY 1")
    }
    for name in ["application_id", "user_version"] { lines.append("PRAGMA \(name) = \(try connection.number(name))") }
    return lines.map { $0 + ";\n" }.joined()
  }

  /// Makes the database of a text.
  private static func make(_ fixture: LayoutFixture, at path: String) throws {
    try overwrite(path, [])
    let connection = try Connection(path: path, isReadOnly: false)
    for statement in try fixture.text.split(separator: ";\n") { try connection.execute(String(statement)) }
    connection.close()
  }

  @Test func `an index is written in the layout that its number says`() throws {
    let sample = try SampleIndex()
    try Self.fill(sample)
    let now = try Self.dump(sample.path)
    let fixture = try LayoutFixture("index-\(IndexSchema.version).sql", ofNow: now)
    #expect(try fixture.text == now, "\(layoutHasChanged)")
  }

  @Test(arguments: LayoutFixture.all("index"))
  func `an index of each release is read, row by row`(fixture: LayoutFixture) throws {
    let (sample, written) = (try SampleIndex(), try SampleIndex())
    try Self.fill(written)
    try Self.make(fixture, at: sample.path)
    #expect(try sample.contents() == written.contents())
    #expect(try sample.open().fleet.all() == written.open().fleet.all())
  }

  @Test(arguments: LayoutFixture.all("index"))
  func `the pictures of each release are shown`(fixture: LayoutFixture) throws {
    let stage = try TierStage(.roomy) { place in
      let directory = try place.open()
      try Self.make(fixture, at: directory.indexPath)
      for (number, row) in Self.rows.enumerated() where !row.isAway {
        let file = PictureFile(digest: row.record.digest, number: UInt32(number + 1), suffix: row.suffix)
        try directory.store(number == 0 ? Self.bytes : [1], as: try #require(file))
      }
    }
    let found = try #require(stage.fetch(url(1)))
    #expect(found.payload.bytes == Self.bytes && found.tags == ["red"] && found.response.entityTag == "\"1\"")
    #expect(found.facts == Self.rows[0].record.facts && found.isFresh(at: stage.now))
    #expect(stage.news.troubles == [] && stage.tier.counts.corrupt == 0)
  }

  // MARK: The handover

  private static let handover: HandoverIndex = {
    let bodies: [HandoverEntry.Body] = [
      .packed(0), .memory(FileStatus.Identity(device: 1, inode: 2)), .packed(7), .away,
    ]
    let entries = zip(rows, bodies).map { row, body in
      HandoverEntry(
        record: RecordCodec.encode(row.record.sane) ?? [], number: 7, lastAccess: 1_800_000_100, isStale: false,
        body: body)
    }
    return HandoverIndex(isClean: true, pack: FileStatus.Identity(device: 3, inode: 4), entries: entries)
  }()

  @Test func `a handover is written in the layout that its number says`() throws {
    let now = LayoutFixture.hex(Self.handover.encoded())
    let fixture = try LayoutFixture("handover-\(HandoverIndex.version).hex", ofNow: now)
    #expect(try fixture.text == now, "\(layoutHasChanged)")
  }

  @Test(arguments: LayoutFixture.all("handover"))
  func `a handover of each release is read, and its pictures are in memory`(fixture: LayoutFixture) throws {
    var index = try HandoverIndex.decode(fixture.bytes)
    #expect(index == Self.handover)
    // A memfd has no place in a text.
    let pack = try Payload(Self.bytes).shareable()
    index.pack = pack.identity
    let tier = MemoryTier.holding(100 << 20)
    _ = try tier.takeOver(
      index: try Payload(index.encoded()).shareable(), bodies: [pack], at: at(0), wall: 1_800_000_200)
    let found = try #require(tier.peek(key(url(1))))
    #expect(found.payload.bytes == Self.bytes && found.tags == ["red"] && found.isFresh(at: at(0)))
  }

  @Test func `a handover in a later or an unknown layout is not taken over`() throws {
    let bytes = Self.handover.encoded()
    for version in [HandoverIndex.version - 1, HandoverIndex.version + 1, 0, .max] {
      var other = bytes
      (other[16], other[17]) = (UInt8(truncatingIfNeeded: version), UInt8(version >> 8))
      #expect(throws: HandoverProblem.otherLayout) { try HandoverIndex.decode(resealed(other)) }
    }
  }

  // MARK: Purges that are owed

  @Test func `purges that are owed are written in the layout that its number says`() throws {
    let now = LayoutFixture.hex(OwedCodec.encode(Self.removals))
    let fixture = try LayoutFixture("owed-purges-\(OwedCodec.version).hex", ofNow: now)
    #expect(try fixture.text == now, "\(layoutHasChanged)")
  }

  @Test(arguments: LayoutFixture.all("owed-purges"))
  func `purges that are owed are read of each release`(fixture: LayoutFixture) throws {
    #expect(OwedCodec.decode(try fixture.bytes) == Self.removals)
  }
}
