import ImgdSystem
import Testing

@testable import ImgdDaemon

private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

/// Which downloads are slow.
struct FlowWatchTests {
  private static let enough = FlowWatch.leastBytes

  private func watch() -> FlowWatch {
    let watch = FlowWatch()
    watch.beginWatching(1, at: at(0))
    return watch
  }

  @Test func `a download without a byte is slow after a second, and told once`() {
    let watch = watch()
    #expect(watch.review(at: at(999)) == [])
    #expect(watch.review(at: at(1_000)) == [1])
    #expect(watch.review(at: at(2_000)) == [])
  }

  @Test func `a download that drips is slow, and one that flows is not`() {
    let watch = watch()
    watch.beginWatching(2, at: at(0))
    for second in 1...10 as ClosedRange<Int64> {
      _ = watch.noteProgress(1, received: Int(second), at: at(second * 1_000))
      _ = watch.noteProgress(2, received: Int(second) * Self.enough, at: at(second * 1_000))
      #expect(watch.review(at: at(second * 1_000)) == (second == 1 ? [1] : []))
    }
  }

  @Test func `one that stops in its middle is slow a second later`() {
    let watch = watch()
    _ = watch.noteProgress(1, received: 100 * Self.enough, at: at(900))
    #expect(watch.review(at: at(1_000)) == [])
    #expect(watch.review(at: at(2_000)) == [1])
  }

  @Test func `a slow one flows again with its bytes, and not with time`() {
    let watch = watch()
    _ = watch.review(at: at(1_000))
    #expect(!watch.noteProgress(1, received: 10, at: at(1_500)))
    #expect(watch.noteProgress(1, received: 10 + Self.enough, at: at(1_600)))
    #expect(!watch.noteProgress(1, received: 20 + Self.enough, at: at(1_700)))
    #expect(watch.review(at: at(2_600)) == [1])
  }

  @Test func `a body that begins again is counted from its start`() {
    let watch = watch()
    _ = watch.noteProgress(1, received: 50 * Self.enough, at: at(500))
    _ = watch.review(at: at(1_000))
    _ = watch.noteProgress(1, received: 0, at: at(1_100))
    _ = watch.noteProgress(1, received: 2 * Self.enough, at: at(1_900))
    #expect(watch.review(at: at(2_000)) == [])
  }

  @Test func `one that has ended is forgotten`() {
    let watch = watch()
    watch.endWatching(1)
    #expect(watch.review(at: at(5_000)) == [])
    #expect(!watch.noteProgress(1, received: Self.enough, at: at(5_000)))
  }
}
