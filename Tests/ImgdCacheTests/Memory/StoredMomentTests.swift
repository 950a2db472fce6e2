import ImgdSystem
import Testing

@testable import ImgdCache

/// The time of storing, carried over a restart.
struct StoredMomentTests {
  @Test(
    arguments: [
      // Stored at, now, this clock; on this clock, doubtful.
      (1000, 1000, 50, 50, false),
      (990, 1000, 50, 40, false),
      (900, 1000, 50, -50, false),
      (0, 1_800_000_000, 1, -1_799_999_999, false),
      (1005, 1000, 50, 50, false),
      (1006, 1000, 50, 50, true),
      (.max, 1000, 50, 50, true),
      (.max, .min, 50, 50, true),
    ] as [(Int64, Int64, Int64, Int64, Bool)])
  func `the time of storing is converted to this process's clock`(
    stored: Int64, wall: Int64, now: Int64, instant: Int64, isDoubtful: Bool
  ) {
    let moment = StoredMoment(storedWall: stored, nowWall: wall, now: at(now))
    #expect(moment.instant == at(instant))
    #expect(moment.isDoubtful == isDoubtful)
  }

  @Test(arguments: [Int64.min, -Int64.max / 2, -1 << 40] as [Int64])
  func `the time of storing is not before the clock's beginning`(stored: Int64) {
    let moment = StoredMoment(storedWall: stored, nowWall: .max / 4, now: at(50))
    #expect(moment.instant == StoredMoment.earliest)
    #expect(!moment.isDoubtful)
  }
}
