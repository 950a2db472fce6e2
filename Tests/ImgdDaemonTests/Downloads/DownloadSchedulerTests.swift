import ImgdSystem
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Seconds on a clock that begins where a test begins.
private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

private func scheduler(
  _ order: Order = .fifo, active: Int = 1, perHost: Int = 100
) -> DownloadScheduler {
  DownloadScheduler(
    settings: .init(
      maxActive: active, maxPerHost: perHost, order: order, ageBound: .seconds(10)))
}

extension DownloadScheduler {
  fileprivate func add(
    _ serials: UInt64..., host: String = "h", priority: Priority = .normal, at now: Instant = at(0)
  ) {
    for serial in serials { enqueue(serial, host: host, priority: priority, at: now) }
  }

  /// Starts and ends downloads one by one until none is left, and tells their order.
  fileprivate func runAll(at now: Instant = at(0)) -> [UInt64] {
    var order: [UInt64] = []
    while let serial = startable(at: now).first {
      order.append(serial)
      remove(serial)
    }
    return order
  }
}

@Suite("The scheduler picks what starts next")
struct DownloadSchedulerTests {
  @Test func `first in, first out`() {
    let scheduler = scheduler()
    scheduler.add(1, 2, 3, 4)
    #expect(scheduler.runAll() == [1, 2, 3, 4])
    #expect((scheduler.activeCount, scheduler.queuedCount, scheduler.peakActive) == (0, 0, 1))
  }

  @Test func `last in, first out: of fourteen the first runs, then the last to the second`() {
    let scheduler = scheduler(.lifo)
    scheduler.add(1)
    #expect(scheduler.startable(at: at(0)) == [1])
    for serial in 2...14 as ClosedRange<UInt64> { scheduler.add(serial) }
    #expect(scheduler.startable(at: at(0)) == [])
    scheduler.remove(1)
    #expect(scheduler.runAll() == Array((2...14 as ClosedRange<UInt64>).reversed()))
  }

  @Test func `never more than may run at once, and a place is free at once`() {
    let scheduler = scheduler(active: 4)
    scheduler.add(1, 2, 3, 4, 5, 6)
    #expect(scheduler.startable(at: at(0)) == [1, 2, 3, 4])
    #expect(scheduler.startable(at: at(0)) == [])
    #expect((scheduler.activeCount, scheduler.queuedCount) == (4, 2))
    scheduler.remove(2)
    scheduler.remove(5)
    #expect(scheduler.startable(at: at(0)) == [6])
    #expect(scheduler.state(of: 6) == .active)
    #expect(scheduler.state(of: 5) == nil)
    #expect(scheduler.peakActive == 4)
    scheduler.remove(99)
    #expect(scheduler.activeCount == 4)
  }

  @Test func `a host at its limit holds up nobody else`() {
    let scheduler = scheduler(active: 4, perHost: 2)
    scheduler.add(1, 2, 3, 4, host: "busy")
    scheduler.add(5, host: "other")
    #expect(scheduler.startable(at: at(0)) == [1, 2, 5])
    scheduler.remove(5)
    #expect(scheduler.startable(at: at(0)) == [])
    scheduler.remove(2)
    #expect(scheduler.startable(at: at(0)) == [3])
    #expect(scheduler.state(of: 4) == .queued)
  }

  @Test func `high before normal before low`() {
    let scheduler = scheduler()
    scheduler.add(1, 2, priority: .low)
    scheduler.add(3, 4)
    scheduler.add(5, 6, priority: .high)
    #expect(scheduler.runAll() == [5, 6, 3, 4, 1, 2])
  }

  @Test(arguments: Order.allCases)
  func `raised it goes behind those before it, lowered ahead of them`(order: Order) {
    let scheduler = scheduler(order)
    scheduler.add(1, 2, priority: .high)
    scheduler.add(3, 4)
    scheduler.setPriority(3, .high)
    scheduler.setPriority(1, .normal)
    #expect(scheduler.runAll() == [2, 3, 1, 4])
  }

  @Test func `raised and lowered again it stands ahead, and who comes later is not upset`() {
    let scheduler = scheduler()
    scheduler.add(1, 2, 3)
    scheduler.setPriority(2, .high)
    scheduler.setPriority(2, .normal)
    scheduler.add(4)
    #expect(scheduler.runAll() == [2, 1, 3, 4])
  }

  @Test func `where there is more than one place, one is kept from low`() {
    let scheduler = scheduler(active: 3)
    scheduler.add(1, 2, 3, priority: .low)
    #expect(scheduler.startable(at: at(0)) == [1, 2])
    #expect(scheduler.startable(at: at(100)) == [], "waiting long gives no right to that place")
    scheduler.add(4, at: at(100))
    #expect(scheduler.startable(at: at(100)) == [4])
    scheduler.setPriority(1, .normal)
    scheduler.remove(4)
    #expect(scheduler.startable(at: at(100)) == [3])
  }

  @Test func `the only place is for all`() {
    let scheduler = scheduler(active: 1)
    scheduler.add(1, priority: .low)
    #expect(scheduler.startable(at: at(0)) == [1])
  }

  @Test(arguments: Order.allCases)
  func `what has waited past the age bound goes before the younger`(order: Order) {
    let scheduler = scheduler(order)
    scheduler.add(1, priority: .low, at: at(0))
    scheduler.add(2, at: at(1))
    scheduler.add(3, 4, priority: .high, at: at(5))
    let high: [UInt64] = order == .fifo ? [3, 4] : [4, 3]
    #expect(scheduler.startable(at: at(10)) == [high[0]])
    scheduler.remove(high[0])
    #expect(scheduler.startable(at: at(11)) == [1])
    scheduler.remove(1)
    #expect(scheduler.startable(at: at(11)) == [high[1]])
    scheduler.remove(high[1])
    #expect(scheduler.runAll(at: at(12)) == [2])
  }

  @Test func `under a steady stream of high ones, a low one starts when it is old enough`() {
    let scheduler = scheduler(.lifo)
    scheduler.add(1, priority: .low, at: at(0))
    for second in 0...20 as ClosedRange<Int64> {
      scheduler.add(UInt64(100 + second), priority: .high, at: at(second))
      let started = scheduler.startable(at: at(second))
      if started == [1] { return #expect(second == 11) }
      for serial in started { scheduler.remove(serial) }
    }
    Issue.record("it never started")
  }

  @Test func `more places are filled at once, and with fewer what runs goes on`() {
    let scheduler = scheduler(active: 1, perHost: 1)
    scheduler.add(1, 2, 3, 4, 5)
    #expect(scheduler.startable(at: at(0)) == [1])
    scheduler.apply(.init(maxActive: 4, maxPerHost: 1))
    #expect(scheduler.startable(at: at(0)) == [])
    scheduler.apply(.init(maxActive: 4, maxPerHost: 3))
    #expect(scheduler.startable(at: at(0)) == [2, 3])
    scheduler.apply(.init(maxActive: 1, maxPerHost: 9))
    #expect(scheduler.startable(at: at(0)) == [])
    #expect(scheduler.activeCount == 3)
    scheduler.remove(1)
    scheduler.remove(2)
    #expect(scheduler.startable(at: at(0)) == [])
    scheduler.remove(3)
    #expect(scheduler.startable(at: at(0)) == [4])
  }

  @Test func `another order holds for what waits already`() {
    let scheduler = scheduler()
    scheduler.add(1, 2, 3)
    scheduler.apply(.init(maxActive: 1, order: .lifo))
    #expect(scheduler.startable(at: at(0)) == [3])
    scheduler.remove(3)
    scheduler.apply(.init(maxActive: 1, order: .fifo))
    #expect(scheduler.runAll() == [1, 2])
  }

  @Test func `a hundred thousand that wait for one busy host are not looked at again and again`() {
    let scheduler = scheduler(active: 8, perHost: 2)
    for serial in 1...100_000 as ClosedRange<UInt64> {
      scheduler.add(serial, host: "busy", priority: Priority.allCases[Int(serial % 3)])
    }
    #expect(scheduler.startable(at: at(0)).count == 2)
    // The offers of a full host are dropped when they come up; nothing else is ever walked over.
    #expect(scheduler.startable(at: at(0)).isEmpty)
    #expect(scheduler.offered.count <= 6)
    for serial in 200_000...200_999 as ClosedRange<UInt64> {
      scheduler.add(serial, host: "idle")
      #expect(scheduler.offered.count <= 8)
      #expect(scheduler.startable(at: at(0)) == [serial])
      scheduler.remove(serial)
    }
    for serial in 1...1_000 as ClosedRange<UInt64> { scheduler.remove(serial) }
    #expect(scheduler.startable(at: at(0)).count == 2)
    #expect((scheduler.queuedCount, scheduler.activeCount) == (98_998, 2))
  }

  @Test func `enqueueing, changing and cancelling for ever makes nothing grow`() {
    let scheduler = scheduler(active: 1)
    scheduler.add(1, 2)
    _ = scheduler.startable(at: at(0))
    var most = 0
    for serial in 10..<10_010 as Range<UInt64> {
      scheduler.add(serial)
      scheduler.setPriority(serial, .high)
      scheduler.setPriority(2, serial.isMultiple(of: 2) ? .low : .high)
      scheduler.remove(serial)
      most = max(most, scheduler.offered.count)
    }
    #expect(most < 200)
    #expect(scheduler.queuedCount == 1)
  }
}
