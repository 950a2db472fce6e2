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
  private var waiting: [(Answer) -> Void] = []
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
  ///
  /// Who asks while it is read waits for the same answer.
  func reload(then answered: @escaping (Answer) -> Void = { _ in }) {
    waiting.append(answered)
    guard waiting.count == 1 else { return }
    let source = self.source
    let read: @Sendable () -> Result<Configuration, ConfigurationProblems> = {
      Result { () throws(ConfigurationProblems) in try source.load() }
    }
    workers.submit(read) { [unowned self] result in
      let answer = take(result)
      onAnswer(answer)
      let waiting = self.waiting
      self.waiting = []
      for answered in waiting { answered(answer) }
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
      for key in ConfigurationKey.all where !key.isLive { key.reset(&fresh, current) }
      current = fresh
      onReload(fresh)
      let changed = changes.filter(\.isLive).map(\.key)
      return waiting.isEmpty ? .changed(changed) : .changedButFor(changed, waiting: waiting)
    }
  }
}
