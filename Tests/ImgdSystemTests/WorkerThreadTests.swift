import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct WorkerThreadTests {
  /// Not Sendable on purpose: it may be used only on the thread that made it.
  private final class Counter {
    var value = 0
    private let maker = pthread_self()
    let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void = {}) { self.onEnd = onEnd }

    deinit { onEnd() }

    var isOnItsThread: Bool { pthread_equal(maker, pthread_self()) != 0 }
  }

  let loop: EventLoop

  init() throws {
    loop = try EventLoop()
  }

  @Test func `jobs share the tool and run in order on its thread`() throws {
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    var values: [Int] = []
    var strangers = 0
    for _ in 0..<1_000 {
      worker.submit(
        { counter in
          counter.value += 1
          return (counter.value, counter.isOnItsThread)
        },
        then: { value, isOnItsThread in
          values.append(value)
          if !isOnItsThread { strangers += 1 }
          if worker.pending == 0 { loop.stop() }
        })
    }
    loop.run()
    #expect(values == Array(1...1_000))
    #expect(strangers == 0)
    worker.stop()
  }

  @Test func `stopping finishes the jobs and frees the tool`() throws {
    let done = Locked(0)
    let isGone = Locked(false)
    let worker = try WorkerThread(name: "worker", on: loop) {
      Counter(onEnd: { isGone.withLock { $0 = true } })
    }
    for _ in 0..<100 { worker.submit({ _ in done.withLock { $0 += 1 } }) }
    worker.stop()
    #expect(done.withLock { $0 } == 100)
    #expect(isGone.withLock { $0 })
  }

  @Test func `stopping drops the outcomes of its jobs`() throws {
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    let done = Locked(0)
    for _ in 0..<100 {
      worker.submit(
        { _ in done.withLock { $0 += 1 } }, then: { _ in Issue.record("arrived after stop") })
    }
    #expect(worker.pending == 100)
    worker.stop()
    #expect(done.withLock { $0 } == 100)
    #expect(worker.pending == 0)
    loop.settle()
    worker.stop()
  }

  @Test func `a freed worker finishes its jobs and drops their outcomes`() throws {
    let done = Locked(0)
    do {
      let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
      for _ in 0..<50 {
        worker.submit(
          { _ in done.signal { $0 += 1 } }, then: { _ in Issue.record("its worker is gone") })
      }
    }
    done.wait { $0 == 50 ? () : nil }
    loop.settle()
  }

  @Test func `every outcome arrives on the loop with its own continuation`() throws {
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    let loopThread = pthread_self()
    var outcomes = [Int?](repeating: nil, count: 5_000)
    var strangers = 0
    for number in outcomes.indices {
      worker.submit(
        { _ in number * 2 },
        then: { outcome in
          outcomes[number] = outcome
          if pthread_equal(pthread_self(), loopThread) == 0 { strangers += 1 }
          if worker.pending == 0 { loop.stop() }
        })
    }
    loop.run()
    #expect(outcomes == (0..<5_000).map { $0 * 2 })
    #expect(strangers == 0)
    worker.stop()
  }

  @Test func `an outcome may be nil or a function`() throws {
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    var seen: [String] = []
    worker.submit({ _ -> Int? in nil }, then: { seen.append($0 == nil ? "nil" : "value") })
    worker.submit(
      { _ -> Int?? in .some(nil) }, then: { seen.append($0 == .some(nil) ? "some nil" : "?") })
    worker.submit({ _ -> (@Sendable () -> Int) in { 7 } }, then: { seen.append("\($0())") })
    worker.submit(
      { _ -> Result<Int, SystemFailure> in .success(8) },
      then: {
        seen.append("\((try? $0.get()) ?? 0)")
        loop.stop()
      })
    loop.run()
    #expect(seen == ["nil", "some nil", "7", "8"])
    worker.stop()
  }

  @Test func `a continuation may submit again`() throws {
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    var rounds = 0
    func again() {
      worker.submit(
        { _ in 1 },
        then: {
          rounds += $0
          rounds < 100 ? again() : loop.stop()
        })
    }
    again()
    loop.run()
    #expect(rounds == 100)
    worker.stop()
  }

  @Test func `a job frees its captures once it is done`() throws {
    final class Body: Sendable {}
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    weak var held: Body?
    do {
      let body = Body()
      held = body
      worker.submit({ _ in _ = body })
    }
    worker.submit({ _ in }, then: { loop.stop() })
    loop.run()
    #expect(held == nil)
    worker.stop()
  }

  @Test func `a stopped worker takes nothing`() throws {
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    worker.stop()
    let ran = Locked(false)
    worker.submit({ _ in ran.withLock { $0 = true } }, then: { _ in Issue.record("arrived") })
    loop.settle()
    #expect(!ran.withLock { $0 })
    #expect(worker.pending == 0)
  }

  @Test func `a question goes before the waiting jobs`() throws {
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    let gate = Locked(false)
    var order: [String] = []
    let isHeld = Locked(false)
    worker.submit(
      { _ in
        isHeld.broadcast { $0 = true }
        _ = gate.wait { $0 ? true : nil }
      },
      then: { _ in order.append("held") })
    _ = isHeld.wait { $0 ? true : nil }
    for _ in 0..<50 { worker.submit({ _ in }, then: { order.append("job") }) }
    worker.askForLife {
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
    worker.stop()
  }

  @Test func `a stopped worker does not answer`() throws {
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    worker.stop()
    worker.askForLife { Issue.record("answered") }
    loop.settle()
    #expect(worker.pending == 0)
  }

  @Test func `stopping within a time waits for jobs that end`() throws {
    let done = Locked(0)
    let worker = try WorkerThread(name: "worker", on: loop) { Counter() }
    for _ in 0..<100 { worker.submit({ _ in done.withLock { $0 += 1 } }) }
    #expect(worker.stop(within: Patience.limit))
    #expect(done.withLock { $0 } == 100)
  }

  @Test func `stopping within a time leaves a job that does not end`() throws {
    let gate = Locked(false)
    let isGone = Locked(false)
    let worker = try WorkerThread(name: "worker", on: loop) {
      Counter(onEnd: { isGone.broadcast { $0 = true } })
    }
    worker.submit { _ in _ = gate.wait { $0 ? true : nil } }
    #expect(!worker.stop(within: .milliseconds(1)))
    #expect(!worker.stop(within: .zero))
    gate.broadcast { $0 = true }
    _ = isGone.wait { $0 ? true : nil }
  }
}
