import ImgdSystem

/// Reads the configuration again, away from the loop: a file may be slow to come.
final class Reloader {
  /// What the worker brings.
  private struct Reading: Sendable {
    let configuration: Configuration
    let warning: String?

    init(_ configuration: Configuration) {
      self.configuration = configuration
      warning = configuration.network.certificateProblem
    }
  }

  private let source: ConfigurationSource
  private let workers: WorkerPool
  /// Who waits for the next reading; what is being read may be older than the wish.
  private var waiting: [(ReloadAnswer) -> Void] = []
  private var isReading = false
  private var isStopped = false
  private(set) var current: Configuration
  /// Where the last configuration that was read wants the socket.
  private var wantedSocket: String
  /// Told when the reading begins.
  var onBegin: () -> Void = {}
  var onReload: (Configuration) -> Void = { _ in }
  /// Told how each reload went.
  var onAnswer: (ReloadAnswer) -> Void = { _ in }

  init(
    source: ConfigurationSource, read wanted: Configuration, loop: EventLoop
  ) throws(SystemFailure) {
    self.source = source
    wantedSocket = wanted.control.socket
    current = source.adapted(wanted)
    workers = try WorkerPool(name: "imgd-files", threads: 1, home: loop)
  }

  /// Reads, and takes over what has changed; a configuration with a mistake changes nothing.
  ///
  /// Who asks while it is read waits until it has been read once more.
  func reload(then answered: @escaping (ReloadAnswer) -> Void = { _ in }) {
    guard !isStopped else { return answered(.stopping) }
    waiting.append(answered)
    if !isReading { begin() }
  }

  /// Begins no reading any more: who waits for one is told so. One that is under way ends.
  func stop() {
    isStopped = true
    let asking = waiting
    waiting = []
    for answered in asking { answered(.stopping) }
  }

  private func begin() {
    isReading = true
    let asking = waiting
    waiting = []
    onBegin()
    let source = self.source
    let read: @Sendable () -> Result<Reading, ConfigurationProblems> = {
      Result { () throws(ConfigurationProblems) in Reading(try source.load()) }
    }
    workers.submit(read) { [unowned self] result in
      let answer = take(result)
      isReading = false
      onAnswer(answer)
      for answered in asking { answered(answer) }
      if !waiting.isEmpty { begin() }
    }
  }

  private func take(_ result: Result<Reading, ConfigurationProblems>) -> ReloadAnswer {
    switch result {
    case .failure(let problems):
      let reasons = problems.lines.joined(separator: "; ")
      Log.error(.configuration, "the configuration is not reloaded: \(reasons)")
      return .refused(reasons)
    case .success(let reading):
      warn(of: reading)
      var fresh = source.adapted(reading.configuration)
      let changes = current.changes(to: fresh)
      let waiting = changes.filter { !$0.isLive }.map(\.key)
      for key in ConfigurationKey.all where !key.isLive { key.reset(&fresh, current) }
      current = fresh
      onReload(fresh)
      let changed = changes.filter(\.isLive).map(\.key)
      return waiting.isEmpty ? .changed(changed) : .changedButFor(changed, waiting: waiting)
    }
  }

  /// What is no mistake, and yet not what somebody will have meant.
  private func warn(of reading: Reading) {
    if let warning = reading.warning { Log.warning(.configuration, warning) }
    let socket = reading.configuration.control.socket
    if socket != wantedSocket { source.warnOfUnusedSocket(in: reading.configuration) }
    wantedSocket = socket
  }
}
