import ImgdSystem
import ImgdWire
import Testing

@testable import ImgdDaemon

private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

private let client = Claimant(uid: 1, connection: 1)

/// Hosts at which an operator limits downloads: how many run at once, and how often one begins.
struct PacedHostTests {
  private func scheduler(_ limits: HostLimits, downloads: UInt64 = 10) -> DownloadScheduler {
    let scheduler = DownloadScheduler(settings: .init(maxActive: 100, maxPerHost: 4))
    for serial in 1...downloads {
      scheduler.enqueue(serial, host: "a", by: client, .normal, limits: limits, at: at(0))
    }
    return scheduler
  }

  @Test func `a host has as many places as its section says, fewer or more than others`() {
    #expect(scheduler(HostLimits(places: 2)).startable(at: at(0)).count == 2)
    #expect(scheduler(HostLimits(places: 7)).startable(at: at(0)).count == 7)
    #expect(scheduler(HostLimits()).startable(at: at(0)).count == 4)
  }

  @Test func `other limits hold at once`() {
    let scheduler = scheduler(HostLimits(places: 2))
    #expect(scheduler.startable(at: at(0)).count == 2)
    scheduler.limitHosts(at: at(0)) { _ in HostLimits(places: 5) }
    #expect(scheduler.startable(at: at(0)).count == 3)
  }

  @Test func `a pace that is lifted holds nobody back any more`() {
    let scheduler = scheduler(HostLimits(places: 100, pace: .init(interval: .seconds(60), burst: 1)))
    #expect(scheduler.startable(at: at(0)) == [1])
    scheduler.limitHosts(at: at(1)) { _ in HostLimits(places: 100, pace: .init(interval: .seconds(1), burst: 1)) }
    #expect(scheduler.nextRelease == at(60_000))
    scheduler.limitHosts(at: at(1)) { _ in HostLimits(places: 3) }
    #expect(scheduler.startable(at: at(1)) == [2, 3])
    #expect(scheduler.nextRelease == nil)
  }

  @Test func `one begins after each interval, and others wait for nobody`() {
    let scheduler = scheduler(HostLimits(places: 100, pace: .init(interval: .milliseconds(100), burst: 1)))
    #expect(scheduler.startable(at: at(0)) == [1])
    scheduler.enqueue(99, host: "b", by: client, .normal, at: at(0))
    #expect(scheduler.startable(at: at(0)) == [99])
    #expect(scheduler.nextRelease == at(100))
    #expect(scheduler.startable(at: at(99)) == [])
    #expect(scheduler.startable(at: at(100)) == [2])
    // Time in which nothing began is not made up for.
    #expect(scheduler.startable(at: at(900)) == [3])
    #expect(scheduler.startable(at: at(999)) == [])
  }

  @Test func `some begin together after a time in which fewer did`() {
    let scheduler = scheduler(HostLimits(places: 100, pace: .init(interval: .milliseconds(10), burst: 3)))
    #expect(scheduler.startable(at: at(0)) == [1, 2, 3])
    #expect(scheduler.startable(at: at(9)) == [])
    #expect(scheduler.startable(at: at(10)) == [4])
    #expect(scheduler.startable(at: at(30)) == [5, 6])
    #expect(scheduler.startable(at: at(500)) == [7, 8, 9])
  }

  @Test func `a host that is not used meanwhile is not forgotten before its time, and then is`() {
    let pace = HostLimits(pace: .init(interval: .milliseconds(10), burst: 3))
    let scheduler = scheduler(pace, downloads: 1)
    var started = 0
    for serial in 100...199 as ClosedRange<UInt64> {
      for serial in scheduler.startable(at: at(0)) {
        started += 1
        scheduler.remove(serial)
      }
      scheduler.enqueue(serial, host: "a", by: client, .normal, limits: pace, at: at(0))
    }
    #expect(started == 3)
    for serial in 100...199 as ClosedRange<UInt64> { scheduler.remove(serial) }
    #expect(scheduler.gate.hostCount == 1)
    _ = scheduler.startable(at: at(1_000))
    #expect(scheduler.gate.hostCount == 0)
  }

  @Test func `any number of hosts may wait`() {
    let scheduler = DownloadScheduler(settings: .init(maxActive: 10_000, maxPerHost: 4))
    let pace = HostLimits(pace: .init(interval: .seconds(60), burst: 1))
    for serial in 1...4_000 as ClosedRange<UInt64> {
      let (host, user) = ("host \(serial % 2_000)", Claimant(uid: UInt32(serial % 8), connection: serial))
      scheduler.enqueue(serial, host: host, by: user, .normal, limits: pace, at: at(0))
    }
    #expect(scheduler.startable(at: at(0)).count == 2_000)
    #expect(scheduler.startable(at: at(59_999)) == [])
    #expect(scheduler.startable(at: at(60_000)).count == 2_000)
  }
}
