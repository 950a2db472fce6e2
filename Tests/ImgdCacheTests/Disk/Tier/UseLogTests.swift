import ImgdSystem
import Testing

@testable import ImgdCache

/// How much the index file is told of uses.
struct UseLogTests {
  private func fill(_ stage: TierStage, _ count: Int) -> [Int] {
    (0..<count).map { number in
      let entry = DiskEntry(
        number: UInt32(100 + number), digest: KeyDigest(high: UInt64(number), low: UInt64(number)),
        bytes: 100, allocated: 512,
        facts: ImageFacts(format: 1, width: 1, height: 1, frames: 1, orientation: 1),
        modified: 0, checksum: BodyChecksum(0), storedAt: 1,
        lastAccess: 1, freshUntil: 1, flags: [], base: 0)
      return stage.parts.index.insert(entry).place
    }
  }

  @Test func `an entry is told of once in ten seconds`() throws {
    let stage = try TierStage()
    let uses = stage.parts.uses
    let place = fill(stage, 1)[0]
    for _ in 0..<3 { uses.note(place) }
    #expect(uses.noted == 1)
    // Of what the index file is told for another reason, it is told again.
    uses.write()
    uses.note(place)
    #expect(uses.noted == 2)
    stage.pass(.seconds(11))
    #expect(uses.noted == 0)
    uses.note(place)
    #expect(uses.noted == 1 && uses.takeUses().map(\.at) == [stage.wall])
  }

  @Test func `many entries that are used all the time are not told of all the time`() throws {
    let stage = try TierStage()
    let uses = stage.parts.uses
    let places = fill(stage, UseLog.mostAtOnce + 10)
    for _ in 0..<3 {
      for place in places { uses.note(place) }
    }
    #expect(uses.noted == places.count)
    #expect(uses.takeUses().count == 10)
  }

  @Test func `of more entries than can be told of the order is kept all the same`() throws {
    let stage = try TierStage()
    let uses = stage.parts.uses
    let places = fill(stage, UseLog.mostInPeriod + 2)
    for place in places.reversed() { uses.note(place) }
    #expect(uses.noted == UseLog.mostInPeriod)
    #expect(Array(stage.parts.index.victims(sharing: 0).prefix(2)) == places.suffix(2).reversed())
    stage.pass(.seconds(11))
    uses.note(places[0])
    #expect(uses.noted == 1)
  }
}
