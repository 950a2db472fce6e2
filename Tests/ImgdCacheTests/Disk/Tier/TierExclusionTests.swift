import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// A directory that is lost where this process may not make another. Nobody may make one in /sys.
struct TierExclusionTests {
  private let stage: TierStage
  private let way: String
  private let parts: DiskParts

  init() throws {
    stage = try TierStage()
    stage.end()
    way = stage.place.root + "/way"
    parts = DiskParts(
      try DiskGround(
        path: way + "/cache", limits: .roomy, suffixes: ["png"], loop: stage.loop,
        wall: TierStage.start))
  }

  /// Makes the path lead elsewhere.
  private func lead(to place: String) {
    unlink(way)
    #expect(symlink(place, way) == 0)
  }

  private func turn() {
    while parts.threads.pending > 0 { stage.loop.tick(waiting: true) }
    stage.loop.settle()
  }

  @Test func `is told to who can have it made, and used again when it is there`() throws {
    let there = stage.place.root + "/there"
    try Directory.make(there, permissions: 0o700)
    lead(to: there)
    let tier = DiskTier(parts, .success(try DiskDirectory.open(way + "/cache")))
    defer { tier.stop() }
    var told = 0
    tier.onExclusion = { told += 1 }
    turn()
    #expect(tier.state == .ok && tier.reason == nil)
    lead(to: "/sys")
    parts.recovery.reopen()
    turn()
    #expect(tier.state == .down)
    #expect(tier.reason?.hasPrefix("mkdir \(way)/cache: ") == true, "\(tier.reason ?? "")")
    #expect(told == 1)
    lead(to: there)
    parts.recovery.retryNow()
    turn()
    #expect(tier.state == .ok && tier.reason == nil)
  }

  @Test func `nothing is synced meanwhile, and all who wait are told`() throws {
    let there = stage.place.root + "/there"
    try Directory.make(there, permissions: 0o700)
    lead(to: there)
    let tier = DiskTier(parts, .success(try DiskDirectory.open(way + "/cache")))
    defer { tier.stop() }
    turn()
    var told: [Bool] = []
    // More than are told of one sync.
    for _ in 0..<300 { tier.sync { told.append($0) } }
    turn()
    #expect(told == Array(repeating: true, count: 300))
    lead(to: "/sys")
    parts.recovery.reopen()
    turn()
    tier.sync { told.append($0) }
    turn()
    #expect(told.count == 301 && told.last == false)
  }

  @Test func `is no such loss where there never was one`() throws {
    lead(to: "/sys")
    let problem = #expect(throws: DirectoryProblem.self) {
      _ = try DiskDirectory.open(way + "/cache")
    }
    let tier = DiskTier(parts, .failure(try #require(problem)))
    defer { tier.stop() }
    tier.onExclusion = { Issue.record("there never was a directory") }
    #expect(tier.state == .down && tier.reason == problem?.description)
    parts.recovery.retryNow()
    turn()
    #expect(tier.state == .down)
  }
}
