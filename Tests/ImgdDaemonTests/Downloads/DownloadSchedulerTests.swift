import ImgdSystem
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Seconds on a clock that begins where a test begins.
private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

private let alone = Claimant(uid: 1, connection: 1)

private func scheduler(
  _ order: Order = .fifo, active: Int = 1, perHost: Int = 100
) -> DownloadScheduler {
  DownloadScheduler(
    settings: .init(
      maxActive: active, maxPerHost: perHost, order: order, ageBound: .seconds(10)))
}

extension DownloadScheduler {
  fileprivate func add(
    _ serials: UInt64..., host: String = "h", by claimant: Claimant = alone,
    priority: Priority = .normal, at now: Instant = at(0)
  ) {
    for serial in serials { enqueue(serial, host: host, by: claimant, priority, at: now) }
  }

  /// The only request for a download is taken for another one of that priority.
  fileprivate func change(_ serial: UInt64, from before: Priority, to after: Priority) {
    join(serial, by: alone, after, at: at(0))
    leave(serial, by: alone, before)
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

/// The order in which waiting downloads start.
struct DownloadSchedulerTests {
  @Test func `fifo starts the oldest download first`() {
    let scheduler = scheduler()
    scheduler.add(1, 2, 3, 4)
    #expect(scheduler.runAll() == [1, 2, 3, 4])
    #expect((scheduler.places.active, scheduler.queuedCount, scheduler.places.peak) == (0, 0, 1))
  }

  @Test func `lifo starts the newest waiting download first`() {
    let scheduler = scheduler(.lifo)
    scheduler.add(1)
    #expect(scheduler.startable(at: at(0)) == [1])
    for serial in 2...14 as ClosedRange<UInt64> { scheduler.add(serial) }
    #expect(scheduler.startable(at: at(0)) == [])
    scheduler.remove(1)
    #expect(scheduler.runAll() == Array((2...14 as ClosedRange<UInt64>).reversed()))
  }

  @Test func `at most the allowed number run at once, and a finished one frees its place`() {
    let scheduler = scheduler(active: 4)
    scheduler.add(1, 2, 3, 4, 5, 6)
    #expect(scheduler.startable(at: at(0)) == [1, 2, 3, 4])
    #expect(scheduler.startable(at: at(0)) == [])
    #expect((scheduler.places.active, scheduler.queuedCount) == (4, 2))
    scheduler.remove(2)
    scheduler.remove(5)
    #expect(scheduler.startable(at: at(0)) == [6])
    #expect((scheduler.places.active, scheduler.queuedCount) == (4, 0))
    #expect(scheduler.places.peak == 4)
    scheduler.remove(99)
    #expect(scheduler.places.active == 4)
  }

  @Test func `a host at its limit does not delay other hosts`() {
    let scheduler = scheduler(active: 4, perHost: 2)
    scheduler.add(1, 2, 3, 4, host: "busy")
    scheduler.add(5, host: "other")
    #expect(scheduler.startable(at: at(0)) == [1, 2, 5])
    scheduler.remove(5)
    #expect(scheduler.startable(at: at(0)) == [])
    scheduler.remove(2)
    #expect(scheduler.startable(at: at(0)) == [3])
    #expect(scheduler.queuedCount == 1)
  }

  @Test func `high priority starts before normal, and normal before low`() {
    let scheduler = scheduler()
    scheduler.add(1, 2, priority: .low)
    scheduler.add(3, 4)
    scheduler.add(5, 6, priority: .high)
    #expect(scheduler.runAll() == [5, 6, 3, 4, 1, 2])
  }

  @Test(arguments: Order.allCases)
  func `a raised download goes behind those of its new priority, a lowered one ahead of them`(
    order: Order
  ) {
    let scheduler = scheduler(order)
    scheduler.add(1, 2, priority: .high)
    scheduler.add(3, 4)
    scheduler.change(3, from: .normal, to: .high)
    scheduler.change(1, from: .high, to: .normal)
    #expect(scheduler.runAll() == [2, 3, 1, 4])
  }

  @Test
  func `a download that is raised and lowered again is ahead, and later ones keep their order`() {
    let scheduler = scheduler()
    scheduler.add(1, 2, 3)
    scheduler.change(2, from: .normal, to: .high)
    scheduler.change(2, from: .high, to: .normal)
    scheduler.add(4)
    #expect(scheduler.runAll() == [2, 1, 3, 4])
  }

  @Test func `one of several places is kept free from low priority`() {
    let scheduler = scheduler(active: 3)
    scheduler.add(1, 2, 3, priority: .low)
    #expect(scheduler.startable(at: at(0)) == [1, 2])
    #expect(scheduler.startable(at: at(100)) == [], "waiting long gives no right to that place")
    scheduler.add(4, at: at(100))
    #expect(scheduler.startable(at: at(100)) == [4])
    scheduler.change(1, from: .low, to: .normal)
    scheduler.remove(4)
    #expect(scheduler.startable(at: at(100)) == [3])
  }

  @Test func `a single place is open to every priority`() {
    let scheduler = scheduler(active: 1)
    scheduler.add(1, priority: .low)
    #expect(scheduler.startable(at: at(0)) == [1])
  }

  @Test(arguments: Order.allCases)
  func `a download that has waited past the age limit starts before younger ones`(order: Order) {
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

  @Test func `a low download starts at the age limit even in a steady stream of high ones`() {
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

  @Test
  func `additional places are filled at once, and removed places let running downloads finish`() {
    let scheduler = scheduler(active: 1, perHost: 1)
    scheduler.add(1, 2, 3, 4, 5)
    #expect(scheduler.startable(at: at(0)) == [1])
    scheduler.apply(.init(maxActive: 4, maxPerHost: 1))
    #expect(scheduler.startable(at: at(0)) == [])
    scheduler.apply(.init(maxActive: 4, maxPerHost: 3))
    #expect(scheduler.startable(at: at(0)) == [2, 3])
    scheduler.apply(.init(maxActive: 1, maxPerHost: 9))
    #expect(scheduler.startable(at: at(0)) == [])
    #expect(scheduler.places.active == 3)
    scheduler.remove(1)
    scheduler.remove(2)
    #expect(scheduler.startable(at: at(0)) == [])
    scheduler.remove(3)
    #expect(scheduler.startable(at: at(0)) == [4])
  }

  @Test func `a new order applies to waiting downloads`() {
    let scheduler = scheduler()
    scheduler.add(1, 2, 3)
    scheduler.apply(.init(maxActive: 1, order: .lifo))
    #expect(scheduler.startable(at: at(0)) == [3])
    scheduler.remove(3)
    scheduler.apply(.init(maxActive: 1, order: .fifo))
    #expect(scheduler.runAll() == [1, 2])
  }

  @Test func `a hundred thousand downloads that wait for one busy host are not scanned repeatedly`() {
    let scheduler = scheduler(active: 8, perHost: 2)
    for serial in 1...100_000 as ClosedRange<UInt64> {
      scheduler.add(serial, host: "busy", priority: Priority.allCases[Int(serial % 3)])
    }
    #expect(scheduler.startable(at: at(0)).count == 2)
    // A full host offers nothing.
    #expect(scheduler.startable(at: at(0)).isEmpty)
    #expect(scheduler.gate.offeredCount == 0)
    for serial in 200_000...200_999 as ClosedRange<UInt64> {
      scheduler.add(serial, host: "idle")
      #expect(scheduler.gate.offeredCount == 1)
      #expect(scheduler.startable(at: at(0)) == [serial])
      scheduler.remove(serial)
    }
    for serial in 1...1_000 as ClosedRange<UInt64> { scheduler.remove(serial) }
    #expect(scheduler.startable(at: at(0)).count == 2)
    #expect((scheduler.queuedCount, scheduler.places.active) == (98_998, 2))
  }

  @Test func `endless enqueueing, changing and cancelling does not grow the scheduler`() {
    let scheduler = scheduler(active: 1)
    scheduler.add(1, 2)
    _ = scheduler.startable(at: at(0))
    var most = 0
    for serial in 10..<10_010 as Range<UInt64> {
      scheduler.add(serial)
      scheduler.change(serial, from: .normal, to: .high)
      scheduler.join(2, by: alone, .high, at: at(0))
      scheduler.leave(2, by: alone, .high)
      scheduler.remove(serial)
      most = max(most, scheduler.gate.offeredCount)
    }
    #expect(most < 200)
    #expect(scheduler.queuedCount == 1)
  }
}
