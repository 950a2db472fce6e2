import ImgdSystem
import Testing

@testable import ImgdDaemon

struct WatchdogTests {
  let clock = LoopClock.manual()
  let loop: EventLoop

  init() throws {
    loop = try EventLoop(clock: clock)
  }

  private func advance(by step: Duration) {
    clock.advance(by: step)
    loop.settle()
  }

  /// The questions and reports of a watchdog.
  private final class Record {
    var questions: [[() -> Void]]
    var pings = 0
    var delays: [[String]] = []

    init(stages: Int) { questions = Array(repeating: [], count: stages) }

    /// Every stage answers its latest question.
    func answerAll() {
      for asked in questions { asked.last?() }
    }
  }

  private func watch(
    _ names: [String] = ["a", "b"], every period: Duration = .seconds(20)
  ) -> (watchdog: Watchdog, record: Record) {
    let record = Record(stages: names.count)
    let stages = names.enumerated().map { index, name in
      Watchdog.Stage(name: name) { record.questions[index].append($0) }
    }
    let watchdog = Watchdog(period: period, loop: loop, stages: stages) { record.pings += 1 }
    watchdog.onDelay = { record.delays.append($0) }
    return (watchdog, record)
  }

  @Test func `a sign of life is sent exactly when all stages have answered`() {
    let (watchdog, record) = watch(["a", "b", "c"])
    for answered in 0..<3 {
      #expect(record.pings == 0)
      #expect(watchdog.late == Array(["a", "b", "c"][answered...]))
      record.questions[answered][0]()
    }
    #expect(record.pings == 1)
    #expect(watchdog.late.isEmpty)
  }

  @Test(arguments: [Duration.milliseconds(500), .seconds(20), .seconds(3_600)])
  func `four signs of life are sent in a period`(period: Duration) {
    let (watchdog, record) = watch(every: period)
    record.answerAll()
    for quarter in 2...9 {
      advance(by: period / 4 - .nanoseconds(1))
      #expect(record.questions.map(\.count) == [quarter - 1, quarter - 1])
      advance(by: .nanoseconds(1))
      #expect(record.questions.map(\.count) == [quarter, quarter])
      #expect(record.pings == quarter - 1)
      record.answerAll()
      #expect(record.pings == quarter)
    }
    withExtendedLifetime(watchdog) {}
  }

  @Test(arguments: [Duration.nanoseconds(1), .microseconds(1), .milliseconds(39)])
  func `a period that is too short does not keep the daemon busy`(
    period: Duration
  ) {
    let (watchdog, record) = watch(every: period)
    advance(by: .milliseconds(19))
    #expect(record.delays.isEmpty)
    record.answerAll()
    advance(by: .milliseconds(9))
    #expect(record.questions.map(\.count) == [1, 1])
    advance(by: .milliseconds(1))
    #expect(record.questions.map(\.count) == [2, 2])
    withExtendedLifetime(watchdog) {}
  }

  @Test func `a stage without an answer is not asked again`() {
    let (watchdog, record) = watch()
    record.questions[0][0]()
    for _ in 0..<100 { advance(by: .seconds(20)) }
    #expect(record.questions.map(\.count) == [1, 1])
    #expect(record.pings == 0)
    record.questions[1][0]()
    #expect(record.pings == 1)
    advance(by: .seconds(5))
    #expect(record.questions.map(\.count) == [2, 2])
    withExtendedLifetime(watchdog) {}
  }

  @Test func `an answer counts once, and for its own round`() {
    let (watchdog, record) = watch()
    for _ in 0..<5 { record.questions[0][0]() }
    #expect(record.pings == 0)
    record.answerAll()
    for _ in 0..<5 { record.answerAll() }
    #expect(record.pings == 1)
    advance(by: .seconds(5))
    // The answers to the first questions, once more.
    for asked in record.questions { asked[0]() }
    #expect(record.pings == 1)
    #expect(watchdog.late == ["a", "b"])
    record.answerAll()
    #expect(record.pings == 2)
    advance(by: .seconds(4))
    #expect(record.questions.map(\.count) == [2, 2], "each round has one pause after it")
  }

  @Test func `stages may answer at once`() {
    var pings = 0
    let stages = ["a", "b"].map { Watchdog.Stage(name: $0) { $0() } }
    let watchdog = Watchdog(period: .milliseconds(500), loop: loop, stages: stages) { pings += 1 }
    #expect(pings == 1)
    for _ in 0..<8 { advance(by: .milliseconds(125)) }
    #expect(pings == 9)
    withExtendedLifetime(watchdog) {}
  }

  @Test func `a stopped watchdog asks no stage and sends no sign of life`() {
    let (watchdog, record) = watch()
    record.questions[0][0]()
    watchdog.stop()
    record.questions[1][0]()
    advance(by: .seconds(100))
    #expect(record.pings == 0)
    #expect(record.delays.isEmpty)
    #expect(record.questions.map(\.count) == [1, 1])
  }

  @Test func `a watchdog that is stopped between two rounds begins no other round`() {
    let (watchdog, record) = watch()
    record.answerAll()
    watchdog.stop()
    watchdog.stop()
    advance(by: .seconds(100))
    #expect(record.questions.map(\.count) == [1, 1])
    #expect(record.pings == 1)
  }

  @Test func `a sign of life may stop the watchdog`() {
    let record = Record(stages: 1)
    var watchdog: Watchdog?
    let stage = Watchdog.Stage(name: "a") { record.questions[0].append($0) }
    watchdog = Watchdog(period: .seconds(20), loop: loop, stages: [stage]) {
      record.pings += 1
      watchdog?.stop()
    }
    record.answerAll()
    advance(by: .seconds(100))
    record.answerAll()
    #expect(record.questions.map(\.count) == [1])
    #expect(record.pings == 1)
  }

  @Test func `a question may stop the watchdog, and no stage is asked after that`() {
    let record = Record(stages: 1)
    var watchdog: Watchdog?
    let ending = Watchdog.Stage(name: "ending") { answered in
      watchdog?.stop()
      answered()
    }
    let other = Watchdog.Stage(name: "other") { record.questions[0].append($0) }
    watchdog = Watchdog(period: .seconds(20), loop: loop, stages: [ending, other]) {
      record.pings += 1
    }
    // The first round was asked before there was anything to end.
    record.answerAll()
    advance(by: .seconds(5))
    record.answerAll()
    advance(by: .seconds(100))
    #expect(record.questions.map(\.count) == [1])
    #expect(record.pings == 1)
    #expect(watchdog?.late == [])
  }

  @Test func `a watchdog needs at least one stage`() async {
    await #expect(processExitsWith: .failure) {
      _ = Watchdog(period: .seconds(1), loop: try EventLoop(), stages: []) {}
    }
  }

  @Test func `nothing wakes the loop between two rounds`() {
    let (watchdog, record) = watch()
    record.answerAll()
    clock.advance(by: .seconds(5) - .nanoseconds(1))
    #expect(!loop.tick(waiting: false))
    clock.advance(by: .nanoseconds(1))
    #expect(loop.tick(waiting: false))
    withExtendedLifetime(watchdog) {}
  }

  @Test func `late answers after the end have no effect`() {
    var (watchdog, record): (Watchdog?, Record) = watch()
    withExtendedLifetime(watchdog) {}
    watchdog = nil
    record.answerAll()
    advance(by: .seconds(100))
    #expect(record.pings == 0 && record.delays.isEmpty)
  }

  @Test func `late stages are reported once a round`() {
    let (watchdog, record) = watch(["a", "b", "c"])
    record.questions[1][0]()
    advance(by: .seconds(10) - .nanoseconds(1))
    #expect(record.delays.isEmpty)
    advance(by: .nanoseconds(1))
    #expect(record.delays == [["a", "c"]])
    for _ in 0..<10 { advance(by: .seconds(20)) }
    #expect(record.delays.count == 1)
    record.answerAll()
    advance(by: .seconds(5))
    record.questions[0][1]()
    advance(by: .seconds(10))
    #expect(record.delays == [["a", "c"], ["b", "c"]])
    withExtendedLifetime(watchdog) {}
  }

  @Test func `stages that answer in time are never reported`() {
    let (watchdog, record) = watch()
    for _ in 0..<20 {
      advance(by: .seconds(9))
      record.answerAll()
      advance(by: .seconds(5))
    }
    #expect(record.delays.isEmpty)
    #expect(record.pings == 20)
    withExtendedLifetime(watchdog) {}
  }
}
