import Testing

@testable import ImgdCache

/// The room of several users on disk.
struct TierShareTests {
  private static let block = 4_096

  private func fill(_ stage: TierStage, _ numbers: Range<Int>, of owner: UInt32) {
    for number in numbers {
      stage.store(photo(url(number), body(Self.block), of: owner, on: stage))
      stage.jump(.seconds(1))
    }
  }

  private func numbers(_ stage: TierStage, _ all: Range<Int>) -> [Int] {
    all.filter { stage.known([url($0)]) != [] }
  }

  @Test func `a user who floods loses his own, also after a restart`() throws {
    let stage = try TierStage(.limits(capacity: 16 * Self.block, trimTo: 75))
    fill(stage, 0..<4, of: 1_000)
    fill(stage, 100..<130, of: 1_001)
    #expect(numbers(stage, 0..<4) == [0, 1, 2, 3])
    #expect(numbers(stage, 100..<130).last == 129)
    try stage.restart()
    fill(stage, 130..<160, of: 1_001)
    #expect(numbers(stage, 0..<4) == [0, 1, 2, 3])
    fill(stage, 200..<230, of: 1_002)
    #expect(numbers(stage, 0..<4) == [0, 1, 2, 3] && stage.parts.index.allocated <= 16 * Self.block)
  }

  @Test func `nobody loses anything below an equal share, though less would be left otherwise`() throws {
    let stage = try TierStage(.limits(capacity: 16 * Self.block, trimTo: 50))
    fill(stage, 0..<7, of: 1_000)
    fill(stage, 100..<110, of: 1_001)
    #expect(numbers(stage, 0..<7) == Array(0..<7))
    #expect(numbers(stage, 100..<110) == Array(102..<110))
  }

  @Test func `a picture stays with whom the one before counts for, unless it has grown`() throws {
    let stage = try TierStage()
    stage.store(photo(url(1), body(Self.block), of: 1_000, on: stage))
    let former = try #require(key(url(1)).digest.flatMap(stage.tier.ownership))
    #expect(former == (1_000, Self.block, Self.block))
    for (bytes, owner) in [(Self.block, 1_000), (Self.block + 1, 1_001)] as [(Int, UInt32)] {
      let image = photo(url(1), body(bytes), of: 1_001, on: stage)
      image.take(owner: former.owner, of: former.bytes)
      #expect(image.owner == owner && image.claims.include(1_001))
    }
  }
}
