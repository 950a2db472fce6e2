import Testing

@testable import ImgdSystem

struct TimerTests {
  let clock = LoopClock.manual()
  let loop: EventLoop

  init() throws {
    loop = try EventLoop(clock: clock)
  }

  private func advance(by step: Duration) {
    clock.advance(by: step)
    loop.settle()
  }

  @Test func `a timer fires once, at its deadline`() {
    var fired = 0
    loop.schedule(after: .seconds(2)) { fired += 1 }
    advance(by: .seconds(2) - .nanoseconds(1))
    #expect(fired == 0)
    advance(by: .nanoseconds(1))
    advance(by: .seconds(10))
    #expect(fired == 1)
  }

  @Test func `a timer fires in the order of deadlines`() {
    var order: [Int] = []
    var expected: [Int] = []
    for step in 0..<500 {
      let delay = step * 7_919 % 500
      expected.append(delay)
      loop.schedule(after: .milliseconds(delay)) { order.append(delay) }
    }
    advance(by: .seconds(1))
    #expect(order == expected.sorted())
  }

  @Test func `a timer fires in the order of arrival when deadlines are equal`() {
    var order: [Int] = []
    for number in 0..<100 { loop.schedule(after: .seconds(1)) { order.append(number) } }
    advance(by: .seconds(1))
    #expect(order == Array(0..<100))
  }

  @Test func `a timer keeps its order when others are cancelled`() {
    var order: [Int] = []
    let timers = (0..<200).map { number in
      loop.schedule(after: .milliseconds(number * 31 % 50)) { order.append(number) }
    }
    for number in stride(from: 0, to: 200, by: 3) { timers[number].cancel() }
    advance(by: .seconds(1))
    let kept = (0..<200).filter { $0 % 3 != 0 }
    let expected = kept.sorted { ($0 * 31 % 50, $0) < ($1 * 31 % 50, $1) }
    #expect(order == expected)
  }

  @Test func `a timer may be cancelled by another that is due with it`() {
    var fired: [String] = []
    var second: Timer?
    loop.schedule(after: .seconds(1)) {
      fired.append("first")
      second?.cancel()
    }
    second = loop.schedule(after: .seconds(1)) { fired.append("second") }
    advance(by: .seconds(1))
    #expect(fired == ["first"])
  }

  @Test func `a timer may cancel itself while it fires`() {
    var timer: Timer?
    var fired = 0
    timer = loop.schedule(after: .zero) {
      fired += 1
      timer?.cancel()
    }
    advance(by: .zero)
    timer?.cancel()
    #expect(fired == 1)
  }

  @Test(arguments: [Duration.zero, .seconds(-5), .seconds(Int64.min)])
  func `a timer set by a timer waits for the next tick`(delay: Duration) {
    var fired = 0
    func again() {
      fired += 1
      loop.schedule(after: delay, again)
    }
    loop.schedule(after: delay, again)
    loop.tick(waiting: false)
    #expect(fired == 1, "a timer set by a timer waits for the next tick")
    loop.tick(waiting: true)
    #expect(fired == 2)
  }

  @Test(arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .seconds(9_000_000_000)])
  func `a timer may be beyond the range of the clock`(delay: Duration) {
    clock.advance(by: .seconds(100))
    var fired = 0
    let timer = loop.schedule(after: delay) { fired += 1 }
    loop.nextTick { loop.stop() }
    loop.run()
    #expect(fired == 0)
    timer.cancel()
  }

  @Test func `a timer counts from now and not from the beginning of the tick`() throws {
    let deadline = loop.schedule(after: .seconds(1)) {}.deadline
    clock.advance(by: .seconds(5))
    let late = loop.schedule(after: .seconds(1)) {}.deadline
    #expect(late - deadline == .seconds(5))
  }

  @Test func `the loop sleeps until the deadline on the system's clock`() throws {
    let loop = try EventLoop()
    let start = Instant.current
    loop.schedule(after: .milliseconds(3)) { loop.stop() }
    loop.run()
    #expect(Instant.current - start >= .milliseconds(3))
  }

  @Test func `a cancelled timer may free a capture that uses the loop`() {
    final class Guest {
      let leave: () -> Void
      init(_ leave: @escaping () -> Void) { self.leave = leave }
      deinit { leave() }
    }
    var left = 0
    func leave() {
      left += 1
      loop.schedule(after: .zero) {}.cancel()
      loop.atTickEnd {}
      loop.nextTick {}
    }
    do {
      let guest = Guest(leave)
      loop.schedule(after: .zero) { [guest] in _ = guest }
      loop.schedule(after: .zero) { [guest] in _ = guest }.cancel()
    }
    do {
      let guest = Guest(leave)
      loop.atTickEnd { [guest] in _ = guest }
    }
    do {
      let guest = Guest(leave)
      loop.nextTick { [guest] in _ = guest }
    }
    loop.settle()
    #expect(left == 3)
  }
}
