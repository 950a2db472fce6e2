import ImgdSystem
import ImgdWire
import Testing

@testable import ImgdDaemon

private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

private func client(_ connection: UInt64, uid: UInt32 = 1) -> Claimant {
  Claimant(uid: uid, connection: connection)
}

extension DownloadScheduler {
  fileprivate func add(
    _ serials: ClosedRange<UInt64>, host: String? = nil, by claimant: Claimant,
    _ priority: Priority = .normal, at now: Instant = at(0)
  ) {
    for serial in serials {
      enqueue(serial, host: host ?? "host of \(serial)", by: claimant, priority, at: now)
    }
  }

  /// Starts and ends so many downloads one by one, and tells their order.
  fileprivate func run(_ count: Int, at now: Instant = at(0)) -> [UInt64] {
    var order: [UInt64] = []
    while order.count < count, let serial = startable(at: now).first {
      order.append(serial)
      remove(serial)
    }
    return order
  }
}

/// Whose turn it is.
struct DownloadTurnsTests {
  private func scheduler(
    _ places: Int = 1, perHost: Int = 100, _ order: Order = .fifo
  ) -> DownloadScheduler {
    DownloadScheduler(
      settings: .init(maxActive: places, maxPerHost: perHost, order: order))
  }

  @Test(arguments: ["one host", nil])
  func `connections take turns, and each keeps its own order`(host: String?) {
    let scheduler = scheduler()
    scheduler.add(1...3, host: host, by: client(1))
    scheduler.add(11...12, host: host, by: client(2))
    scheduler.add(21...23, host: host, by: client(3))
    #expect(scheduler.run(8) == [1, 11, 21, 2, 12, 22, 3, 23])
  }

  @Test(arguments: ["one host", nil])
  func `users take turns, however many connections one of them has`(host: String?) {
    let scheduler = scheduler()
    for number in 1...9 as ClosedRange<UInt64> {
      scheduler.add(number...number, host: host, by: client(number))
    }
    scheduler.add(11...13, host: host, by: client(10, uid: 2))
    #expect(scheduler.run(8) == [1, 11, 2, 12, 3, 13, 4, 5])
  }

  @Test(
    arguments: Order.allCases,
    [client(2), client(2, uid: 2)])
  func `five hundred downloads of one client delay another's by one transfer, whatever their age`(
    order: Order, other: Claimant
  ) {
    for host in ["one host", nil] {
      let scheduler = scheduler(1, perHost: 4, order)
      scheduler.add(1...500, host: host, by: client(1))
      var running = scheduler.startable(at: at(0))
      for seconds in [0, 5, 60, 600] as [Int64] {
        let asked = UInt64(1_000 + seconds)
        scheduler.add(asked...asked, host: host, by: other, at: at(seconds))
        for serial in running { scheduler.remove(serial) }
        running = scheduler.startable(at: at(seconds))
        #expect(running == [asked])
        for serial in running { scheduler.remove(serial) }
        running = scheduler.startable(at: at(seconds))
        #expect(running.count == 1 && running[0] <= 500)
      }
    }
  }

  @Test func `a client that asks for one at a time does not get ahead of those that wait`() {
    let scheduler = scheduler()
    scheduler.add(1...100, by: client(1))
    var order: [UInt64] = []
    for serial in 1_000...1_003 as ClosedRange<UInt64> {
      scheduler.add(serial...serial, by: client(serial))
      order += scheduler.run(2)
    }
    #expect(order == [1, 1_000, 2, 1_001, 3, 1_002, 4, 1_003])
  }

  @Test func `old downloads of a lower priority get one start in four`() {
    let scheduler = scheduler()
    scheduler.add(1...500, by: client(1), .low)
    scheduler.add(1_001...1_020, by: client(2), at: at(11))
    #expect(
      scheduler.run(9, at: at(11))
        == [1, 1_001, 1_002, 1_003, 2, 1_004, 1_005, 1_006, 3])
  }

  @Test func `age moves a download ahead of its own connection's alone`() {
    let scheduler = scheduler(1, .lifo)
    scheduler.add(1...2, by: client(1), at: at(0))
    scheduler.add(3...4, by: client(1), at: at(5))
    scheduler.add(11...12, by: client(2), at: at(9))
    #expect(scheduler.run(6, at: at(11)) == [1, 12, 2, 11, 4, 3])
  }

  @Test func `a download that another client joins starts in the turn of either`() {
    let scheduler = scheduler()
    scheduler.add(1...500, by: client(1))
    let running = scheduler.startable(at: at(0))
    scheduler.join(400, by: client(2, uid: 2), .normal, at: at(0))
    for serial in running { scheduler.remove(serial) }
    #expect(scheduler.run(2) == [400, 2])
  }

  @Test func `a client that leaves a shared download takes its turn with it`() {
    let scheduler = scheduler()
    scheduler.add(1...3, by: client(1))
    scheduler.join(3, by: client(2), .high, at: at(0))
    scheduler.leave(3, by: client(2), .high)
    #expect(scheduler.run(3) == [1, 2, 3])
  }

  @Test func `ten thousand connections at one host cost a few steps each`() {
    let scheduler = scheduler()
    for number in 1...10_000 as ClosedRange<UInt64> {
      scheduler.add(number...number, host: "busy", by: client(number))
    }
    #expect(scheduler.gate.offeredCount == 1)
    #expect(scheduler.run(10_000) == Array(1...10_000))
  }
}
