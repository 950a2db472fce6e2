import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// Purges on a disk that refuses every write: they are written down beside it.
struct TierOwedPurgeTests {
  private static let gone = [url(0), url(2)]
  private static let kept = [url(1), url(3)]

  /// The names of files that purges are written down in, in both places.
  private func owedFiles(_ stage: TierStage) throws -> [String] {
    let all = try names(stage.runtime) + names(stage.place.path)
    return all.filter { $0.hasPrefix("purges-") }
  }

  /// Puts a directory in the place of each file that a purge could be written down in.
  private func obstruct(_ path: String, _ stage: TierStage) throws {
    let digest = KeyDigest(url: stage.place.path, identifier: nil).hex
    try Directory.make("\(path)/purges-\(digest)", permissions: 0o700)
  }

  // MARK: A kill

  @Test(arguments: [false, true])
  func `a kill while the disk refuses every write brings nothing back`(everything: Bool) throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    #expect(stage.outcome(of: everything ? PurgeFilter() : TierStage.tagged) == .pending)
    #expect(stage.fetch(url(0)) == nil)
    #expect(try owedFiles(stage).count == 1)
    try stage.crash(turning: false)
    try stage.letGo(lock)
    stage.pass(.seconds(2))
    for url in Self.gone { #expect(stage.fetch(url) == nil) }
    for url in Self.kept { #expect((stage.fetch(url) == nil) == everything) }
    #expect(try stage.pictures().count == (everything ? 0 : 2))
    #expect(try owedFiles(stage) == [])
    #expect(stage.parts.removals.isIdle)
  }

  @Test func `the disk may refuse the next process too`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    #expect(stage.outcome(of: TierStage.tagged) == .pending)
    try stage.crash()
    stage.pass(.seconds(3))
    #expect(stage.fetch(url(0)) == nil)
    try stage.crash()
    try stage.letGo(lock)
    stage.pass(.seconds(20))
    for url in Self.gone { #expect(stage.fetch(url) == nil) }
    for url in Self.kept { #expect(stage.fetch(url) != nil) }
    #expect(try owedFiles(stage) == [])
  }

  @Test func `a soft purge outlives a kill, too`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    #expect(stage.outcome(of: TierStage.tagged, soft: true) == .pending)
    try stage.crash(turning: false)
    try stage.letGo(lock)
    stage.pass(.seconds(2))
    #expect(stage.fetch(url(0))?.isStale == true)
    #expect(stage.fetch(url(1))?.isStale == false)
  }

  @Test func `an orderly stop writes it down, too`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    #expect(stage.outcome(of: TierStage.tagged) == .pending)
    stage.end()
    try stage.letGo(lock)
    #expect(try owedFiles(stage).count == 1)
    try stage.begin(at: TierStage.start)
    for url in Self.gone { #expect(stage.fetch(url) == nil) }
    for url in Self.kept { #expect(stage.fetch(url) != nil) }
    #expect(try owedFiles(stage) == [])
  }

  @Test func `a purge while there is no directory is not lost`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    stage.end()
    let away = stage.place.root + "/away"
    #expect(rename(stage.place.path, away) == 0)
    // A file in its place, so that it cannot be made.
    #expect(symlink("/nowhere", stage.place.path) == 0)
    try stage.begin(at: TierStage.start)
    #expect(stage.outcome(of: TierStage.tagged) == .pending)
    try stage.crash()
    #expect(unlink(stage.place.path) == 0 && rename(away, stage.place.path) == 0)
    stage.pass(.seconds(3))
    for url in Self.gone { #expect(stage.fetch(url) == nil) }
    for url in Self.kept { #expect(stage.fetch(url) != nil) }
  }

  // MARK: Afterwards

  @Test func `what is stored after the disk works again is not purged at the next start`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    #expect(stage.outcome(of: TierStage.tagged) == .pending)
    try stage.letGo(lock)
    stage.pass(.seconds(2))
    #expect(stage.tier.state == .ok)
    #expect(try owedFiles(stage) == [])
    stage.store(photo(url(0), tags: ["t"], on: stage))
    try stage.crash()
    #expect(stage.fetch(url(0)) != nil)
  }

  @Test func `purges of another cache directory are left alone`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    stage.end()
    OwedFileSample.write(
      RemovalOrder(PurgeFilter(), isSoft: false, askedAt: 0), runtime: stage.runtime,
      cache: stage.place.path + "2")
    try stage.begin(at: TierStage.start)
    #expect(stage.tier.count == 4)
    #expect(try owedFiles(stage).count == 1)
  }

  /// However long it has been ill.
  @Test func `the disk is tried again within ten seconds`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    #expect(stage.outcome(of: TierStage.tagged) == .pending)
    stage.pass(.seconds(150))
    #expect(stage.tier.state == .down)
    try stage.letGo(lock)
    stage.pass(.seconds(10))
    #expect(stage.tier.state == .ok)
  }

  // MARK: Where it is written

  @Test func `without a runtime directory the cache directory may do`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    try obstruct(stage.runtime, stage)
    #expect(stage.outcome(of: TierStage.tagged) == .pending)
    try stage.crash(turning: false)
    try stage.letGo(lock)
    stage.pass(.seconds(2))
    for url in Self.gone { #expect(stage.fetch(url) == nil) }
  }

  @Test func `a purge that can be written down nowhere is not answered as if it could`() throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    let lock = try stage.lockIndex()
    for path in [stage.runtime, stage.place.path] { try obstruct(path, stage) }
    guard case .unrecorded(let reason, isFull: false) = stage.outcome(of: TierStage.tagged) else {
      Issue.record("a kill would undo it")
      return
    }
    #expect(reason.contains("purges-"))
    // It is in force all the same, and carried out when it can be.
    #expect(stage.fetch(url(0)) == nil)
    try stage.letGo(lock)
    stage.pass(.seconds(2))
    for url in Self.gone { #expect(stage.fetch(url) == nil) }
    for url in Self.kept { #expect(stage.fetch(url) != nil) }
  }

  /// A later version may have owed the purge of anything.
  @Test(arguments: ["of a later version", "cut", "empty"])
  func `owed purges that cannot be read are one of everything`(kind: String) throws {
    let stage = try TierStage.withTagged(.limits(lease: .zero))
    stage.end()
    var bytes = OwedCodec.encode([RemovalOrder(TierStage.tagged, isSoft: false, askedAt: 1)])
    switch kind {
    case "cut": bytes.removeLast()
    case "empty": bytes = []
    default:
      bytes[8] += 1
      bytes = resealed(bytes)
    }
    let file = "\(stage.runtime)/purges-\(KeyDigest(url: stage.place.path, identifier: nil).hex)"
    try overwrite(file, bytes)
    try stage.begin(at: TierStage.start)
    for number in 0..<4 { #expect(stage.fetch(url(number)) == nil) }
    #expect(stage.news.troubles.count == 1 && stage.news.troubles[0].contains("everything"), "\(stage.news.troubles)")
    #expect(access(file, F_OK) != 0 && stage.tier.state == .ok)
    // From then on it works as ever.
    stage.store(photo(url(1), on: stage))
    try stage.restart()
    #expect(stage.fetch(url(1)) != nil && stage.news.troubles == [])
  }
}

enum OwedFileSample {
  static func write(_ order: RemovalOrder, runtime: String, cache: String) {
    try? OwedFile(runtime: runtime, cache: cache).write([order])
  }
}
