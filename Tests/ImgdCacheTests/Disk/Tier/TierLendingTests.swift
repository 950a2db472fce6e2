import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct TierLendingTests {
  private func exists(_ image: CachedImage) -> Bool {
    guard let path = image.file?.path else { return false }
    return access(path, R_OK) == 0
  }

  @Test func `a handed-out path leads to the stored file`() throws {
    let stage = try TierStage()
    let image = photo(url(1), body(5_000), on: stage)
    #expect(stage.lend(image) == .lent)
    let path = try #require(image.file?.path)
    #expect(path.hasPrefix(stage.place.path + "/1/"))
    #expect(path.hasSuffix(".jpg"))
    #expect(try FileStatus.of(path: path).size == 5_000)
    #expect(stage.tier.lentBytes == 5_000)
  }

  @Test func `a picture that is already stored is handed out without a second write`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    let image = try #require(stage.fetch(url(1)))
    #expect(stage.lend(image, mayStore: false) == .lent)
    #expect(exists(image))
    #expect(stage.tier.counts.insertions == 1)
  }

  /// The writer has linked the file, and the loop has not heard of it yet.
  @Test(arguments: ["unlink", "truncate", "chmod"])
  func `a file that is touched before it is known to be stored is not handed out`(
    what: String
  ) throws {
    let stage = try TierStage()
    stage.store(photo(url(1), on: stage))
    let first = Set(try stage.pictures())
    // In the same subdirectory, which is watched by now.
    let shelf = key(url(1)).digest.map(Subdirectory.number)
    let near = try #require(
      (2..<10_000).lazy.map(url).first { key($0).digest.map(Subdirectory.number) == shelf })
    let image = photo(near, on: stage)
    stage.tier.add(image)
    stage.loop.tick(waiting: false)
    var added: String?
    while added == nil { added = try Set(stage.pictures()).subtracting(first).first }
    let path = try #require(added)
    switch what {
    case "unlink": unlink(path)
    case "truncate": truncate(path, 10)
    default: chmod(path, 0o666)
    }
    stage.turn()
    #expect(stage.lend(image, mayStore: false) == .refused(.lost))
  }

  @Test func `a picture that must not be stored is not handed out`() throws {
    let stage = try TierStage()
    #expect(stage.lend(photo(url(1), on: stage), mayStore: false) == .refused(.notWanted))
    let noStore = photo(url(1), headers: [("cache-control", "no-store")], on: stage)
    #expect(stage.lend(noStore) == .refused(.noStore))
    #expect(stage.tier.count == 0)
  }

  @Test(arguments: [false, true])
  func `a purged file stays until its lease is over`(everything: Bool) throws {
    let stage = try TierStage()
    let image = photo(url(1), tags: ["a"], on: stage)
    #expect(stage.lend(image) == .lent)
    let end = stage.parts.leases.lastEnd
    #expect(end >= stage.wall + 60)
    stage.purge { if !everything { $0.tag = "a" } }
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.tier.count == 0)
    stage.pass(.seconds(60))
    #expect(exists(image))
    stage.pass(.seconds(end - stage.wall + 60))
    #expect(!exists(image))
    #expect(try stage.pictures() == [])
  }

  @Test func `a lease outlives a restart`() throws {
    let stage = try TierStage()
    let image = photo(url(1), on: stage)
    #expect(stage.lend(image) == .lent)
    stage.purge()
    try stage.restart(wall: TierStage.start + 50)
    #expect(exists(image))
    stage.pass(.seconds(60))
    #expect(!exists(image))
  }

  @Test func `a picture that is purged while it is written is not handed out`() throws {
    let stage = try TierStage()
    let image = photo(url(1), on: stage)
    var isSettled = false
    #expect(stage.tier.lend(image, mayStore: true) == .waiting)
    stage.tier.whenSettled(image) { isSettled = true }
    stage.purge()
    #expect(isSettled)
    #expect(stage.lend(image, mayStore: false) != .lent)
    #expect(try stage.pictures() == [])
    #expect(stage.parts.stores.isEmpty)
  }

  @Test func `a file that another program removed is written again`() throws {
    let stage = try TierStage()
    let image = photo(url(1), on: stage)
    #expect(stage.lend(image) == .lent)
    let first = try #require(image.file?.path)
    unlink(first)
    stage.jump(.seconds(1))
    #expect(stage.lend(image) == .lent)
    #expect(exists(image))
    #expect(image.file?.path != first)
    #expect(stage.tier.count == 1)
    #expect(try stage.pictures().count == 1)
  }

  @Test func `a file that another program removed is not handed out`() throws {
    let stage = try TierStage()
    let image = photo(url(1), on: stage)
    #expect(stage.lend(image) == .lent)
    unlink(try #require(image.file?.path))
    stage.jump(.seconds(1))
    #expect(stage.lend(image, mayStore: false) == .refused(.lost))
    #expect(stage.tier.count == 0)
  }

  @Test func `a file that another program cut is not handed out`() throws {
    let stage = try TierStage()
    let image = photo(url(1), body(100), on: stage)
    #expect(stage.lend(image) == .lent)
    truncate(try #require(image.file?.path), 50)
    stage.jump(.seconds(1))
    #expect(stage.lend(image, mayStore: false) == .refused(.lost))
    #expect(stage.tier.counts.corrupt == 1)
    #expect(stage.news.damaged.count == 1)
    #expect(try stage.pictures().isEmpty || stage.parts.leases.count == 1)
  }

  @Test func `bytes of an expired lease are not counted`() throws {
    let stage = try TierStage()
    for number in 0..<3 { #expect(stage.lend(photo(url(number), on: stage)) == .lent) }
    #expect(stage.tier.lentBytes == 3_000)
    stage.tier.remove(key(url(0)))
    #expect(stage.tier.lentBytes == 2_000)
    stage.jump(.seconds(60))
    let again = try #require(stage.fetch(url(1)))
    #expect(stage.lend(again) == .lent)
    stage.jump(.seconds(60))
    #expect(stage.tier.lentBytes == 1_000)
    stage.jump(.seconds(120))
    #expect(stage.tier.lentBytes == 0)
  }

  /// An answer that its origin no longer lets all have.
  @Test func `a picture that becomes one user's has no file any more`() throws {
    let stage = try TierStage()
    let image = photo(url(1), on: stage)
    #expect(stage.lend(image) == .lent)
    let scope = CredentialScope(uid: 1, credentials: [("authorization", "mine")])
    let own = CacheKey(url: image.url, scope: scope)
    func renewed(under key: CacheKey?) -> CachedImage {
      image.renewed(
        under: key, answer: ImageAnswer(image.response, freshness: image.freshness), serial: 2,
        stored: StoredMoment(at(1), wall: 1))
    }
    #expect(renewed(under: nil).file === image.file && renewed(under: image.key).file != nil)
    #expect(renewed(under: own).file == nil && renewed(under: own).key == own)
    #expect(stage.tier.lend(renewed(under: own), mayStore: true) == .refused(.credentials))
  }

  /// Numbers begin anew with an index, and so do places.
  @Test func `a file of an earlier index is not mistaken for a new one`() throws {
    let stage = try TierStage()
    let image = photo(url(1), on: stage)
    #expect(stage.lend(image) == .lent)
    TemporaryDirectory.remove(stage.place.path)
    let other = photo(url(2), on: stage)
    #expect(stage.lend(other) == .lent)
    #expect(!stage.tier.holds(image))
    #expect(stage.lend(image, mayStore: false) == .refused(.lost))
    #expect(stage.lend(image) == .lent)
    #expect(exists(image))
  }
}
