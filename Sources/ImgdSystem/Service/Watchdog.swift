/// Signs of life that are earned: one is given when every stage has answered since the last.
///
/// The stages are asked four times in the period that the manager allows, so that a slow answer or a
/// lost sign does not end the service. While an answer is missing nobody is asked again: a stage that
/// hangs finds one question when it goes on, and not a heap of them.
package final class Watchdog {
  /// One part of the program without which it would not be alive.
  package struct Stage {
    let name: String
    let ask: (_ answered: @escaping () -> Void) -> Void

    /// `ask` must call `answered` on the loop, in its own time.
    package init(name: String, ask: @escaping (_ answered: @escaping () -> Void) -> Void) {
      self.name = name
      self.ask = ask
    }
  }

  /// Told which stages have not answered for half of the period, once until all have answered.
  package var onDelay: ([String]) -> Void = { _ in }

  /// Nobody can mean less, and to ask that often would be all that the program does.
  private static let shortestPeriod = Duration.milliseconds(40)

  private let pause: Duration
  private let patience: Duration
  private let loop: EventLoop
  private let stages: [Stage]
  private let ping: () -> Void
  private var missing: Set<Int> = []
  private var round = 0
  private var isStopped = false
  private var next: Timer?
  private var delay: Timer?

  /// Begins with a question at once; `ping` is called on the loop.
  package init(
    period: Duration, loop: EventLoop, stages: [Stage], ping: @escaping () -> Void
  ) {
    precondition(!stages.isEmpty, "a sign of life is earned by at least one stage")
    let period = max(period, Self.shortestPeriod)
    pause = period / 4
    patience = period / 2
    self.loop = loop
    self.stages = stages
    self.ping = ping
    ask()
  }

  deinit {
    stop()
  }

  /// Asks no more, and gives no sign any more.
  package func stop() {
    isStopped = true
    missing = []
    next?.cancel()
    delay?.cancel()
  }

  /// The stages whose answers are missing.
  package var late: [String] { missing.sorted().map { stages[$0].name } }

  private func ask() {
    round += 1
    missing = Set(stages.indices)
    delay = loop.schedule(after: patience) { [unowned self] in onDelay(late) }
    for index in stages.indices where !isStopped {
      stages[index].ask { [weak self, round] in self?.answer(of: index, in: round) }
    }
  }

  /// An answer to an earlier question says nothing of now.
  private func answer(of index: Int, in asked: Int) {
    guard asked == round, missing.remove(index) != nil, missing.isEmpty else { return }
    delay?.cancel()
    ping()
    guard !isStopped else { return }
    next = loop.schedule(after: pause) { [unowned self] in ask() }
  }
}
