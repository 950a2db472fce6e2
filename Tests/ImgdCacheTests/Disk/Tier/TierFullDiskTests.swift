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
}
