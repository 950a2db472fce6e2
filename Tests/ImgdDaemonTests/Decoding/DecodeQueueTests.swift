import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

@Suite struct DecodeQueueTests {
  private var queue = DecodeQueue()

  private mutating func add(
    _ serials: ClosedRange<UInt64>, uid: UInt32 = 1, connection: UInt64 = 1,
    _ priority: Priority = .normal
  ) {
    for serial in serials {
      queue.add(
        QueuedOrder(
          order: DecodeOrder(
            serial: serial, format: .png, picture: Payload([UInt8](repeating: 0, count: 10)),
            rendition: Rendition(.pixels), limits: DecodeLimits()),
          claimant: Claimant(uid: uid, connection: connection), priority: priority, then: { _ in }))
    }
  }

  private mutating func next(_ count: Int) -> [UInt64] {
    (0..<count).compactMap { _ in queue.removeNext()?.order.serial }
  }

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

  @Test mutating func `users take turns however many connections they have`() {
    add(1...2, uid: 1, connection: 1)
    add(11...12, uid: 1, connection: 2)
    add(21...22, uid: 2, connection: 3)
    #expect(next(6) == [1, 21, 11, 22, 2, 12])
  }

  @Test mutating func `connections of a user take turns`() {
    add(1...3, connection: 1)
    add(11...12, connection: 2)
    #expect(next(5) == [1, 11, 2, 12, 3])
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
    #expect(queue.count == 4 && queue.bytes == 40)
    #expect(queue.remove(serial: 1)?.order.serial == 1)
    #expect(queue.remove(serial: 11)?.order.serial == 11)
    #expect(queue.remove(serial: 11) == nil)
    #expect(queue.count == 2 && queue.bytes == 20)
    #expect(next(3) == [2, 3])
    #expect(queue.isEmpty && queue.bytes == 0)
  }

  @Test mutating func `all are taken out in their turns`() {
    add(1...2)
    add(11...12, uid: 2, connection: 2)
    #expect(queue.removeAll().map(\.order.serial) == [1, 11, 2, 12])
    #expect(queue.isEmpty && queue.bytes == 0)
  }
}
