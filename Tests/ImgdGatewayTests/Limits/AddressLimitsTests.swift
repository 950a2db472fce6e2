import ImgdSystem
import Testing

@testable import ImgdGateway

struct AddressLimitsTests {
  private let start = Instant(nanoseconds: 0)
  private let one = AddressKey.v4(1)

  /// Whether a request gets a place, which is given back at once.
  private func passes(_ limits: AddressLimits, _ key: AddressKey, at now: Instant) -> Bool {
    guard let place = try? limits.begin(key, now: now) else { return false }
    place.giveBack()
    return true
  }

  @Test func `an address has some requests under way`() throws {
    let limits = AddressLimits(maxUnderWay: 2, rate: 0)
    let first = try limits.begin(one, now: start)
    let second = try limits.begin(one, now: start)
    let error = #expect(throws: GatewayError.self) { try limits.begin(one, now: start) }
    #expect(
      error?.status == 429 && error?.code == "too_many_requests" && error?.isRetryable == true)
    #expect(limits.refused == 1 && passes(limits, .v4(2), at: start))
    first.giveBack()
    first.giveBack()
    let third = try limits.begin(one, now: start)
    #expect(!passes(limits, one, at: start))
    second.giveBack()
    third.giveBack()
    #expect(passes(limits, one, at: start))
  }

  @Test func `threads share one limit`() throws {
    let limits = AddressLimits(maxUnderWay: 1_000, rate: 500)
    let passed = Locked(0)
    let threads = try (0..<4).map { number in
      try Thread(name: "client") { [start] in
        for _ in 0..<500 {
          guard let place = try? limits.begin(.v4(1), now: start) else { continue }
          passed.withLock { $0 += 1 }
          place.giveBack()
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(passed.withLock { $0 } == 1_000 && limits.refused == 1_000)
  }

  @Test func `a place that is dropped is given back`() throws {
    let limits = AddressLimits(maxUnderWay: 1, rate: 0)
    do { _ = try limits.begin(one, now: start) }
    #expect(passes(limits, one, at: start))
  }

  @Test func `a rate has a burst of two seconds`() {
    let limits = AddressLimits(maxUnderWay: 1, rate: 10)
    #expect((0..<30).count { _ in passes(limits, one, at: start) } == 20)
    #expect(limits.refused == 10 && passes(limits, .unknown, at: start))
    let later = start + .milliseconds(500)
    #expect((0..<30).count { _ in passes(limits, one, at: later) } == 5)
    let muchLater = start + .seconds(60)
    #expect((0..<30).count { _ in passes(limits, one, at: muchLater) } == 20)
  }

  @Test(arguments: [1, 3, 999_999_999, 1_000_000_000, Int.max])
  func `any rate lets requests through`(rate: Int) {
    let limits = AddressLimits(maxUnderWay: 1, rate: rate)
    #expect(passes(limits, one, at: start) && passes(limits, one, at: start))
  }

  @Test func `the oldest idle address is forgotten`() throws {
    let limits = AddressLimits(maxUnderWay: 1, rate: 1, mostAddresses: 3)
    let busy = try limits.begin(.v4(1), now: start)
    for number in 2...3 as ClosedRange<UInt32> {
      #expect(passes(limits, .v4(number), at: start + .milliseconds(Int(number))))
    }
    // Used again, it is not the oldest any more.
    #expect(passes(limits, .v4(2), at: start + .milliseconds(4)))
    #expect(passes(limits, .v4(4), at: start + .milliseconds(5)))
    #expect(limits.addresses == 3 && limits.forgotten == 1)
    #expect(!passes(limits, .v4(2), at: start + .milliseconds(5)))
    #expect(!passes(limits, .v4(1), at: start + .milliseconds(5)))
    busy.giveBack()
  }

  @Test func `the table is full only while all its addresses are busy`() throws {
    let limits = AddressLimits(maxUnderWay: 2, rate: 0, mostAddresses: 2)
    let first = try limits.begin(.v4(1), now: start)
    let second = try limits.begin(.v4(2), now: start)
    #expect(!passes(limits, .v4(3), at: start) && passes(limits, .v4(2), at: start))
    first.giveBack()
    #expect(passes(limits, .v4(3), at: start))
    #expect(limits.addresses == 2 && limits.forgotten == 1)
    second.giveBack()
  }

  @Test func `many addresses take bounded room`() {
    let limits = AddressLimits(maxUnderWay: 1, rate: 1, mostAddresses: 100)
    for number in 0..<10_000 as Range<UInt32> {
      #expect(passes(limits, .v4(number), at: start + .milliseconds(Int(number))))
      if number % 3 == 0 {
        _ = passes(limits, .v4(number / 2), at: start + .milliseconds(Int(number)))
      }
    }
    #expect(limits.addresses == 100)
  }
}
