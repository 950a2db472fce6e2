import ImgdSystem

/// Reads the configuration again, away from the loop: a file may be slow to come.
final class Reloader {
  enum Answer {
    case changed([String])
    /// What cannot change while the daemon runs, and waits for a restart.
    case changedButFor([String], waiting: [String])
    case refused(String)

    var isGood: Bool {
      if case .refused = self { false } else { true }
    }
  }

  private let source: ConfigurationSource
  private let workers: WorkerPool
  private(set) var current: Configuration
  var onReload: (Configuration) -> Void = { _ in }
  /// Told how each reload went.
  var onAnswer: (Answer) -> Void = { _ in }

  init(
    source: ConfigurationSource, current: Configuration, loop: EventLoop
  ) throws(SystemFailure) {
    self.source = source
    self.current = current
    workers = try WorkerPool(name: "imgd-files", threads: 1, home: loop)
  }

  /// Reads, and takes over what has changed; a configuration with a mistake changes nothing.
  func reload(then answered: @escaping (Answer) -> Void = { _ in }) {
    let source = self.source
    let read: @Sendable () -> Result<Configuration, ConfigurationProblems> = {
      Result { () throws(ConfigurationProblems) in try source.load() }
    }
    workers.submit(read) { [unowned self] result in
      let answer = take(result)
      onAnswer(answer)
      answered(answer)
    }
  }

  func stop() {
    workers.stop()
  }

  private func take(_ result: Result<Configuration, ConfigurationProblems>) -> Answer {
    switch result {
    case .failure(let problems):
      Log.error("the configuration is not reloaded: \(problems.description)")
      return .refused(problems.description)
    case .success(var fresh):
      let changes = current.changes(to: fresh)
      let waiting = changes.filter { !$0.isLive }.map(\.key)
      fresh.control.socket = current.control.socket
      current = fresh
      onReload(fresh)
      let changed = changes.filter(\.isLive).map(\.key)
      return waiting.isEmpty ? .changed(changed) : .changedButFor(changed, waiting: waiting)
    }
  }
}
