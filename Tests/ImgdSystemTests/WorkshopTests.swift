import Glibc
import Testing

@testable import ImgdSystem

@Suite struct WorkshopTests {
  /// Not Sendable on purpose: it may only be touched where it was made.
  private final class Counter {
    var value = 0
    let home = pthread_self()
    let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void = {}) { self.onEnd = onEnd }

    deinit { onEnd() }

    var isAtHome: Bool { pthread_equal(home, pthread_self()) != 0 }
  }

  let loop: EventLoop

  init() throws {
    loop = try EventLoop()
  }

  @Test func jobsShareTheToolAndRunInTheirOrderWhereItWasMade() throws {
    let shop = try Workshop(name: "shop", home: loop) { Counter() }
    var values: [Int] = []
    var strangers = 0
    for _ in 0..<1_000 {
      shop.submit(
        { counter in
          counter.value += 1
          return (counter.value, counter.isAtHome)
        },
        then: { value, isAtHome in
          values.append(value)
          if !isAtHome { strangers += 1 }
          if shop.pending == 0 { loop.stop() }
        })
    }
    loop.run()
    #expect(values == Array(1...1_000))
    #expect(strangers == 0)
    shop.stop()
  }

  @Test func stoppingDoesWhatWasAskedAndLetsTheToolGo() throws {
    let done = Locked(0)
    let isGone = Locked(false)
    let shop = try Workshop(name: "shop", home: loop) {
      Counter(onEnd: { isGone.withLock { $0 = true } })
    }
    for _ in 0..<100 { shop.submit({ _ in done.withLock { $0 += 1 } }) }
    shop.stop()
    #expect(done.withLock { $0 } == 100)
    #expect(isGone.withLock { $0 })
  }

  @Test func aStoppedShopTakesNothing() throws {
    let shop = try Workshop(name: "shop", home: loop) { Counter() }
    shop.stop()
    let ran = Locked(false)
    shop.submit({ _ in ran.withLock { $0 = true } }, then: { _ in Issue.record("came home") })
    loop.settle()
    #expect(!ran.withLock { $0 })
    #expect(shop.pending == 0)
  }

  @Test func aQuestionGoesBeforeTheJobsThatWait() throws {
    let shop = try Workshop(name: "shop", home: loop) { Counter() }
    let gate = Locked(false)
    var order: [String] = []
    let isHeld = Locked(false)
    shop.submit(
      { _ in
        isHeld.broadcast { $0 = true }
        _ = gate.wait { $0 ? true : nil }
      },
      then: { _ in order.append("held") })
    _ = isHeld.wait { $0 ? true : nil }
    for _ in 0..<50 { shop.submit({ _ in }, then: { order.append("job") }) }
    shop.askForLife {
      order.append("answer")
      loop.stop()
    }
    loop.settle()
    #expect(order.isEmpty, "a thread that is held does not answer")
    gate.broadcast { $0 = true }
    loop.run()
    #expect(order.first == "held")
    #expect(order.contains("answer"))
    #expect(order.firstIndex(of: "answer") == 1)
    shop.stop()
  }

  @Test func aStoppedShopDoesNotAnswer() throws {
    let shop = try Workshop(name: "shop", home: loop) { Counter() }
    shop.stop()
    shop.askForLife { Issue.record("answered") }
    loop.settle()
    #expect(shop.pending == 0)
  }

  @Test func stoppingWithinATimeWaitsForJobsThatEnd() throws {
    let done = Locked(0)
    let shop = try Workshop(name: "shop", home: loop) { Counter() }
    for _ in 0..<100 { shop.submit({ _ in done.withLock { $0 += 1 } }) }
    #expect(shop.stop(within: .seconds(60)))
    #expect(done.withLock { $0 } == 100)
  }

  @Test func stoppingWithinATimeLeavesAJobThatDoesNotEnd() throws {
    let gate = Locked(false)
    let isGone = Locked(false)
    let shop = try Workshop(name: "shop", home: loop) {
      Counter(onEnd: { isGone.broadcast { $0 = true } })
    }
    shop.submit { _ in _ = gate.wait { $0 ? true : nil } }
    #expect(!shop.stop(within: .milliseconds(1)))
    #expect(!shop.stop(within: .zero))
    gate.broadcast { $0 = true }
    _ = isGone.wait { $0 ? true : nil }
  }
}
