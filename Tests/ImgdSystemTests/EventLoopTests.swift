import Testing

@testable import ImgdSystem

struct EventLoopTests {
  let clock = LoopClock.manual()
  let loop: EventLoop

  init() throws {
    loop = try EventLoop(clock: clock)
  }

  @Test func `a tick handles deferred actions, events, timers and its end in this order`() throws {
    let pair = try SocketPair()
    var order: [String] = []
    let watch = try loop.watch(pair.number, for: .read) { _ in order.append("event") }
    loop.atTickEnd { order.append("end") }
    loop.schedule(after: .zero) { order.append("timer") }
    loop.nextTick { order.append("left over") }
    pair.poke()
    #expect(loop.tick(waiting: true))
    #expect(order == ["left over", "event", "timer", "end"])
    watch.cancel()
  }

  @Test func `actions deferred to the end of a tick run in that tick`() {
    var order: [Int] = []
    loop.atTickEnd {
      order.append(1)
      loop.atTickEnd {
        order.append(3)
        loop.atTickEnd { order.append(4) }
      }
    }
    loop.atTickEnd { order.append(2) }
    loop.tick(waiting: false)
    #expect(order == [1, 2, 3, 4])
    #expect(!loop.tick(waiting: false))
  }

  @Test func `an action deferred to the next tick does not run in this one`() {
    var turns = 0
    func again() {
      turns += 1
      loop.nextTick(again)
    }
    loop.nextTick(again)
    for turn in 1...5 {
      #expect(loop.tick(waiting: true), "it does not wait")
      #expect(turns == turn)
    }
  }

  @Test func `settling runs until nothing is ready, due or deferred`() {
    var order: [String] = []
    loop.nextTick {
      order.append("next")
      loop.schedule(after: .zero) {
        order.append("timer")
        loop.atTickEnd {
          order.append("end")
          loop.nextTick { order.append("next again") }
        }
      }
    }
    loop.settle()
    #expect(order == ["next", "timer", "end", "next again"])
  }

  @Test func `stopping ends the run after the present tick`() {
    var order: [String] = []
    loop.nextTick {
      loop.stop()
      order.append("stopped")
      loop.atTickEnd { order.append("end") }
      loop.nextTick { order.append("never") }
    }
    loop.run()
    #expect(order == ["stopped", "end"])
    loop.run()
    #expect(order.count == 2, "a loop that was stopped does not turn again")
  }

  @Test func `a handler may stop the loop`() throws {
    let pair = try SocketPair()
    let watch = try loop.watch(pair.number, for: .read) { _ in loop.stop() }
    pair.poke()
    loop.run()
    watch.cancel()
  }

  @Test func `the loop's clock stands still within a tick`() {
    var seen: [Instant] = []
    clock.advance(by: .seconds(1))
    loop.nextTick {
      seen.append(loop.now)
      clock.advance(by: .seconds(1))
    }
    loop.atTickEnd { seen.append(loop.now) }
    loop.tick(waiting: false)
    #expect(seen == [Instant(nanoseconds: 1_000_000_000), Instant(nanoseconds: 1_000_000_000)])
  }

  @Test func `a freed loop frees its watches, timers and actions`() throws {
    final class Guest {}
    weak var gone: Guest?
    func turn() throws {
      let pair = try SocketPair()
      let loop = try EventLoop()
      let guest = Guest()
      gone = guest
      _ = try loop.watch(pair.number, for: .read) { _ in _ = guest }
      loop.schedule(after: .seconds(9)) { _ = guest }
      loop.atTickEnd { _ = guest }
      loop.nextTick { _ = guest }
      _ = try loop.makeMailbox { (_: Int) in _ = guest }
    }
    try turn()
    #expect(gone == nil)
  }

  @Test func `what a closed loop frees may cancel others of its watches and timers`() async {
    await #expect(processExitsWith: .success) {
      final class Owner {
        var watch: Watch?
        var timer: Timer?

        deinit {
          watch?.cancel()
          timer?.cancel()
        }
      }
      let (first, second) = (try SocketPair(), try SocketPair())
      let loop = try EventLoop()
      func arrange() throws {
        let owner = Owner()
        owner.watch = try loop.watch(second.number, for: .read) { _ in }
        owner.timer = loop.schedule(after: .seconds(9)) {}
        _ = try loop.watch(first.number, for: .read) { _ in _ = owner }
      }
      try arrange()
      loop.close()
    }
  }

  @Test func `a closed loop frees all that it would call, though that holds the loop`() throws {
    final class Owner {
      let loop: EventLoop
      var watch: Watch?
      var timer: Timer?

      init(_ loop: EventLoop) { self.loop = loop }

      deinit {
        watch?.cancel()
        timer?.cancel()
      }
    }
    weak var gone: Owner?
    weak var goneLoop: EventLoop?
    func turn() throws {
      let pair = try SocketPair()
      let loop = try EventLoop()
      let owner = Owner(loop)
      (gone, goneLoop) = (owner, loop)
      owner.watch = try loop.watch(pair.number, for: .read) { _ in _ = owner }
      owner.timer = loop.schedule(after: .seconds(9)) { _ = owner }
      loop.atTickEnd { _ = owner }
      loop.nextTick { _ = owner }
      loop.share { owner.watch == nil }
      _ = try loop.makeMailbox { (_: Int) in _ = owner }
      loop.close()
      #expect(!loop.tick(waiting: false))
    }
    try turn()
    #expect(gone == nil)
    #expect(goneLoop == nil)
  }
}

struct InstantTests {
  @Test func `an instant is clamped to its range`() {
    let (first, last) = (Instant(nanoseconds: .min), Instant(nanoseconds: .max))
    #expect(last + .seconds(1) == last)
    #expect(first + .seconds(-1) == first)
    #expect(last - first == .nanoseconds(Int64.max))
    #expect(first - last == .nanoseconds(Int64.min))
  }

  @Test(
    arguments: [
      (Duration.seconds(2) + .nanoseconds(3), 2_000_000_003), (.milliseconds(-1), -1_000_000),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min), (.zero, 0),
      (.seconds(9_223_372_036) + .nanoseconds(854_775_807), .max),
      (.seconds(9_223_372_036) + .nanoseconds(854_775_808), .max),
    ] as [(Duration, Int64)])
  func `a duration is converted to nanoseconds`(duration: Duration, nanoseconds: Int64) {
    #expect(duration.nanoseconds == nanoseconds)
  }
}
