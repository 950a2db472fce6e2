import ImgdSystem

/// Writes log entries on a thread of its own, `imgd-journal`, since the journal may be busy.
///
/// It is not the service thread: a journal that reads nothing must not hold up signs of life.
/// Only a limited number of entries wait; the loss of others is logged when the journal reads again.
final class JournalWriter {
  /// How many entries may wait.
  static let limit = 256

  private let thread: WorkerThread<SystemdJournal>
  private var lost = 0

  init(_ journal: SystemdJournal, on loop: EventLoop) throws(SystemFailure) {
    thread = try WorkerThread(name: "imgd-journal", on: loop) { journal }
  }

  /// Writes an entry as soon as the journal takes it; an entry beyond the limit is lost.
  func write(_ entry: LogEntry) {
    guard thread.pending < Self.limit else {
      lost += 1
      return
    }
    thread.submit({ entry.write(to: $0) }, then: { [weak self] in self?.reportLoss() })
  }

  /// Accepts nothing more, and waits until everything is written, but no longer than the limit.
  func finish(within limit: Duration) {
    reportLoss()
    _ = thread.stop(within: limit)
  }

  private func reportLoss() {
    guard lost > 0 else { return }
    let entry = LogEntry(
      priority: .warning, message: "entries left out because the journal did not take them in time: \(lost)", fields: []
    )
    lost = 0
    thread.submit { entry.write(to: $0) }
  }
}
