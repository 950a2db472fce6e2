import ImgdSystem
import Testing

@testable import ImgdCache

/// The answers to one name, and which of them a request may be shown.
struct VariantTableTests {
  private static let name = key("http://h/a")

  /// The answer to a request with these headers.
  private func answer(
    _ serial: UInt64, _ vary: String, _ sent: HeaderList, to base: CacheKey = name,
    storedAt: Int64 = 0
  ) -> CachedImage {
    let key = CacheKey(
      url: base.url, identifier: base.identifier,
      variant: KeyVariant(identifier: base.identifier, fields: sent, uid: 7), scope: base.scope)
    let headers = [(name: "vary", value: vary)]
    return CachedImage.make(
      key: key,
      body: ImageBody(
        Payload([1]), facts: ImageFacts(format: 1, width: 8, height: 8, frames: 1, orientation: 1)),
      answer: ImageAnswer(
        StoredResponse(status: 200, headers: headers),
        freshness: Freshness(status: 200, headers: headers, receivedAt: 0),
        vary: VaryOutcome(
          varying: varyingNames(headers), fields: SentFields(sent), owner: base.variant)),
      serial: serial, stored: StoredMoment(at(storedAt), wall: storedAt))
  }

  private func add(
    _ image: CachedImage, to table: inout VariantTable
  ) throws -> VariantTable.Changes {
    let changes = table.add(image, isComplete: true)
    return try #require(changes)
  }

  private func shown(
    _ table: inout VariantTable, _ sent: HeaderList, to base: CacheKey = name
  ) -> [UInt64] {
    table.fitting(base) { SentFields(sent) }.map(\.serial)
  }

  @Test func `an answer fits requests that differ in what its origin does not look at`() {
    var table = VariantTable()
    _ = table.add(answer(1, "Accept-Encoding", [("accept", "image/webp")]), isComplete: true)
    #expect(shown(&table, []) == [1])
    #expect(shown(&table, [("accept", "image/avif"), ("dpr", "2"), ("sec-ch-width", "3")]) == [1])
    #expect(shown(&table, [("dnt", "1")]) == [1])
    #expect(shown(&table, [("accept-encoding", "br")]) == [])
    #expect(shown(&table, [("x-forwarded-host", "evil")]) == [])
    #expect(shown(&table, [("user-agent", "x")]) == [])
    #expect(shown(&table, [], to: key("http://h/b")) == [])
  }

  @Test func `an answer for a field of a client's own fits its like alone`() {
    var table = VariantTable()
    let evil: HeaderList = [("x-forwarded-host", "evil")]
    _ = table.add(answer(1, "Accept", evil), isComplete: true)
    #expect(shown(&table, []) == [])
    #expect(shown(&table, [("x-forwarded-host", "other")]) == [])
    #expect(shown(&table, evil + [("accept-language", "de")]) == [1])
    #expect(shown(&table, evil + [("accept", "a/a")]) == [])
  }

  @Test func `the one that came last comes first, whatever it depends on`() {
    var table = VariantTable()
    let webp: HeaderList = [("accept", "image/webp")]
    _ = table.add(answer(1, "Accept", webp), isComplete: true)
    _ = table.add(answer(3, "Accept-Language", webp + [("dpr", "2")]), isComplete: true)
    _ = table.add(answer(2, "Accept-Charset", [("accept", "a/b")]), isComplete: true)
    #expect(shown(&table, webp) == [2, 3, 1])
    #expect(shown(&table, [("accept", "c/d")]) == [2, 3])
  }

  @Test func `an answer takes the place of what the same requests were shown`() throws {
    var table = VariantTable()
    let old = answer(1, "Accept", [("accept", "a/a,b/b")])
    _ = table.add(old, isComplete: true)
    let new = answer(2, "Accept", [("accept", "b/b;q=1, a/a")])
    #expect(new.key != old.key)
    let changes = try add(new, to: &table)
    #expect(changes.displaced == [old.key] && changes.forgotten == [])
    #expect(shown(&table, [("accept", "a/a,b/b")]) == [2])
    #expect(table.add(old, isComplete: true) == nil, "a later transfer has overtaken it")
    #expect(shown(&table, [("accept", "a/a,b/b")]) == [2])
  }

  @Test func `another answer under the same key displaces nothing`() throws {
    var table = VariantTable()
    _ = table.add(answer(1, "DNT", [("dnt", "1")]), isComplete: true)
    let changes = try add(answer(2, "DNT", [("dnt", "0")]), to: &table)
    #expect(changes.displaced.isEmpty)
    #expect(table.variants(of: Self.name).map(\.serial) == [2])
  }

  @Test func `an older answer to a plain request gives way to one that fits it`() throws {
    var table = VariantTable()
    let plain = answer(1, "Accept", [])
    _ = table.add(plain, isComplete: true)
    let german: HeaderList = [("accept-language", "de")]
    let other = try add(answer(2, "Accept", german), to: &table)
    #expect(other.displaced == [plain.key], "it has the same value: none")
    _ = table.add(answer(3, "Accept", []), isComplete: true)
    let webp: HeaderList = [("accept", "image/webp")]
    let changes = try add(answer(4, "Accept-Language", webp), to: &table)
    #expect(changes.displaced == [plain.key])
    let unfit = try add(answer(5, "Accept", webp), to: &table)
    #expect(unfit.displaced.isEmpty)
  }

  @Test func `of nine answers the oldest goes`() throws {
    var table = VariantTable()
    for number in 1...8 {
      let changes = try add(
        answer(UInt64(number), "Accept", [("accept", "a/\(number)")]), to: &table)
      #expect(changes.displaced.isEmpty)
    }
    let changes = try add(answer(9, "Accept", [("accept", "a/9")]), to: &table)
    #expect(changes.displaced == [answer(1, "Accept", [("accept", "a/1")]).key])
    #expect(shown(&table, [("accept", "a/1")]) == [] && shown(&table, [("accept", "a/2")]) == [2])
  }

  @Test func `identifiers, their users and credentials part`() {
    var table = VariantTable()
    let user = { (uid: UInt32) in
      CacheKey(
        url: Self.name.url, identifier: "i", variant: KeyVariant(identifier: "i", uid: uid))
    }
    let secret = CacheKey(
      url: Self.name.url,
      scope: CredentialScope(uid: 1, credentials: [("authorization", "a")]))
    let bases = [Self.name, user(7), user(8), secret]
    for (number, base) in bases.enumerated() {
      _ = table.add(answer(UInt64(number), "Accept", [], to: base), isComplete: true)
    }
    for (number, base) in bases.enumerated() {
      #expect(shown(&table, [], to: base) == [UInt64(number)])
    }
  }

  // MARK: The disk

  @Test func `what the disk has comes behind what this process has stored`() throws {
    var table = VariantTable()
    let base = Self.name
    _ = table.add(answer(4, "Accept", [("accept", "a/4")]), isComplete: false)
    #expect(!table.isComplete(base))
    let rows = [
      answer(0, "Accept", [("accept", "a/1")], storedAt: 1),
      answer(0, "Accept", [("accept", "a/2")], storedAt: 2),
      answer(0, "Accept", [("accept", "A/4")], storedAt: 3),
    ]
    let changes = table.learn(rows.compactMap { Variant($0) }, of: base)
    #expect(table.isComplete(base))
    #expect(changes.displaced == [rows[2].key], "a newer one has its place")
    #expect(table.variants(of: base).map(\.storedAt) == [0, 2, 1])
  }

  @Test func `a name of which the disk has nothing leaves nothing behind`() {
    var table = VariantTable()
    _ = table.learn([], of: Self.name)
    #expect(table.count == 0 && table.bytes == 0)
  }

  @Test func `a record is an answer to the same requests as its image`() throws {
    let image = answer(1, "Accept", [("accept", "B/b"), ("x-a", "1")])
    let record = try #require(StoredRecord(image, wall: 0, at: at(0)))
    let variant = try #require(Variant(record))
    #expect(variant.isStill(image) && variant.key(below: Self.name) == image.key)
    #expect(record.isNamed(Self.name) && !record.isNamed(key("http://h/b")))
    #expect(record.baseTag == Self.name.digest?.tag)
    let made = image.derived(
      key: image.key.made(of: image.checksum, form: "x"),
      body: ImageBody(Payload([1]), facts: image.facts, checksum: .unknown), checked: 0)
    // A form is one of its picture, and no answer to the name.
    let form = try #require(StoredRecord(made, wall: 0, at: at(0)))
    #expect(made.base == nil && form.baseTag == image.digest?.formBase)
    #expect(Variant(form) == nil && !form.isNamed(Self.name))
  }

  // MARK: Room

  @Test func `names go that were asked for longest ago, and are counted to the byte`() throws {
    var table = VariantTable(mostBytes: 2_000)
    var forgotten: [CacheKey] = []
    for number in 0..<100 {
      let image = answer(1, "Accept", [], to: key("http://h/\(number)"))
      forgotten += try add(image, to: &table).forgotten
      #expect(table.bytes <= 2_000)
      _ = shown(&table, [], to: key("http://h/0"))
    }
    #expect(forgotten.first == key("http://h/1"))
    #expect(forgotten.count + table.count == 100)
    #expect(shown(&table, [], to: key("http://h/0")) == [1])
    #expect(shown(&table, [], to: key("http://h/99")) == [1])
    var place: Int? = 0
    for _ in 0..<1_000 {
      place = place.flatMap { start in
        table.prune(PurgeFilter(), from: start, most: 2) { _, _ in false }
      }
    }
    #expect(place == nil)
    #expect(table.count == 0 && table.bytes == 0)
  }

  @Test func `a purge forgets what it means and is not held`() {
    var table = VariantTable()
    let bases = ["http://h/a", "http://h/b", "http://g/a"].map { key($0) }
    for base in bases { _ = table.add(answer(1, "Accept", [], to: base), isComplete: true) }
    var filter = PurgeFilter()
    filter.host = "h"
    let next = table.prune(filter, from: 0, most: 10) { base, _ in base == bases[1] }
    #expect(next == nil)
    #expect(bases.map { table.variants(of: $0).count } == [0, 1, 1])
    #expect(!table.isComplete(bases[1]) && table.isComplete(bases[2]))
  }
}
