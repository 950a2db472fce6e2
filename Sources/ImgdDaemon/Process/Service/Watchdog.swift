import ImgdSystem

/// Gives a sign of life whenever every stage has answered since the last one.
///
/// The stages are asked four times in the period that the manager allows, so that a slow answer or a
/// lost sign does not end the service. While an answer is missing no stage is asked again: one that
/// hangs finds a single question when it goes on.
final class Watchdog {
  /// A part of the program that clients depend on.
  struct Stage {
    let name: String
    let ask: (_ answered: @escaping () -> Void) -> Void

    /// `ask` must call `answered` on the loop, in its own time.
    init(name: String, ask: @escaping (_ answered: @escaping () -> Void) -> Void) {
      self.name = name
      self.ask = ask
    }
  }

  /// Called with the stages that have not answered for half of the period, once until all have.
  var onDelay: ([String]) -> Void = { _ in }

  /// A shorter period is a mistake, and asking that often would keep the program busy.
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
  init(period: Duration, loop: EventLoop, stages: [Stage], ping: @escaping () -> Void) {
    precondition(!stages.isEmpty, "a sign of life needs at least one stage to answer")
    let period = max(period, Self.shortestPeriod)
    pause = period / 4
    patience = period / 2
    self.loop = loop
    self.stages = stages
    self.ping = ping
    ask()
  }

  deinit { stop() }

  /// Asks no stage any more, and gives no more signs of life.
  func stop() {
    isStopped = true
    missing = []
    next?.cancel()
    delay?.cancel()
  }

  /// The stages whose answers are missing.
  var late: [String] { missing.sorted().map { stages[$0].name } }

  private func ask() {
    round += 1
    missing = Set(stages.indices)
    delay = loop.schedule(after: patience) { [unowned self] in onDelay(late) }
    for index in stages.indices where !isStopped {
      stages[index].ask { [weak self, round] in self?.answer(of: index, in: round) }
    }
  }

  /// An answer to an earlier question does not count for this round.
  private func answer(of index: Int, in asked: Int) {
    guard asked == round, missing.remove(index) != nil, missing.isEmpty else { return }
    delay?.cancel()
    ping()
    guard !isStopped else { return }
    next = loop.schedule(after: pause) { [unowned self] in ask() }
  }
}
