import Glibc
import ImgdSystem
import Testing

@testable import ImgdCache

/// Pictures whose bytes go before their forms.
struct SheddingTests {
  private static let block = 4_096
  /// What a picture takes without its form.
  private static let size = 40_960

  /// A picture of a tier, and a form of it.
  private struct Pair {
    let picture: CachedImage
    let form: CachedImage

    init(_ url: String, seed: Int = 0, tags: [String] = [], on stage: TierStage) {
      picture = photo(
        url, body(SheddingTests.size, seed), tags: tags, on: stage)
      form = picture.form(on: stage)
    }
  }

  private static func body(_ count: Int, _ seed: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7 + seed) }
  }

  /// So many pictures, the lower the number the longer ago, each with its form.
  private static func filled(
    _ count: Int = 6, tags: [String] = [], _ limits: DiskLimits = .roomy
  ) throws -> TierStage {
    let stage = try TierStage(limits)
    for number in 0..<count {
      let pair = Pair(url(number), tags: tags, on: stage)
      stage.store(pair.picture)
      stage.store(pair.form)
      stage.jump(.seconds(1))
    }
    return stage
  }

  /// Room for all forms and facts, and for one picture or so.
  private static func tight(_ shedsOriginals: Bool = true) -> DiskLimits {
    DiskLimits(
      capacity: .bytes(80_000), trimToPercent: 100, maxAge: nil, minFree: .bytes(0),
      lease: .seconds(60), shedsOriginals: shedsOriginals)
  }

  /// Room for the forms and the facts of so many pictures.
  private static func room(forFormsOf count: Int) -> DiskLimits {
    .limits(capacity: count * (block + 1_024), trimTo: 100)
  }

  private static func numbers(_ stage: TierStage, where isMeant: (CachedImage) -> Bool) -> [Int] {
    (0..<6).filter { stage.fetch(url($0)).map(isMeant) ?? false }
  }

  private func form(of number: Int, on stage: TierStage) -> CachedImage? {
    guard let picture = stage.fetch(url(number)) else { return nil }
    return stage.fetch(picture.formKey)
  }

  @Test func `bytes of pictures go first, and forms and facts stay`() throws {
    let stage = try Self.filled()
    stage.apply(Self.tight())
    #expect(stage.tier.count == 12 && stage.tier.recordCount >= 5)
    #expect(stage.tier.allocated <= 80_000)
    #expect(stage.news.evicted == stage.tier.recordCount)
    let picture = try #require(stage.fetch(url(0)))
    #expect(!picture.hasBody && picture.byteCount == Self.size)
    #expect(stage.tier.add(picture) == .lost)
    #expect(picture.response.entityTag == "\"1\"" && picture.isFresh(at: stage.now))
    for number in 0..<6 { #expect(form(of: number, on: stage)?.hasBody == true) }
    #expect(try stage.pictures().count == 12 - stage.tier.recordCount)
  }

  @Test func `facts alone are charged a kilobyte`() throws {
    let stage = try Self.filled()
    stage.apply(.limits(capacity: 1))
    // Not even the forms have room: they go, and then the facts.
    #expect(stage.tier.count == 0)
    let other = try Self.filled()
    other.apply(Self.room(forFormsOf: 6))
    #expect(other.tier.recordCount == 6 && other.tier.allocated == 6 * (Self.block + 1_024))
  }

  @Test func `a picture that was handed out keeps its bytes for longer than others`() throws {
    let stage = try Self.filled()
    _ = stage.fetch(url(0))
    stage.apply(Self.tight())
    #expect(Self.numbers(stage) { $0.hasBody } == [0])
  }

  @Test func `the use of a form does not keep the bytes of its picture`() throws {
    let stage = try Self.filled()
    _ = stage.tier.glance(at: key(url(0)), countsAsUse: true)
    stage.apply(Self.tight())
    #expect(Self.numbers(stage) { $0.hasBody } == [5])
  }

  @Test func `what has no forms goes whole, after the bytes of what has`() throws {
    let stage = try Self.filled()
    stage.store(photo(url(7), Self.body(Self.size, 7), on: stage))
    stage.apply(.limits(capacity: 6 * (Self.block + 1_024) + Self.size, trimTo: 100))
    #expect(stage.tier.recordCount == 6 && stage.tier.count == 13)
    for number in 0..<6 { _ = form(of: number, on: stage) }
    stage.apply(Self.room(forFormsOf: 6))
    #expect(stage.fetch(url(7)) == nil && stage.tier.count == 12)
  }

  @Test func `a picture is kept whole where that is wanted, and its forms go with it`() throws {
    let stage = try Self.filled()
    stage.apply(Self.tight(false))
    #expect(stage.tier.recordCount == 0)
    let left = Self.numbers(stage) { $0.hasBody }
    #expect(!left.isEmpty && left.count < 6)
    #expect(stage.tier.count == 2 * left.count)
    #expect(try stage.pictures().count == stage.tier.count)
  }

  @Test func `a picture whose path was handed out keeps its file`() throws {
    let stage = try Self.filled()
    let picture = try #require(stage.fetch(url(0)))
    #expect(stage.lend(picture) == .lent)
    stage.apply(Self.room(forFormsOf: 6))
    #expect(Self.numbers(stage) { $0.hasBody } == [0])
    let path = try #require(picture.file?.path)
    stage.pass(.seconds(120))
    stage.apply(.limits(capacity: 6 * (Self.block + 1_024) - 1, trimTo: 100))
    #expect(access(path, F_OK) != 0)
  }

  @Test func `facts and forms outlive a restart and a kill`() throws {
    let stage = try Self.filled()
    stage.apply(Self.tight())
    let records = stage.tier.recordCount
    for isKill in [false, true, true] {
      if isKill { try stage.crash() } else { try stage.restart() }
      stage.pass(.seconds(2))
      #expect(stage.tier.count == 12 && stage.tier.recordCount == records)
      // The bytes that are left go first again.
      #expect(Array(stage.parts.index.sources(sharing: 0)).count == 6 - records)
      for number in 0..<6 { #expect(form(of: number, on: stage) != nil, "\(number)") }
      #expect(stage.news.damaged.isEmpty)
      #expect(try stage.pictures().count == 12 - records)
    }
  }

  @Test func `a kill before the writer has come to it leaves whole pictures`() throws {
    let stage = try Self.filled()
    stage.tier.apply(Self.tight())
    try stage.crash()
    stage.pass(.seconds(2))
    #expect(stage.tier.count == 12 && stage.news.damaged.isEmpty)
    for number in 0..<6 { #expect(form(of: number, on: stage) != nil) }
    #expect(try stage.pictures().count == 12 - stage.tier.recordCount)
  }

  @Test func `a file that a kill has left behind goes with the next start`() throws {
    let stage = try Self.filled(1)
    let number = stage.parts.index[try #require(stage.parts.index.place(of: key(url(0)).digest!))].number
    stage.end()
    let index = try IndexFile(path: stage.place.path + "/1/index.db", access: .readWrite)
    // The commit, and not the file that goes after it.
    try index.write { () throws(IndexProblem) in
      _ = try index.entries.shed([number]) { _ in 0 }
    }
    try index.close(clean: false)
    #expect(try stage.pictures().count == 2)
    try stage.begin(at: TierStage.start + 10)
    stage.pass(.seconds(2))
    #expect(try stage.pictures().count == 1)
    #expect(stage.tier.recordCount == 1 && form(of: 0, on: stage) != nil)
  }

  private static let purges: [@Sendable (inout PurgeFilter) -> Void] = [
    { $0.url = CanonicalURL(canonical: url(0)) }, { $0.tag = "page" },
    { $0.prefix = "https://example.org/" }, { $0.host = "example.org" }, { _ in },
    { $0.olderThan = .seconds(0) }, { $0.expired = true },
  ]

  @Test(arguments: purges.indices)
  func `a purge leaves nothing of facts and forms, also after a kill`(kind: Int) throws {
    let stage = try Self.filled(1, tags: ["page"])
    stage.apply(Self.room(forFormsOf: 1))
    #expect(stage.tier.recordCount == 1)
    stage.jump(.seconds(3_601))
    stage.purge(soft: false, Self.purges[kind])
    #expect(stage.tier.count == 0)
    #expect(try stage.pictures().isEmpty)
    try stage.crash()
    stage.pass(.seconds(2))
    #expect(stage.tier.count == 0)
  }

  @Test func `a tag that a picture got later finds its forms, too`() throws {
    let stage = try Self.filled(1)
    stage.apply(Self.room(forFormsOf: 1))
    let record = try #require(stage.fetch(url(0)))
    stage.tier.renew(confirmed(record, tags: ["late"], on: stage))
    stage.turn()
    stage.purge { $0.tag = "late" }
    #expect(stage.tier.count == 0)
    #expect(try stage.pictures().isEmpty)
  }

  @Test func `forms are as fresh as their picture`() throws {
    let stage = try Self.filled(1)
    stage.apply(Self.room(forFormsOf: 1))
    stage.jump(.seconds(3_601))
    #expect(stage.tier.glance(at: key(url(0)), countsAsUse: false) == nil)
    let record = try #require(stage.fetch(url(0)))
    #expect(!record.isFresh(at: stage.now))
    stage.tier.renew(confirmed(record, on: stage))
    stage.turn()
    #expect(stage.tier.recordCount == 1)
    #expect(stage.tier.glance(at: key(url(0)), countsAsUse: false) != nil)
    // The form's own row is as old as it was.
    stage.purge { $0.expired = true }
    #expect(stage.tier.count == 2)
    try stage.crash()
    #expect(stage.tier.glance(at: key(url(0)), countsAsUse: false) != nil)
    #expect(form(of: 0, on: stage) != nil)
    stage.purge(soft: true) { $0.url = CanonicalURL(canonical: url(0)) }
    #expect(stage.tier.glance(at: key(url(0)), countsAsUse: false) == nil)
    #expect(form(of: 0, on: stage) != nil)
  }

  private func confirmed(_ record: CachedImage, tags: [String] = [], on stage: TierStage)
    -> CachedImage
  {
    record.renewed(
      answer: ImageAnswer(record.response, freshness: record.freshness), tags: tags, serial: 2,
      checked: stage.tier.purges.newest, stored: StoredMoment(stage.now, wall: stage.wall))
  }

  @Test func `the same bytes come back to their forms, and others in their place`() throws {
    let stage = try Self.filled(1)
    stage.apply(Self.room(forFormsOf: 1))
    stage.apply(.roomy)
    stage.store(Pair(url(0), on: stage).picture)
    #expect(stage.tier.recordCount == 0 && stage.fetch(url(0))?.hasBody == true)
    #expect(form(of: 0, on: stage) != nil)
    stage.store(Pair(url(0), seed: 9, on: stage).picture)
    #expect(stage.tier.count == 1 && form(of: 0, on: stage) == nil)
    stage.pass(.seconds(120))
    #expect(try stage.pictures().count == 1)
  }

  @Test func `forms go with a picture that its origin no longer has`() throws {
    let stage = try Self.filled(2)
    stage.apply(Self.room(forFormsOf: 2))
    stage.tier.remove(key(url(0)))
    stage.turn()
    #expect(stage.tier.count == 2 && form(of: 1, on: stage) != nil)
    #expect(try stage.pictures().count == 1)
  }

  @Test func `a removed picture takes as many forms as there are, in parts`() throws {
    let stage = try TierStage()
    let picture = photo(url(0), Self.body(Self.size, 0), on: stage)
    stage.store(picture)
    for number in 0..<600 { stage.tier.add(picture.form("\(number)", on: stage)) }
    stage.turn()
    #expect(stage.tier.count == 601)
    stage.tier.remove(key(url(0)))
    #expect(stage.tier.count == 600)
    stage.turn()
    #expect(stage.tier.count == 0)
    #expect(try stage.pictures().isEmpty)
  }

  @Test func `a picture without its bytes is not lent, and stored again where it may be`() throws {
    let stage = try TierStage()
    let pair = Pair(url(0), on: stage)
    let picture = pair.picture
    stage.store(picture)
    stage.store(pair.form)
    stage.apply(Self.room(forFormsOf: 1))
    stage.apply(.roomy)
    #expect(stage.lend(picture, mayStore: false) == .refused(.lost))
    #expect(!stage.tier.lendAgain(picture))
    #expect(stage.lend(picture) == .lent)
    #expect(stage.tier.recordCount == 0 && form(of: 0, on: stage) != nil)
  }

  @Test func `bytes that go while they are read for somebody are not missed as damage`() throws {
    let stage = try Self.filled(1)
    var found: CachedImage?
    stage.tier.fetch(key(url(0))) { found = $0 }.passOn { found = $0 }
    stage.tier.apply(Self.room(forFormsOf: 1))
    stage.turn()
    #expect(found != nil && stage.tier.count == 2 && stage.news.damaged.isEmpty)
  }

  @Test func `lists say what has no file`() throws {
    let stage = try Self.filled(1)
    stage.apply(Self.room(forFormsOf: 1))
    var page = EntryPage()
    stage.tier.page(after: nil, limit: 9) { page = $0 }
    stage.turn()
    #expect(page.entries.map(\.hasBody) == [false, true])
    #expect(page.entries.map(\.bytes) == [Self.size, 500])
    // A variant of the name is something else.
    #expect(!stage.tier.mayHaveVariants(of: key(url(0))))
    var variants: [Variant]?
    stage.tier.variants(of: key(url(0))) { variants = $0 }
    stage.turn()
    #expect(variants?.isEmpty == true)
  }
}

extension CachedImage {
  fileprivate var formKey: CacheKey { key.made(of: checksum, form: "form 0") }

  /// A form of this picture, as a decoder has made it.
  fileprivate func form(_ name: String = "0", on stage: TierStage) -> CachedImage {
    derived(
      key: key.made(of: checksum, form: "form " + name),
      body: ImageBody(
        Payload([UInt8](repeating: 3, count: 500)),
        facts: ImageFacts(format: 1, width: 2, height: 2, frames: 1, orientation: 1)),
      checked: stage.tier.purges.newest)
  }
}
