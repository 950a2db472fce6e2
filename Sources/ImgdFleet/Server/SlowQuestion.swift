internal import ImgdSystem

/// Asks the system or the disk, which may take any time, on a thread that ends with the answer. Only one question is
/// under way at a time, so that names that are never found do not fill the process with threads.
final class SlowQuestion {
  private unowned let loop: EventLoop
  private var thread: WorkerThread<Void>?
  private var isAwaited = false

  init(on loop: EventLoop) { self.loop = loop }

  /// Calls `then` with the answer: at once for a question that is quick, else in a later tick.
  func ask<Answer: Sendable>(
    isQuick: Bool, _ question: @escaping @Sendable () -> Result<Answer, FleetTrouble>,
    then: @escaping (Result<Answer, FleetTrouble>) -> Void
  ) {
    guard !isQuick else { return then(question()) }
    guard thread == nil else { return then(.failure(FleetTrouble(.down, "its name is still looked up"))) }
    do throws(SystemFailure) {
      thread = try WorkerThread(name: "imgd-fleet-find", on: loop) {}
      isAwaited = true
      let job: @Sendable (()) -> Result<Answer, FleetTrouble> = { _ in question() }
      thread?.submit(job) { [unowned self] answer in
        thread = nil
        if isAwaited { then(answer) }
      }
    } catch { then(.failure(FleetTrouble(.down, error.description))) }
  }

  /// Has the answer dropped when it comes.
  func giveUp() { isAwaited = false }
}
