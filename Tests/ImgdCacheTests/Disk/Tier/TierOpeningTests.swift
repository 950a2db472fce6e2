import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct TierOpeningTests {
  private static let urls = (0..<20).map { url($0) }

  private func filled(_ limits: DiskLimits = .roomy) throws -> TierStage {
    let stage = try TierStage(limits)
    for (place, url) in Self.urls.enumerated() {
      stage.tier.add(photo(url, body(1_000 + place), tags: ["t\(place)"], on: stage))
    }
    stage.turn()
    return stage
  }

  private func found(_ stage: TierStage) -> [Int] {
    Self.urls.compactMap { stage.fetch($0)?.payload.count }
  }

  private var all: [Int] { Self.urls.indices.map { 1_000 + $0 } }

  // MARK: Restarts

  @Test func `all pictures are found after a restart`() throws {
    let stage = try filled()
    let files = try stage.pictures()
    try stage.restart()
    #expect(stage.tier.parts.index.isLoaded)
    #expect(stage.tier.count == 20)
    #expect(found(stage) == all)
    #expect(try stage.pictures() == files)
    #expect(stage.parts.index.removedWhileLoading.isEmpty)
  }

  @Test func `all pictures are found after a kill`() throws {
    let stage = try filled()
    try stage.crash()
    #expect(stage.tier.count == 20)
    #expect(found(stage) == all)
    #expect(stage.tier.counts.corrupt == 0)
    #expect(try stage.pictures().count == 20)
  }

  @Test func `a new directory is trusted from its first clean stop on`() throws {
    let stage = try TierStage(.roomy)
    try stage.restart()
    #expect(!stage.parts.check.wasNeeded)
  }

  @Test func `a stop during verification leaves the rest to the next start`() throws {
    let stage = try filled()
    let stray = try #require(try stage.pictures().first)
    try stage.crash(turning: false)
    // Opened, and told to end before a single subdirectory has been looked at.
    while stage.tier.isOpening { stage.loop.tick(waiting: true) }
    try stage.restart()
    #expect(stage.parts.check.wasNeeded)
    try stage.restart()
    #expect(!stage.parts.check.wasNeeded)
    #expect(try stage.pictures().contains(stray))
  }

  @Test func `the order of use outlives a restart`() throws {
    let stage = try filled()
    for number in [3, 1, 2] {
      stage.pass(.seconds(1))
      _ = stage.fetch(url(number))
    }
    try stage.restart()
    #expect(recent(stage, 3) == [3, 1, 2])
  }

  @Test func `a kill loses only the latest uses`() throws {
    let stage = try filled()
    stage.pass(.seconds(1))
    _ = stage.fetch(url(3))
    stage.pass(.seconds(10))
    _ = stage.fetch(url(4))
    try stage.crash()
    #expect(recent(stage, 1) == [3])
  }

  /// The pictures that were used last, the very last at the end.
  private func recent(_ stage: TierStage, _ count: Int) -> [Int] {
    let index = stage.parts.index
    let digests = Dictionary(
      uniqueKeysWithValues: Self.urls.indices.map {
        (KeyDigest(url: Self.urls[$0], identifier: nil), $0)
      })
    return index.victims(sharing: 0).suffix(count).compactMap { digests[index[$0].digest] }
  }

  // MARK: Damage

  @Test func `a flipped byte is noticed after a kill`() throws {
    let stage = try filled()
    let path = try #require(stage.fetch(url(5))?.file?.path)
    try flip(path, at: 500)
    try stage.crash()
    #expect(stage.fetch(url(5)) == nil)
    #expect(stage.tier.counts.corrupt == 1)
    #expect(stage.news.damaged.count == 1)
    #expect(stage.tier.count == 19)
    #expect(access(path, F_OK) != 0)
    #expect(found(stage).count == 19)
    #expect(stage.tier.counts.corrupt == 1)
  }

  @Test func `a cut file is noticed after a clean stop as well`() throws {
    let stage = try filled()
    let path = try #require(stage.fetch(url(5))?.file?.path)
    try stage.restart()
    truncate(path, 10)
    #expect(stage.fetch(url(5)) == nil)
    #expect(stage.tier.counts.corrupt == 1)
    #expect(stage.tier.count == 19)
  }

  @Test func `files without rows and rows without files are removed after a kill`() throws {
    let stage = try filled()
    let gone = try #require(stage.fetch(url(5))?.file?.path)
    let file = try #require(
      PictureFile(digest: KeyDigest(url: url(5), identifier: nil), number: 4_000, suffix: "jpg"))
    let stray = stage.place.path + "/1/" + file.relativePath
    unlink(gone)
    try overwrite(stray, body(10))
    try stage.crash()
    #expect(access(stray, F_OK) != 0)
    #expect(stage.tier.count == 19)
    #expect(stage.fetch(url(5)) == nil)
    #expect(found(stage).count == 19)
  }

  @Test func `foreign files are left alone`() throws {
    let stage = try filled()
    let file = try #require(stage.fetch(url(5))?.file?.path)
    let note = String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)]) + "/note.txt"
    try overwrite(note, body(10))
    try stage.crash()
    #expect(access(note, F_OK) == 0)
    unlink(note)
  }

  @Test func `a damaged index is set aside`() throws {
    let stage = try filled()
    stage.end()
    try overwrite(stage.place.path + "/1/index.db", body(8_192))
    try stage.begin(at: TierStage.start)
    #expect(stage.tier.state == .ok)
    #expect(stage.tier.count == 0)
    #expect(try stage.pictures() == [])
    #expect(try names(stage.place.path + "/1").contains { $0.hasPrefix("index.db.") })
    #expect(stage.store(photo(url(1), on: stage)) == nil)
    #expect(stage.fetch(url(1)) != nil)
  }

  @Test func `an unusable directory is reported once, and its return as well`() throws {
    let stage = try filled()
    TemporaryDirectory.remove(stage.place.path)
    try overwrite(stage.place.path, [])
    stage.store(photo(url(30), on: stage))
    stage.pass(.seconds(10))
    let troubles = stage.news.troubles
    #expect(!troubles.isEmpty && stage.news.recoveries == 0)
    stage.pass(.seconds(300))
    #expect(stage.news.troubles == troubles && stage.news.recoveries == 0)
    unlink(stage.place.path)
    stage.pass(.seconds(300))
    #expect(stage.tier.state == .ok)
    #expect(stage.news.troubles == troubles && stage.news.recoveries == 1)
  }

  /// A row that has been changed is met when the index is read, or later: the file opens all right.
  @Test(arguments: ["entry SET width = 9", "picture SET suffix = 'gif'"])
  func `an index with a changed row is set aside`(change: String) throws {
    let stage = try filled()
    stage.end()
    try sql(stage, "UPDATE \(change)")
    try stage.begin(at: TierStage.start)
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.tier.state == .ok)
    #expect(stage.tier.count == 0)
    #expect(stage.news.troubles.count == 1)
    #expect(try stage.pictures() == [])
    #expect(stage.store(photo(url(1), on: stage)) == nil)
    #expect(stage.fetch(url(1)) != nil)
  }

  private func sql(_ stage: TierStage, _ text: String) throws {
    let connection = try Connection(path: stage.place.path + "/1/index.db", isReadOnly: false)
    try connection.execute(text)
    connection.close()
  }

  /// A later version may know more formats.
  @Test func `an entry of an unknown format is dropped`() throws {
    let stage = try TierStage(.roomy) { place in
      let directory = try place.open()
      let index = try IndexFile(path: directory.indexPath, access: .readWrite)
      var row = sampleRow(1)
      row.record.facts = ImageFacts(
        format: 200, width: 8, height: 8, frames: 1, orientation: 1)
      row.record.digest = KeyDigest(url: url(1), identifier: nil)
      try index.add([row, sampleRow(2)])
      try index.close(clean: true)
    }
    #expect(stage.tier.parts.index.isLoaded)
    #expect(stage.tier.count == 1)
    #expect(stage.fetch(url(1)) == nil)
    try stage.restart()
    #expect(stage.tier.count == 1)
  }

  // MARK: The directory goes

  @Test func `a removed directory is created again`() throws {
    let stage = try filled()
    TemporaryDirectory.remove(stage.place.path)
    #expect(stage.store(photo(url(50), on: stage)) == nil)
    #expect(stage.tier.state == .ok)
    #expect(stage.tier.count == 1)
    #expect(stage.fetch(url(50)) != nil)
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.parts.stores.isEmpty)
    #expect(try stage.pictures().count == 1)
  }

  @Test func `a fetch notices that the directory was removed`() throws {
    let stage = try filled()
    TemporaryDirectory.remove(stage.place.path)
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.tier.state == .ok)
    #expect(stage.tier.count == 0)
    #expect(stage.store(photo(url(1), on: stage)) == nil)
    #expect(try stage.pictures().count == 1)
  }

  /// It has missed what was purged and replaced in between.
  @Test func `a directory that comes back in place of another one begins anew`() throws {
    let stage = try filled()
    try swapDirectory(of: stage)
    stage.purge { $0.url = key(url(1)).url }
    try swapDirectory(of: stage)
    #expect(found(stage).isEmpty)
    #expect(stage.tier.state == .ok && stage.tier.count == 0)
    #expect(try stage.pictures().isEmpty)
    #expect(stage.news.troubles.last?.contains("another directory") == true, "\(stage.news.troubles)")
    try stage.restart()
    #expect(found(stage).isEmpty)
  }

  /// A path may be opened after another file system has been mounted on the directory.
  @Test func `no two directories have a file of the same name`() throws {
    let stages = [try TierStage(), try TierStage()]
    for stage in stages { for number in 1...9 { stage.store(photo(url(number), on: stage)) } }
    let names = try stages.map { stage in try stage.pictures().map { $0.split(separator: "/").suffix(2) } }
    #expect(names.allSatisfy { $0.count == 9 } && !names[0].contains { names[1].contains($0) })
  }

  @Test func `a directory that comes back is as it was when nothing has happened in between`() throws {
    let stage = try filled()
    try stage.restart()
    try swapDirectory(of: stage)
    #expect(found(stage).isEmpty)
    try swapDirectory(of: stage)
    #expect(found(stage) == all)
  }

  /// Puts what is beside the directory in its place, and has the tier notice.
  private func swapDirectory(of stage: TierStage) throws {
    let (path, other) = (stage.place.path, stage.place.root + "/other")
    #expect(rename(path, other + ".new") == 0)
    rename(other, path)
    #expect(rename(other + ".new", other) == 0)
    stage.tier.lookForDirectory()
    stage.turn()
  }

  @Test func `waiting fetches are answered when the directory is reopened`() throws {
    let stage = try filled()
    var answers = 0
    for url in Self.urls { _ = stage.tier.fetch(key(url)) { _ in answers += 1 } }
    stage.parts.recovery.reopen()
    stage.turn()
    #expect(answers == 20)
    #expect(stage.parts.loads.isEmpty)
    #expect(found(stage) == all)
  }

  /// A reader that is busy on a slow disk keeps the first opening waiting until the next try.
  @Test func `a directory that is reopened twice is opened once`() throws {
    let stage = try filled()
    for _ in 0..<2 { stage.parts.recovery.reopen() }
    stage.turn()
    #expect(found(stage) == all)
  }

  // MARK: While the index is being read

  @Test func `a stored picture is found before its row has been loaded`() throws {
    let stage = try Self.withManyRows()
    #expect(!stage.tier.parts.index.isLoaded)
    #expect(stage.tier.isLoading)
    var found: CachedImage?
    var isAnswered = false
    let outcome = stage.tier.fetch(key(url(1))) {
      (found, isAnswered) = ($0, true)
    }
    guard case .later = outcome else {
      Issue.record("the file has to be asked")
      return
    }
    while !isAnswered { stage.loop.tick(waiting: true) }
    #expect(found?.payload.count == 1_000)
    #expect(!stage.tier.parts.index.isLoaded, "the answer does not wait for all rows")
    stage.turn()
    #expect(stage.tier.parts.index.isLoaded)
    #expect(stage.tier.count == Self.many + 1)
    #expect(stage.fetch(url(1)) != nil)
  }

  @Test func `a purge of everything while rows are loaded leaves nothing`() throws {
    let stage = try Self.withManyRows()
    for _ in 0..<3 { stage.loop.tick(waiting: true) }
    stage.purge()
    #expect(stage.tier.parts.index.isLoaded)
    #expect(stage.tier.count == 0)
    #expect(stage.parts.index.removedWhileLoading.isEmpty)
    #expect(stage.fetch(url(1)) == nil)
    try stage.restart()
    #expect(stage.tier.count == 0)
  }

  @Test func `a picture that is purged while rows are loaded does not come back`() throws {
    let stage = try Self.withManyRows()
    while stage.tier.count < 5_000 { stage.loop.tick(waiting: true) }
    #expect(!stage.tier.parts.index.isLoaded)
    // Half of them: numbers that end in an even digit are another host's.
    #expect(stage.purge { $0.prefix = "https://even." }.entries == Self.many / 2)
    #expect(stage.tier.parts.index.isLoaded)
    #expect(stage.tier.count == Self.many / 2 + 1)
    #expect(stage.fetch(url(1)) != nil)
    #expect(stage.parts.index.removedWhileLoading.isEmpty)
  }

  @Test func `a key that is removed while rows are loaded does not come back`() throws {
    let stage = try Self.withManyRows()
    stage.tier.remove(key(url(1)))
    stage.turn()
    #expect(stage.fetch(url(1)) == nil)
    #expect(stage.tier.count == Self.many)
  }

  private static let many = 40_000

  /// A tier that has begun to read an index of many rows and one picture; its work continues when
  /// the loop is turned.
  private static func withManyRows() throws -> TierStage {
    let stage = try TierStage(.limits(capacity: 1 << 40))
    stage.store(photo(url(1), on: stage))
    stage.end()
    let index = try IndexFile(path: stage.place.path + "/1/index.db", access: .readWrite)
    try index.write { () throws(IndexProblem) in
      for number in 0..<UInt64(many) {
        let host = number.isMultiple(of: 2) ? "even.example" : "odd.example"
        _ = try index.entries.insert(
          sampleRow(number + 1_000, host: host, storedAt: TierStage.start, lastAccess: 5_000),
          retiring: 0)
      }
    }
    try index.close(clean: true)
    try stage.begin(at: TierStage.start, turning: false)
    return stage
  }
}

private func flip(_ path: String, at offset: Int) throws {
  let file = open(path, O_RDWR)
  guard file >= 0 else { throw TestFailure("open \(path): errno \(errno)") }
  defer { close(file) }
  var byte: UInt8 = 0
  guard pread(file, &byte, 1, off_t(offset)) == 1 else { throw TestFailure("\(path) is short") }
  byte ^= 1
  guard pwrite(file, &byte, 1, off_t(offset)) == 1 else { throw TestFailure("errno \(errno)") }
}
