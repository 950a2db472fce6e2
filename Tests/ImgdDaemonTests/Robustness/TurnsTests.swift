import ImgdSystem
import Testing

@testable import ImgdDaemon

/// Work that says how long it is, in looks at the clock.
private final class Worker: TurnTaker {
  private let turns: Turns
  private let log: (String) -> Void
  private let name: String
  private(set) var left: Int

  init(_ name: String, steps: Int, in turns: Turns, log: @escaping (String) -> Void) {
    self.name = name
    self.turns = turns
    self.log = log
    left = steps
  }

  func takeTurn() -> Bool {
    log(name)
    while left > 0 {
      left -= 1
      if turns.isOver(after: Turns.longStep) { break }
    }
    return left > 0
  }
}

/// A loop whose clock moves by 10 µs with each look at it.
struct TurnsTests {
  private let clock: LoopClock
  private let loop: EventLoop
  private let turns: Turns

  init() throws {
    clock = .manual()
    loop = try EventLoop(clock: clock)
    turns = Turns(loop: loop)
    clock.stride = .microseconds(10)
  }

  @Test func `long works take turns, and a newcomer is not the last`() {
    var order: [String] = []
    let log: (String) -> Void = { order.append($0) }
    for name in ["a", "b"] { turns.wait(Worker(name, steps: 40, in: turns, log: log)) }
    loop.tick(waiting: false)
    let first = order
    turns.wait(Worker("new", steps: 1, in: turns, log: log))
    loop.settle()
    #expect(first.prefix(2) == ["a", "b"])
    #expect(order.dropFirst(first.count).prefix(2).contains("new"))
    #expect(order.count { $0 == "a" } > 2)
    #expect(order.count { $0 == "a" } == order.count { $0 == "b" })
  }

  /// They hold the core, which holds the turns.
  @Test func `at the end all who wait are forgotten`() {
    final class Client {
      var turnsTaken = 0
    }
    weak var waiting: Client?
    func begin() {
      let client = Client()
      waiting = client
      turns.carryOut {
        client.turnsTaken += 1
        return true
      }
    }
    begin()
    loop.tick(waiting: false)
    begin()
    #expect(waiting != nil)
    turns.removeAll()
    #expect(waiting == nil)
    #expect(!turnsAreLeft)
  }

  private var turnsAreLeft: Bool {
    loop.tick(waiting: false)
    return loop.tick(waiting: false)
  }

  @Test func `a tick has room for a share of long work and no more`() {
    var (left, ticks) = (1_000, 0)
    turns.carryOut {
      left -= 1
      return left > 0
    }
    while left > 0 {
      let (before, begun) = (left, clock.now)
      loop.tick(waiting: false)
      ticks += 1
      #expect(left < before)
      #expect(clock.now - begun < .microseconds(500))
    }
    #expect(ticks > 20)
  }

  @Test func `a first turn is one step long when the tick is`() {
    loop.tick(waiting: false)
    turns.beginFirst()
    #expect(!turns.isOver())
    clock.advance(by: .milliseconds(2))
    turns.beginFirst()
    #expect(turns.isOver())
  }

  @Test func `the loop does not sleep while work waits`() {
    var isDone = false
    turns.carryOut {
      isDone = true
      return false
    }
    loop.tick(waiting: true)
    #expect(isDone)
    #expect(!loop.tick(waiting: false))
  }

  @Test func `timers that are due together are fired over several ticks`() {
    clock.stride = .zero
    var fired = 0
    for _ in 0..<1_000 { loop.schedule(after: .seconds(1)) { fired += 1 } }
    clock.advance(by: .seconds(1))
    loop.tick(waiting: false)
    #expect(fired == 64)
    loop.settle()
    #expect(fired == 1_000)
  }
}
