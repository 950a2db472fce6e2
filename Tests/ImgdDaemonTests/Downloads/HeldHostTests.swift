import ImgdSystem
import ImgdWire
import Testing

@testable import ImgdDaemon

private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

private let client = Claimant(uid: 1, connection: 1)

/// Hosts that have asked to be left alone.
struct HeldHostTests {
  private func scheduler(waitingFor host: String = "a") -> DownloadScheduler {
    let scheduler = DownloadScheduler(settings: .init(maxActive: 7, maxPerHost: 4))
    scheduler.hold("a", until: at(30))
    for serial in 1...5 as ClosedRange<UInt64> {
      scheduler.enqueue(serial, host: host, by: client, .normal, at: at(0))
    }
    return scheduler
  }

  @Test func `a held host starts nothing until its time is over, and others are not concerned`() {
    let scheduler = scheduler()
    scheduler.enqueue(9, host: "b", by: client, .normal, at: at(0))
    #expect(scheduler.startable(at: at(0)) == [9])
    #expect(scheduler.nextRelease == at(30))
    #expect(scheduler.startable(at: at(29)) == [])
    #expect(scheduler.startable(at: at(30)) == [1])
  }

  @Test func `one goes first, and the others when it has ended well`() {
    let scheduler = scheduler()
    #expect(scheduler.startable(at: at(30)) == [1])
    #expect(scheduler.startable(at: at(31)) == [])
    scheduler.remove(1)
    #expect(scheduler.startable(at: at(31)) == [2, 3, 4, 5])
  }

  @Test func `a host that asks again is held again`() {
    let scheduler = scheduler()
    #expect(scheduler.startable(at: at(30)) == [1])
    scheduler.hold("a", until: at(60))
    scheduler.remove(1)
    #expect(scheduler.startable(at: at(59)) == [])
    #expect(scheduler.startable(at: at(60)) == [2])
  }

  @Test func `an earlier end does not shorten the time`() {
    let scheduler = scheduler()
    scheduler.hold("a", until: at(10))
    #expect(scheduler.startable(at: at(29)) == [])
  }

  @Test func `a host for which nothing waits wakes nobody, and is forgotten at the end`() {
    let scheduler = scheduler(waitingFor: "b")
    #expect(scheduler.startable(at: at(0)).count == 4)
    scheduler.remove(1)
    #expect(scheduler.startable(at: at(0)) == [5])
    #expect(scheduler.nextRelease == nil)
    _ = scheduler.startable(at: at(30))
    #expect(scheduler.gate.hostCount == 1)
  }

  @Test func `the table of held hosts is bounded`() {
    let scheduler = scheduler()
    for number in 0..<5_000 { scheduler.hold("host \(number)", until: at(100 + Int64(number))) }
    #expect(scheduler.gate.hostCount == 1_001, "one has something waiting")
    #expect(scheduler.startable(at: at(0)) == [1], "it was the one whose time ended first")
  }
}
