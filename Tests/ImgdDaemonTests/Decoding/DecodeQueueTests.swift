import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

struct DecodeQueueTests {
  private var queue = DecodeQueue()
  private var now = Instant(nanoseconds: 0)

  private func claim(
    uid: UInt32 = 1, connection: UInt64 = 1, share: String? = nil, _ priority: Priority = .normal
  ) -> DecodeClaim {
    DecodeClaim(
      claimant: Claimant(uid: uid, connection: connection, share: share), priority: priority)
  }

  private mutating func add(
    _ serials: ClosedRange<UInt64>, uid: UInt32 = 1, connection: UInt64 = 1,
    share: String? = nil, _ priority: Priority = .normal,
    expecting time: Duration = .milliseconds(10), of picture: BodyChecksum = .unknown
  ) {
    for serial in serials {
      let claim = claim(uid: uid, connection: connection, share: share, priority)
      queue.add(
        QueuedOrder(
          order: DecodeOrder(
            serial: serial, format: .png, picture: Payload([UInt8](repeating: 0, count: 10)),
            rendition: Rendition(.pixels), limits: DecodeLimits()),
          picture: picture, expected: ServiceTime(time), claims: [claim: 1],
          then: { _ in }), at: now)
    }
  }

  /// Begins the next orders, as if there were a decoder for each.
  private mutating func next(_ count: Int, forLast isLast: Bool = false) -> [UInt64] {
    (0..<count).compactMap { _ in
      queue.removeNext(forLast: isLast, at: now)?.order.serial
    }
  }

  /// Ends an order so much later.
  private mutating func end(_ serial: UInt64, after time: Duration = .zero) {
    now = now + time
    queue.settle(serial, at: now)
  }

  /// The orders that one decoder carries out, one after the other.
  private mutating func carryOut(_ count: Int, each time: (UInt64) -> Duration) -> [UInt64] {
    (0..<count).flatMap { _ in
      let serials = next(1)
      for serial in serials { end(serial, after: time(serial)) }
      return serials
    }
  }

  // MARK: Order

  @Test mutating func `the first comes first`() {
    add(1...20)
    #expect(next(21) == Array(1...20))
  }

  @Test mutating func `a higher priority goes before`() {
    add(1...2, .low)
    add(3...4)
    add(5...6, .high)
    #expect(next(6) == [5, 6, 3, 4, 1, 2])
  }

  @Test mutating func `nobody is urgent at the expense of others`() {
    add(1...3, connection: 1, .high)
    add(11...12, connection: 2)
    add(21...22, uid: 2, connection: 3, .low)
    #expect(next(7) == [1, 21, 11, 22, 2, 12, 3])
  }

  @Test mutating func `users take turns however many connections they have`() {
    add(1...2, uid: 1, connection: 1)
    add(11...12, uid: 1, connection: 2)
    add(21...22, uid: 2, connection: 3)
    #expect(next(6) == [1, 21, 11, 22, 2, 12])
  }

  @Test mutating func `connections of a user take turns however many shares they have`() {
    add(1...2, connection: 1, share: "a")
    add(11...12, connection: 1, share: "b")
    add(21...22, connection: 2)
    #expect(next(6) == [1, 21, 11, 22, 2, 12])
  }

  @Test mutating func `shares of a connection take turns, and all that names none is one of them`() {
    add(1...3, share: "a")
    add(11...12)
    add(21...22, share: "b")
    #expect(next(7) == [1, 11, 21, 2, 12, 22, 3])
  }

  @Test mutating func `a newcomer is next, whatever others have had before`() {
    add(1...10, uid: 1, connection: 1)
    #expect(next(4) == [1, 2, 3, 4])
    add(11...12, uid: 2, connection: 2)
    #expect(next(3) == [11, 5, 12])
  }

  @Test mutating func `who was served and comes again is no newcomer`() {
    add(1...3, uid: 1, connection: 1)
    add(11...11, uid: 2, connection: 2)
    #expect(next(2) == [1, 11])
    add(12...12, uid: 2, connection: 2)
    #expect(next(3) == [2, 12, 3])
  }

  @Test mutating func `what is given up waits no longer, and is counted no longer`() {
    add(1...3)
    add(11...11, uid: 2)
    #expect(queue.count == 4)
    #expect(queue.remove(serial: 1)?.order.serial == 1)
    #expect(queue.remove(serial: 11)?.order.serial == 11)
    #expect(queue.remove(serial: 11) == nil)
    #expect(queue.count == 2)
    #expect(next(3) == [2, 3])
    #expect(queue.isEmpty)
  }

  @Test mutating func `all are taken out in their turns`() {
    add(1...2)
    add(11...12, uid: 2, connection: 2)
    #expect(queue.removeAll(at: now).map(\.order.serial) == [1, 11, 2, 12])
    #expect(queue.isEmpty)
    add(1...1)
    #expect(next(1) == [1])
  }

  // MARK: Time

  @Test mutating func `turns are by the time that orders took, and not by their number`() {
    add(1...3, share: "slow", expecting: .seconds(1))
    add(101...150, share: "quick")
    let order = carryOut(53) { $0 < 100 ? .seconds(1) : .milliseconds(50) }
    let slow = order.indices.filter { order[$0] < 100 }
    // Twenty of the quick ones take as long as one of the others.
    #expect(slow == [0, 21, 42])
  }

  @Test mutating func `what an order is expected to take is charged at once`() {
    add(1...3, share: "slow", expecting: .seconds(1))
    add(11...13, share: "quick")
    #expect(next(6) == [1, 11, 12, 13, 2, 3])
  }

  @Test mutating func `a wrong expectation is put right at the end`() {
    add(1...4, share: "a", expecting: .seconds(9))
    add(11...14, share: "b", expecting: .milliseconds(10))
    // Each takes as long as the others.
    let order = carryOut(8) { _ in .milliseconds(100) }
    #expect(order == [1, 11, 2, 12, 3, 13, 4, 14])
  }

  @Test mutating func `who was away has saved nothing`() {
    add(1...40, share: "a")
    _ = carryOut(20) { _ in .milliseconds(10) }
    add(101...110, share: "b")
    let order = carryOut(6) { _ in .milliseconds(10) }
    #expect(order[0] == 101 && order.count { $0 > 100 } == 3)
  }

  @Test mutating func `who asks one by one pays for what was used before`() {
    add(1...1, share: "a", expecting: .seconds(1))
    add(101...140, share: "b")
    #expect(carryOut(1) { _ in .seconds(1) } == [1])
    add(2...2, share: "a", expecting: .seconds(1))
    #expect(carryOut(6) { _ in .milliseconds(200) } == [101, 102, 103, 104, 105, 2])
  }

  @Test mutating func `who owes comes up though there is a newcomer for every order`() {
    add(1...2, share: "a", expecting: .seconds(1))
    add(101...101, share: "b0")
    #expect(carryOut(1) { _ in .seconds(1) } == [1])
    var served: [UInt64] = []
    for number in 1...400 {
      add(UInt64(101 + number)...UInt64(101 + number), share: "b\(number)")
      served += carryOut(1) { _ in .milliseconds(10) }
      if served.contains(2) { break }
    }
    #expect(served.last == 2)
  }

  @Test mutating func `nothing is owed when nobody else is there`() {
    add(1...1, share: "a", expecting: .seconds(9))
    _ = carryOut(1) { _ in .seconds(9) }
    add(2...2, share: "a")
    add(11...12, share: "b")
    #expect(next(3) == [2, 11, 12])
  }

  @Test func `a hundred thousand shares leave nothing behind but the largest debts`() {
    let line = TurnLine(.share, to: .share)
    func place(_ number: Int64, _ share: String) -> Claim {
      Claim(
        to: 0, by: claim(share: share).claimant, .normal, arrival: number,
        expecting: ServiceTime(.milliseconds(1)))
    }
    line.insert(place(0, "waits"))
    line.insert(place(1, "runs"))
    for number in 2..<100_002 as Range<Int64> {
      line.insert(place(number, "\(number)"))
      guard let next = line.heads(admits: { _ in .anything })?.next else { break }
      line.withdraw(next)
      line.charge(for: next)
      line.leave(next, after: ServiceTime(.seconds(10)))
    }
    #expect(line.count <= 2 + 64 + 1)
  }

  // MARK: The last decoder

  @Test mutating func `who has a decoder gets the last one for nothing slow`() {
    add(1...3, expecting: .seconds(2))
    #expect(next(1, forLast: false) == [1])
    #expect(!queue.hasNext(forLast: true) && queue.hasNext(forLast: false))
    #expect(next(1, forLast: true) == [])
    #expect(next(1, forLast: false) == [2])
  }

  @Test mutating func `the last decoder is for what is quick, wherever it stands`() {
    add(1...3, share: "a", expecting: .seconds(2))
    add(4...4, share: "a", expecting: .milliseconds(250))
    add(11...12, connection: 2, expecting: .seconds(2))
    add(13...13, connection: 2, share: "b", expecting: .milliseconds(250))
    #expect(next(1) == [1])
    #expect(next(3, forLast: true) == [13, 4])
  }

  @Test mutating func `neither another connection nor another share makes another user`() {
    add(1...1, connection: 1, share: "a", expecting: .seconds(2))
    add(2...2, connection: 1, share: "b", expecting: .seconds(2))
    add(3...3, connection: 2, expecting: .seconds(2))
    add(4...4, uid: 2, connection: 3, expecting: .seconds(2))
    #expect(next(1) == [1])
    #expect(next(2, forLast: true) == [4])
  }

  @Test mutating func `a decoder that is free again is held by nobody`() {
    add(1...2, expecting: .seconds(2))
    #expect(next(1, forLast: true) == [1])
    #expect(next(1, forLast: true) == [])
    end(1, after: .seconds(2))
    #expect(next(1, forLast: true) == [2])
  }

  @Test mutating func `who is passed over saves no more than a moment by that`() {
    add(1...2, uid: 1, connection: 1, expecting: .seconds(20))
    add(101...900, uid: 2, connection: 2)
    #expect(next(1) == [1])
    // The other user has two decoders meanwhile.
    for _ in 0..<200 {
      let pair = next(2, forLast: true)
      now = now + .milliseconds(100)
      for serial in pair { end(serial) }
    }
    add(3...30, uid: 1, connection: 1)
    _ = queue.remove(serial: 2)
    end(1)
    let order = carryOut(10) { _ in .milliseconds(100) }
    #expect(order[0] == 3 && order.count { $0 > 100 } >= 3)
  }

  @Test mutating func `forms of a picture that was out of all proportion are quick no more`() {
    let (scans, usual) = (BodyChecksum(of: Payload([1])), BodyChecksum(of: Payload([2])))
    add(1...1, of: scans)
    add(2...2, of: usual)
    #expect(next(2) == [1, 2])
    end(2, after: .milliseconds(900))
    end(1, after: .milliseconds(100))
    add(3...3)
    #expect(next(1) == [3])
    add(4...4, of: scans)
    add(5...5, of: usual)
    #expect(next(2, forLast: true) == [5])
  }

  // MARK: Several who wait for one order

  @Test mutating func `an order has the best place of those who wait for it`() {
    add(1...5, share: "a")
    add(6...6, share: "a", .low)
    add(11...12, share: "b")
    #expect(queue.join(6, claim(share: "b", .high)) == true)
    #expect(next(4) == [1, 6, 2, 11])
    #expect(queue.join(6, claim()) == false)
  }

  @Test mutating func `an order is paid by the one in whose turn it starts`() {
    add(1...3, share: "a")
    #expect(queue.join(3, claim(share: "b")) == true)
    #expect(next(2) == [1, 3])
    add(11...11, share: "b")
    #expect(next(2) == [2, 11])
  }

  @Test mutating func `an order falls back when the one leaves who gave it its place`() {
    add(1...2, share: "a")
    add(3...3, share: "a", .low)
    for _ in 0..<2 { #expect(queue.join(3, claim(share: "b", .high)) == true) }
    #expect(queue.leave(3, claim(share: "b", .high)) == true)
    #expect(queue.leave(3, claim(share: "b", .high)) == true)
    #expect(next(3) == [1, 2, 3])
  }

  @Test mutating func `an order stays where one of two waits who gave it its place`() {
    add(1...2, share: "a")
    add(3...3, share: "a", .low)
    for _ in 0..<2 { #expect(queue.join(3, claim(share: "b", .high)) == true) }
    #expect(queue.leave(3, claim(share: "b", .high)) == true)
    #expect(next(3) == [1, 3, 2])
  }

  @Test mutating func `an order keeps the place of those who stay when the first leaves`() {
    add(1...3, share: "a")
    #expect(queue.join(3, claim(share: "b")) == true)
    #expect(queue.leave(3, claim(share: "a")) == true)
    #expect(next(3) == [1, 3, 2])
    #expect(queue.isEmpty)
    #expect(next(1) == [])
  }
}
