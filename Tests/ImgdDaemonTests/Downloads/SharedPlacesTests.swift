import ImgdSystem
import ImgdWire
import Testing

@testable import ImgdDaemon

private let now = Instant(nanoseconds: 0)

private func client(_ connection: UInt64, uid: UInt32 = 1) -> Claimant {
  Claimant(uid: uid, connection: connection)
}

extension DownloadScheduler {
  /// Puts downloads in, each from a host of its own, and answers which start.
  fileprivate func ask(_ serials: ClosedRange<UInt64>, by claimant: Claimant) -> [UInt64] {
    for serial in serials {
      enqueue(serial, host: "host of \(serial)", by: claimant, .normal, at: now)
    }
    return startable(at: now)
  }

  fileprivate func markSlow(_ serials: [UInt64]) {
    for serial in serials { mark(serial, isSlow: true) }
  }
}

/// Places that are kept for others, and places of slow downloads.
struct SharedPlacesTests {
  private func scheduler(_ places: Int = 32, perHost: Int = 4) -> DownloadScheduler {
    DownloadScheduler(settings: .init(maxActive: places, maxPerHost: perHost))
  }

  @Test func `the last places are kept for connections and users that hold none`() {
    let scheduler = scheduler()
    #expect(scheduler.ask(1...40, by: client(1)).count == 28)
    #expect(scheduler.ask(101...140, by: client(2)) == [101])
    #expect(scheduler.ask(201...240, by: client(3)) == [201])
    #expect(scheduler.ask(301...340, by: client(4)) == [], "the rest is for other users")
    #expect(scheduler.ask(401...440, by: client(5, uid: 2)) == [401])
    #expect(scheduler.ask(501...540, by: client(6, uid: 3)) == [501])
    #expect(scheduler.ask(601...640, by: client(7, uid: 4)) == [])
    #expect(scheduler.places.active == 32)
  }

  @Test func `a client at the same host gets a kept place, whoever waits there before it`() {
    let scheduler = scheduler(perHost: 100)
    for serial in 1...40 as ClosedRange<UInt64> {
      scheduler.enqueue(serial, host: "one", by: client(1), .normal, at: now)
    }
    #expect(scheduler.startable(at: now).count == 28)
    scheduler.enqueue(99, host: "one", by: client(2), .normal, at: now)
    #expect(scheduler.startable(at: now) == [99])
  }

  @Test(arguments: 1...7)
  func `with fewer than eight places nothing is kept, and slow ones count`(places: Int) {
    let scheduler = scheduler(places)
    let started = scheduler.ask(1...40, by: client(1))
    #expect(started.count == places)
    scheduler.markSlow(started)
    #expect(scheduler.ask(101...102, by: client(2, uid: 2)) == [])
  }

  @Test func `slow downloads leave their places to others, and take them again when they flow`() {
    let scheduler = scheduler(8)
    let dead = scheduler.ask(1...7, by: client(1))
    #expect(dead.count == 7)
    #expect(scheduler.ask(101...107, by: client(2, uid: 2)) == [101])
    scheduler.markSlow(dead)
    #expect(scheduler.startable(at: now) == [102, 103, 104, 105, 106, 107])
    #expect((scheduler.places.active, scheduler.places.slow) == (14, 7))
    for serial in dead { scheduler.mark(serial, isSlow: false) }
    for serial in 101...106 as ClosedRange<UInt64> { scheduler.remove(serial) }
    #expect(scheduler.ask(111...112, by: client(2, uid: 2)) == [], "eight run")
  }

  @Test func `how many slow downloads run is bounded for a connection, a user, and all`() {
    let scheduler = scheduler(8)
    for (uid, connection) in [(1, 1), (1, 2), (1, 3), (2, 4), (2, 5), (3, 6)] as [(UInt32, UInt64)] {
      let first = connection * 1_000
      var started = scheduler.ask(first...first + 99, by: client(connection, uid: uid))
      while !started.isEmpty {
        scheduler.markSlow(started)
        started = scheduler.startable(at: now)
      }
      let expected: [UInt64: Int] = [1: 24, 2: 32, 3: 32, 4: 56, 5: 64, 6: 64]
      #expect(scheduler.places.active == expected[connection])
    }
  }

  @Test func `slow downloads of a host still count for the host`() {
    let scheduler = scheduler(8, perHost: 2)
    for serial in 1...4 as ClosedRange<UInt64> {
      scheduler.enqueue(serial, host: "dead", by: client(1), .normal, at: now)
    }
    scheduler.markSlow(scheduler.startable(at: now))
    #expect(scheduler.startable(at: now) == [])
    #expect(scheduler.places.slow == 2)
  }

  /// A connection has asked a dead host for six pictures, and two are slow; then it asks elsewhere.
  private func besideDeadHost() -> DownloadScheduler {
    let scheduler = scheduler(8, perHost: 3)
    for serial in 1...2 as ClosedRange<UInt64> {
      scheduler.enqueue(serial, host: "dead", by: client(1), .normal, at: now)
    }
    scheduler.markSlow(scheduler.startable(at: now))
    for serial in 3...6 as ClosedRange<UInt64> {
      scheduler.enqueue(serial, host: "dead", by: client(1), .normal, at: now)
    }
    return scheduler
  }

  @Test func `a host of which all are slow lets others go first, and takes what is left`() {
    let scheduler = besideDeadHost()
    #expect(scheduler.ask(11...12, by: client(1)) == [11, 12, 3])
    scheduler.markSlow([3])
    scheduler.remove(1)
    #expect(scheduler.ask(21...21, by: client(1)) == [21, 4])
  }

  @Test func `a host that flows again, or of which one ends in time, yields no more`() {
    for ends in [true, false] {
      let scheduler = besideDeadHost()
      #expect(scheduler.startable(at: now) == [3])
      if ends { scheduler.remove(3) } else { scheduler.mark(1, isSlow: false) }
      if !ends { scheduler.remove(3) }
      #expect(scheduler.ask(11...12, by: client(1)) == [4, 11, 12])
    }
  }

  @Test func `places come back whoever leaves, and nothing is remembered of those who left`() {
    let scheduler = scheduler(8)
    for round in 1...100 as ClosedRange<UInt64> {
      let started = scheduler.ask(
        round * 10...round * 10 + 5, by: client(round, uid: UInt32(round)))
      #expect(started.count == 6)
      scheduler.markSlow([started[0], started[3]])
      for serial in started { scheduler.remove(serial) }
    }
    #expect((scheduler.places.active, scheduler.places.slow) == (0, 0))
    #expect(scheduler.places.held.isEmpty)
  }
}
