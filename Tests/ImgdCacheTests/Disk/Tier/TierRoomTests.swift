import Glibc
import ImgdSystem
import Testing

@testable import ImgdCache

struct TierRoomTests {
  /// Ten pictures of a block each, the lower the number the longer not used.
  private static func filled(_ limits: DiskLimits = .roomy) throws -> TierStage {
    let stage = try TierStage(limits)
    for number in 0..<10 {
      stage.store(photo(url(number), body(4_096), on: stage))
      stage.jump(.seconds(1))
    }
    return stage
  }

  private static let block = 4_096

  private static func numbers(_ stage: TierStage) -> [Int] {
    (0..<10).filter { stage.known([url($0)]) != [] }
  }

  @Test func `the least recently used pictures are evicted, and handed-out ones stay`() throws {
    let stage = try Self.filled()
    for number in [1, 2] {
      let image = try #require(stage.fetch(url(number)))
      if number == 2 { #expect(stage.lend(image) == .lent) }
    }
    for number in 3..<10 { _ = stage.fetch(url(number)) }
    stage.apply(.limits(capacity: 5 * Self.block, trimTo: 60))
    #expect(Self.numbers(stage) == [2, 8, 9])
    #expect(try stage.pictures().count == 3)
  }

  @Test func `a lower capacity trims at once`() throws {
    let stage = try Self.filled()
    stage.apply(.limits(capacity: 9 * Self.block, trimTo: 50))
    #expect(Self.numbers(stage) == [6, 7, 8, 9])
    #expect(stage.news.evicted == 6)
  }

  @Test func `a lower age limit evicts at once`() throws {
    let stage = try Self.filled()
    stage.apply(.limits(maxAge: .seconds(5)))
    #expect(stage.tier.count == 4)
    #expect(try stage.pictures().count == 4)
  }

  @Test(arguments: [(seconds: -1, isThere: true), (0, false), (1, false)])
  func `an entry of the greatest age is evicted`(_ edge: (seconds: Int, isThere: Bool)) throws {
    let stage = try TierStage(.limits(maxAge: .seconds(7 * 86_400)))
    stage.store(photo(url(1), on: stage))
    try stage.restart(wall: TierStage.start + 7 * 86_400 + Int64(edge.seconds))
    #expect((stage.fetch(url(1)) != nil) == edge.isThere)
    stage.turn()
    #expect(stage.tier.count == (edge.isThere ? 1 : 0))
    #expect(try stage.pictures().count == stage.tier.count)
  }

  @Test func `a larger reserve is freed at once`() throws {
    let stage = try Self.filled()
    stage.apply(.limits(minFree: .bytes(.max)))
    #expect(stage.tier.count == 0)
    #expect(try stage.pictures() == [])
  }

  @Test func `a missing reserve is not reported as restored`() throws {
    let stage = try TierStage(.limits(minFree: .bytes(.max)))
    stage.store(photo(url(1), on: stage))
    for _ in 0..<20 {
      #expect(stage.tier.state == .readOnly)
      #expect(stage.store(photo(url(1), on: stage)) == .full)
      stage.pass(.seconds(1))
    }
    #expect(stage.news.troubles.count == 1)
    #expect(stage.news.recoveries == 0)
    #expect(stage.parts.stores.isEmpty)
    // Limits that are met end the wait for the next try.
    stage.apply(.roomy)
    #expect(stage.tier.state == .ok)
    #expect(stage.news.recoveries == 1)
    #expect(stage.store(photo(url(1), on: stage)) == nil)
    #expect(stage.fetch(url(1)) != nil)
  }
}
