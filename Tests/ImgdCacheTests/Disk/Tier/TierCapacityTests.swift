import Glibc
import Testing

@testable import ImgdCache

struct TierCapacityTests {
  /// The bytes of the file system at a path, as statvfs tells them.
  private static func fileSystem(at path: String) throws -> Int {
    var status = statvfs()
    try #require(statvfs(path, &status) == 0)
    return Int(status.f_blocks) * Int(status.f_frsize)
  }

  @Test(arguments: [
    (nil, 1_000), (0, 1_000), (100, 5), (19_900, 995), (20_000, 1_000), (20_100, 1_000),
    (Int.max, 1_000),
  ])
  func `a share is one of the file system, up to the most`(total: Int?, bytes: Int) {
    let capacity = DiskLimits.Capacity.share(percent: 5, most: 1_000)
    #expect(capacity.bytes(onFileSystemOf: total) == bytes)
    #expect(DiskLimits.Capacity.bytes(7).bytes(onFileSystemOf: total) == 7)
  }

  @Test func `the capacity is a share of the file system that holds the directory`() throws {
    let stage = try TierStage(.limits(.share(percent: 5, most: .max), trimTo: 50))
    let total = try Self.fileSystem(at: stage.place.root)
    #expect(stage.tier.limits.capacity == total / 100 * 5)
    #expect(stage.tier.limits.preferred <= total / 100 * 5 / 2)
  }

  @Test func `a reload looks at the file system again, and keeps its size meanwhile`() throws {
    let stage = try TierStage(.limits(.share(percent: 5, most: .max)))
    let capacity = stage.tier.limits.capacity
    stage.parts.rules.note(fileSystem: 100)
    #expect(stage.tier.limits.capacity == 5)
    stage.tier.apply(.limits(.share(percent: 10, most: .max)))
    #expect(stage.tier.limits.capacity == 10)
    stage.turn()
    #expect(abs(stage.tier.limits.capacity - 2 * capacity) <= 100)
    // The same limits once more: nothing has changed but the file system.
    stage.parts.rules.note(fileSystem: 100)
    stage.apply(.limits(.share(percent: 10, most: .max)))
    #expect(abs(stage.tier.limits.capacity - 2 * capacity) <= 100)
  }

  @Test func `a tier whose directory is not there yet has the most for its capacity`() throws {
    let stage = try TierStage(.limits(.share(percent: 5, most: 1 << 30)))
    stage.end()
    let parts = DiskParts(
      try DiskGround(
        path: stage.place.root + "/none/cache", limits: .limits(.share(percent: 5, most: 1 << 30)),
        suffixes: ["png"], loop: stage.loop, wall: TierStage.start))
    let tier = DiskTier(parts, .failure(.taken(path: "/none", pid: nil)))
    #expect(tier.limits.capacity == 1 << 30)
    tier.apply(.limits(.share(percent: 5, most: 1 << 20)))
    #expect(tier.limits.capacity == 1 << 20)
    tier.stop()
  }

  @Test func `pictures above the share go when the file system has been asked`() throws {
    let stage = try TierStage()
    for number in 0..<10 { stage.store(photo(url(number), body(4_096), on: stage)) }
    stage.tier.apply(.limits(.share(percent: 0, most: 1 << 30)))
    #expect(stage.tier.count == 10)
    stage.turn()
    #expect(stage.tier.count == 0)
  }
}
