import ImgdSystem
import Testing

@testable import ImgdCache
@testable import ImgdDaemon

struct PressureReliefTests {
  let bench: ReliefBench

  init() throws {
    bench = try ReliefBench()
  }

  @Test func `relief comes at once, with an event`() {
    bench.relief.answer("cgroup")
    #expect(bench.steps == [.released, .held(.half), .reported("cgroup")])
    bench.pass(.seconds(30))
    #expect(bench.steps.count == 3)
  }

  @Test func `relief comes once in two seconds, however often pressure is reported`() {
    bench.relief.answer("system")
    for _ in 0..<100 { bench.relief.answer("system") }
    #expect(bench.releases == 1)
    bench.pass(.milliseconds(1_999))
    #expect(bench.releases == 1)
    bench.pass(.milliseconds(1))
    #expect(bench.releases == 2)
    bench.pass(.seconds(30))
    #expect(bench.releases == 2)
  }

  @Test func `relief comes at once again after two seconds`() {
    for round in 1...5 {
      bench.relief.answer("system")
      #expect(bench.releases == round)
      bench.pass(.seconds(2))
    }
  }

  @Test func `relief for a report just before the two seconds are over waits for their end`() {
    bench.relief.answer("system")
    bench.pass(.milliseconds(1_990))
    bench.relief.answer("system")
    #expect(bench.releases == 1)
    bench.pass(.milliseconds(10))
    #expect(bench.releases == 2)
    bench.pass(.milliseconds(1_990))
    bench.relief.answer("system")
    #expect(bench.releases == 2)
    bench.pass(.milliseconds(10))
    #expect(bench.releases == 3)
  }

  @Test func `relief on demand is limited the same, and does not count as a report`() {
    for round in 1...5 {
      for _ in 0..<100 { bench.relief.relieve("signal") }
      #expect(bench.releases == 2 * round - 1)
      bench.pass(.seconds(2))
      #expect(bench.releases == 2 * round)
      #expect(bench.steps.last == .reported("signal"))
      bench.pass(.seconds(2))
    }
    #expect(bench.relief.level == .warning && bench.shares == [.half])
  }

  @Test func `relief on demand also answers the reports until then`() {
    bench.relief.answer("system")
    bench.relief.relieve("signal")
    bench.relief.answer("system")
    bench.pass(.seconds(10))
    #expect(bench.releases == 2)
  }

  @Test func `relief limits the memory tier to a half for a minute`() {
    bench.relief.answer("system")
    #expect(bench.shares == [.half])
    bench.pass(.milliseconds(59_999))
    #expect(bench.shares == [.half] && bench.relief.share == .half)
    bench.pass(.milliseconds(1))
    #expect(bench.shares == [.half, .whole] && bench.relief.share == .whole)
    bench.pass(.seconds(600))
    #expect(bench.shares.count == 2)
  }

  @Test func `the limit lasts for a minute from the last report on`() {
    for _ in 0..<2 {
      bench.relief.answer("system")
      bench.pass(.seconds(50))
    }
    #expect(bench.shares == [.half])
    bench.pass(.seconds(10))
    #expect(bench.shares == [.half, .whole])
  }

  @Test func `the limit tightens while pressure continues, and is lifted in steps`() {
    for round in 1...5 {
      bench.relief.answer("cgroup")
      #expect((bench.relief.level == .critical) == (round >= 3))
      bench.pass(.seconds(2))
    }
    #expect(bench.shares == [.half, .quarter])
    bench.pass(.seconds(58))
    #expect(bench.shares == [.half, .quarter, .half])
    #expect(bench.relief.level == .warning)
    bench.pass(.seconds(60))
    #expect(bench.shares == [.half, .quarter, .half, .whole])
  }

  @Test func `a report while the limit is lifted does not start over`() {
    for _ in 1...3 {
      bench.relief.answer("cgroup")
      bench.pass(.seconds(2))
    }
    bench.pass(.seconds(58))
    #expect(bench.relief.share == .half)
    bench.relief.answer("cgroup")
    #expect(bench.shares == [.half, .quarter, .half])
    #expect(bench.relief.level == .warning)
    bench.pass(.seconds(60))
    #expect(bench.relief.share == .whole)
  }

  @Test func `relief is logged in one line where something has changed`() {
    for _ in 1...10 {
      bench.relief.answer("cgroup")
      bench.pass(.seconds(2))
    }
    let seen = bench.seen
    #expect(seen.lines.count == 2)
    #expect(seen.lines.first?.contains("(cgroup)") == true)
    #expect(seen.lines.first?.hasSuffix("may now use a half of its capacity") == true)
    #expect(seen.lines.last?.hasSuffix("may now use a quarter of its capacity") == true)

    seen.held.count(3_000)
    seen.held.count(500)
    bench.pass(.seconds(2))
    bench.relief.relieve("signal")
    #expect(seen.lines.count == 3)
    #expect(seen.lines.last?.contains("(signal): freed 3500 bytes (2 pictures);") == true)
    seen.held = .none
    seen.held.count(700)
    bench.pass(.seconds(2))
    bench.relief.relieve("signal")
    #expect(seen.lines.last?.contains("(signal): freed 700 bytes (1 picture);") == true)
  }

  @Test func `relief ends with its owner`() throws {
    let steps = ReliefRecord()
    var relief: PressureRelief? = bench.makeRelief(steps)
    relief?.answer("system")
    relief?.answer("system")
    relief = nil
    bench.pass(.seconds(120))
    #expect(steps.all == [.released, .held(.half), .reported("system")] && relief == nil)
  }

  @Test func `a steady load fits into the limited tier and is not flushed again and again`() {
    let whole = MemoryTier.Limits(capacity: 1_000, preferred: 600, maxEntry: 250)
    #expect(whole.held(to: .whole) == whole)
    #expect(
      whole.held(to: .half) == MemoryTier.Limits(capacity: 500, preferred: 300, maxEntry: 250))
    #expect(
      whole.held(to: .quarter) == MemoryTier.Limits(capacity: 250, preferred: 150, maxEntry: 250))
    let none = MemoryTier.Limits(capacity: 0, preferred: 0, maxEntry: 0)
    #expect(none.held(to: .quarter) == none)
  }
}

/// The steps of a relief, in order.
final class ReliefRecord {
  enum Step: Equatable {
    case held(MemoryShare)
    case released
    case reported(String)
  }

  var all: [Step] = []
  var lines: [String] = []
  /// The memory that can be freed.
  var held = Removal.none
}

/// A relief whose effects are recorded, and a clock that the test advances.
final class ReliefBench {
  let clock = LoopClock.manual()
  let loop: EventLoop
  let relief: PressureRelief
  let seen = ReliefRecord()

  init() throws {
    loop = try EventLoop(clock: clock)
    relief = Self.makeRelief(seen, on: loop)
  }

  func makeRelief(_ steps: ReliefRecord) -> PressureRelief { Self.makeRelief(steps, on: loop) }

  private static func makeRelief(_ steps: ReliefRecord, on loop: EventLoop) -> PressureRelief {
    PressureRelief(
      loop: loop,
      effects: PressureRelief.Effects(
        release: { released in
          steps.all.append(.released)
          released(steps.held)
        },
        hold: { steps.all.append(.held($0)) },
        tell: { source, _ in steps.all.append(.reported(source)) }),
      log: { line, _ in steps.lines.append(line) })
  }

  var steps: [ReliefRecord.Step] { seen.all }
  var releases: Int { steps.count { $0 == .released } }
  var shares: [MemoryShare] {
    steps.compactMap { if case .held(let share) = $0 { share } else { nil } }
  }

  func pass(_ time: Duration) {
    clock.advance(by: time)
    loop.settle()
  }
}
