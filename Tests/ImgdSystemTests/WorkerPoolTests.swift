import Glibc
import Testing

@testable import ImgdSystem

@Suite struct WorkerPoolTests {
  let loop: EventLoop

  init() throws {
    loop = try EventLoop()
  }

  @Test func everyOutcomeComesHomeToItsOwnContinuation() throws {
    let pool = try WorkerPool(name: "worker", threads: 3, home: loop)
    let home = pthread_self()
    var outcomes = [Int?](repeating: nil, count: 5_000)
    var strangers = 0
    for number in outcomes.indices {
      pool.submit(
        { number * 2 },
        then: { outcome in
          outcomes[number] = outcome
          if pthread_equal(pthread_self(), home) == 0 { strangers += 1 }
          if pool.pending == 0 { loop.stop() }
        })
    }
    #expect(pool.pending == 5_000)
    loop.run()
    #expect(outcomes == (0..<5_000).map { $0 * 2 })
    #expect(strangers == 0)
    pool.stop()
  }

  /// The first job ends only when the second one has: outcomes need not come home in order.
  @Test func outcomesComeHomeAsTheyAreReady() throws {
    let pool = try WorkerPool(name: "worker", threads: 2, home: loop)
    let gate = Locked(false)
    var order: [String] = []
    pool.submit(
      { gate.wait { $0 ? () : nil } },
      then: { _ in
        order.append("first")
        loop.stop()
      })
    pool.submit(
      {},
      then: { _ in
        order.append("second")
        gate.signal { $0 = true }
      })
    loop.run()
    #expect(order == ["second", "first"])
    pool.stop()
  }

  @Test func anOutcomeMayBeNothingOrAFunction() throws {
    let pool = try WorkerPool(name: "worker", threads: 1, home: loop)
    var seen: [String] = []
    pool.submit({ () -> Int? in nil }, then: { seen.append($0 == nil ? "nil" : "value") })
    pool.submit(
      { () -> Int?? in .some(nil) }, then: { seen.append($0 == .some(nil) ? "some nil" : "?") })
    pool.submit({ () -> (@Sendable () -> Int) in { 7 } }, then: { seen.append("\($0())") })
    pool.submit(
      { () -> Result<Int, SystemFailure> in .success(8) },
      then: {
        seen.append("\((try? $0.get()) ?? 0)")
        loop.stop()
      })
    loop.run()
    #expect(seen == ["nil", "some nil", "7", "8"])
    pool.stop()
  }

  @Test func aContinuationMaySubmitAgain() throws {
    let pool = try WorkerPool(name: "worker", threads: 2, home: loop)
    var rounds = 0
    func again() {
      pool.submit(
        { 1 },
        then: {
          rounds += $0
          rounds < 100 ? again() : loop.stop()
        })
    }
    again()
    loop.run()
    #expect(rounds == 100)
    pool.stop()
  }

  @Test func stoppingFinishesTheJobsAndDropsTheirOutcomes() throws {
    let pool = try WorkerPool(name: "worker", threads: 1, home: loop)
    let done = Locked(0)
    for _ in 0..<100 {
      pool.submit(
        { done.withLock { $0 += 1 } }, then: { _ in Issue.record("came home after stop") })
    }
    pool.stop()
    #expect(done.withLock { $0 } == 100)
    #expect(pool.pending == 0)
    pool.submit({}, then: { _ in Issue.record("ran after stop") })
    #expect(pool.pending == 0)
    loop.settle()
    pool.stop()
  }

  @Test func theLoopTurnsOnWithoutAPoolThatHasGone() throws {
    let done = Locked(0)
    do {
      let pool = try WorkerPool(name: "worker", threads: 2, home: loop)
      for _ in 0..<50 {
        pool.submit({ done.signal { $0 += 1 } }, then: { _ in Issue.record("its pool has gone") })
      }
    }
    done.wait { $0 == 50 ? () : nil }
    loop.settle()
  }

  @Test func aJobLetsGoOfWhatItHeldOnceItIsDone() throws {
    final class Body: Sendable {}
    let pool = try WorkerPool(name: "worker", threads: 1, home: loop)
    weak var held: Body?
    do {
      let body = Body()
      held = body
      pool.submit({ _ = body }, then: { _ in })
    }
    pool.submit({}, then: { _ in loop.stop() })
    loop.run()
    #expect(held == nil)
    pool.stop()
  }
}
