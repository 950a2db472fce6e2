import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

private enum SmallFileSystem {
  static let canBeMade: Bool = {
    guard geteuid() == 0, let path = try? TemporaryDirectory.make() else { return false }
    defer { TemporaryDirectory.remove(path) }
    guard (try? mount(path)) != nil else { return false }
    return (try? CacheFiles.shell("umount \(path)")) != nil
  }()

  static func mount(_ path: String) throws {
    try CacheFiles.shell("mount -t tmpfs -o size=8m,mode=755 none \(path)")
  }
}

/// A file system of eight megabytes, half of which stay free.
@Suite(.enabled(if: SmallFileSystem.canBeMade)) struct TierFullDiskTests {
  /// Has a leased picture of three megabytes, and less room than is to stay free.
  private func filled() throws -> TierStage {
    let stage = try TierStage(.limits(minFree: .bytes(4 << 20))) { place in
      try Directory.make(place.path, permissions: 0o755)
      try SmallFileSystem.mount(place.path)
    }
    let image = photo(url(1), body(3 << 20), on: stage)
    #expect(stage.lend(image) == .lent)
    try CacheFiles.shell("head --bytes=1500000 /dev/zero > \(stage.place.path)/ballast")
    stage.store(photo(url(2), body(1_000), on: stage))
    #expect(stage.tier.state == .readOnly && stage.fetch(url(2)) == nil)
    return stage
  }

  private func unmount(_ stage: TierStage) {
    try? CacheFiles.shell("umount --lazy \(stage.place.path)")
  }

  @Test func `a disk that is full is tried again soon after leases have ended`() throws {
    let stage = try filled()
    defer { unmount(stage) }
    stage.pass(.seconds(60))
    #expect(stage.tier.state == .readOnly)
    // The lease has half its time more, and the next try comes within ten seconds.
    stage.pass(.seconds(41))
    #expect(stage.tier.state == .ok)
    #expect(stage.store(photo(url(2), body(1_000), on: stage)) == nil)
    #expect(stage.fetch(url(2)) != nil)
  }

  @Test func `a disk that is full is tried again as soon as leased files go`() throws {
    let stage = try filled()
    defer { unmount(stage) }
    stage.purge { $0.host = "example.org" }
    #expect(try stage.pictures().count == 1)
    for _ in 0..<200 where try !stage.pictures().isEmpty { stage.pass(.milliseconds(500)) }
    #expect(try stage.pictures() == [])
    #expect(stage.tier.state == .ok)
  }

  @Test func `another file system in place of the first is noted until that comes back`() throws {
    let home = TemporaryDirectory()
    try SmallFileSystem.mount(home.path)
    defer { try? CacheFiles.shell("umount --lazy \(home.path)") }
    try CacheFiles.shell("install -d -m 755 \(home.path)/cache")
    let stage = try TierStage { place in
      try Directory.make(place.path, permissions: 0o755)
      try CacheFiles.shell("mount --bind \(home.path)/cache \(place.path)")
    }
    defer { unmount(stage) }
    stage.store(photo(url(1), body(1_000), on: stage))
    #expect(stage.tier.note == nil)
    unmount(stage)
    stage.pass(.seconds(2))
    stage.store(photo(url(2), body(1_000), on: stage))
    #expect(stage.tier.state == .ok && stage.tier.note == "it lies on another file system than at the start")
    try CacheFiles.shell("mount --bind \(home.path)/cache \(stage.place.path)")
    stage.pass(.seconds(2))
    stage.store(photo(url(3), body(1_000), on: stage))
    #expect(stage.tier.state == .ok && stage.tier.note == nil)
  }

  // MARK: No room for the index

  /// Has six pictures of a megabyte each, and begins another life without a byte that is free.
  private func crammed(before next: (_ index: String) throws -> Void = { _ in }) throws -> TierStage {
    let stage = try TierStage { place in
      try Directory.make(place.path, permissions: 0o755)
      try SmallFileSystem.mount(place.path)
    }
    for number in 1...6 { stage.store(photo(url(number), body(1 << 20), on: stage)) }
    stage.end()
    try next(stage.place.path + "/1/index.db")
    try CacheFiles.shell("cat /dev/zero > \(stage.place.path)/ballast 2> /dev/null || true")
    try stage.begin(at: TierStage.start)
    return stage
  }

  /// Nothing else would ever make room: without the index nobody knows which pictures may go.
  @Test func `pictures make room for the index that names them`() throws {
    let stage = try crammed()
    defer { unmount(stage) }
    #expect(stage.tier.state == .ok)
    #expect(stage.news.troubles == ["the disk is full: some pictures were removed to make room for the index"])
    #expect((1..<6).contains(stage.tier.count))
    #expect(try stage.pictures().count == stage.tier.count)
  }

  @Test func `an index that is damaged is replaced on a full disk`() throws {
    let stage = try crammed { index in try CacheFiles.shell("head --bytes=8192 /dev/zero > \(index)") }
    defer { unmount(stage) }
    #expect(stage.tier.state == .ok)
    #expect(try stage.pictures() == [])
    #expect(stage.store(photo(url(1), body(1_000), on: stage)) == nil)
    #expect(stage.fetch(url(1)) != nil)
  }
}
