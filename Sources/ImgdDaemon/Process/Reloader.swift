import Glibc
import ImgdProgram
import ImgdSystem

/// Reads the configuration again on a worker thread, because a file may be slow to read, and the files that
/// sections `[Origin …]` name as well, whenever they change.
final class Reloader {
  /// The time between two looks at those files.
  private static let pause = Duration.seconds(2)

  private struct Reading: Sendable {
    let configuration: Configuration
    let warnings: [String]

    init(of source: ConfigurationSource) throws(ConfigurationProblems) {
      var warnings: [String] = []
      configuration = try source.load { warnings.append($0) }
      if let problem = configuration.network.certificateProblem { warnings.append(problem) }
      self.warnings = warnings
    }
  }

  private let source: ConfigurationSource
  private let worker: WorkerThread<ConfigurationSource>
  private let loop: EventLoop
  private var look: Timer?
  /// Answers due after the next reading; the present one may have begun before the file was changed.
  private var waiting: [(ReloadAnswer) -> Void] = []
  private var isReading = false
  private var isStopped = false
  private(set) var current: Configuration
  /// Why the last reading has changed nothing; nil if it was good.
  private(set) var refusal: String?
  /// The socket path of the last configuration that was read.
  private var wantedSocket: String
  var onBegin: () -> Void = {}
  var onReload: (Configuration) -> Void = { _ in }
  /// Called with the result of each reload.
  var onAnswer: (ReloadAnswer) -> Void = { _ in }

  init(source: ConfigurationSource, read wanted: Configuration, loop: EventLoop) throws(SystemFailure) {
    self.source = source
    wantedSocket = wanted.control.socket
    current = source.adapted(wanted)
    worker = try WorkerThread(name: "imgd-files", on: loop) { source }
    self.loop = loop
    watchFiles()
  }

  /// Reads the configuration and applies the changes; a configuration with a mistake changes nothing.
  ///
  /// A call during a reading waits until the configuration has been read once more.
  func reload(then answered: @escaping (ReloadAnswer) -> Void = { _ in }) {
    guard !isStopped else { return answered(.stopping) }
    waiting.append(answered)
    if !isReading { begin() }
  }

  /// Begins no more readings: waiting callers are told so. A reading under way is finished.
  func stop() {
    isStopped = true
    look?.cancel()
    let asking = waiting
    waiting = []
    for answered in asking { answered(.stopping) }
  }

  private func begin() {
    isReading = true
    let asking = waiting
    waiting = []
    onBegin()
    let read: @Sendable (ConfigurationSource) -> Result<Reading, ConfigurationProblems> = { source in
      Result { () throws(ConfigurationProblems) in try Reading(of: source) }
    }
    worker.submit(read) { [unowned self] result in
      let answer = adopt(result)
      isReading = false
      onAnswer(answer)
      for answered in asking { answered(answer) }
      if !waiting.isEmpty { begin() }
    }
  }

  private func adopt(_ result: Result<Reading, ConfigurationProblems>) -> ReloadAnswer {
    switch result {
    case .failure(let problems):
      for line in problems.lines {
        Log.error(.configuration, .reloadRefused, "the configuration is not reloaded: \(line)")
      }
      refusal = problems.summary
      return .refused(problems)
    case .success(let reading):
      for warning in reading.warnings { Log.warning(.configuration, .settingDoubtful, warning) }
      refusal = nil
      let socket = reading.configuration.control.socket
      if socket != wantedSocket { source.warnOfUnusedSocket(in: reading.configuration) }
      wantedSocket = socket
      var fresh = source.adapted(reading.configuration)
      let changes = current.changes(to: fresh)
      let waiting = changes.filter { !$0.isLive }.map(\.key)
      for key in Configuration.keys where !key.isLive { key.reset(&fresh, current) }
      current = fresh
      onReload(fresh)
      watchFiles()
      return .changed(changes.map(\.key), waiting: waiting)
    }
  }

  // MARK: Files of sections

  /// Looks at them from time to time, as long as there are any.
  private func watchFiles() {
    look?.cancel()
    guard !isStopped, current.origins.values.contains(where: { !$0.files.isEmpty }) else { return }
    look = loop.schedule(after: Self.pause) { [unowned self] in
      worker.submit({ [origins = current.origins] in $0.originFiles.changes(since: origins) }) {
        [unowned self] changes in
        guard !isStopped else { return }
        adopt(changes)
        watchFiles()
      }
    }
  }

  /// A file that is wrong changes nothing: what it had before stays in force, and the file is said to be wrong.
  private func adopt(_ changes: [OriginFiles.Change]) {
    var hasChanged = false
    for change in changes {
      guard var origin = current.origins[change.pattern], change.adopt(&origin) else { continue }
      current.origins[change.pattern] = origin
      hasChanged = true
      guard let problem = change.problem else { continue }
      Log.error(.configuration, .originFileUnusable, "what the file had before stays in force: \(problem)")
    }
    if hasChanged { onReload(current) }
  }
}

/// Where the configuration comes from, at the start and at each reload.
struct ConfigurationSource: Sendable {
  let options: CommandLineOptions
  let environment: [String: String]
  /// The path of the socket in use, if the configuration does not decide it.
  private(set) var socket: String?

  /// `warn` gets a line for each setting that has no effect.
  func load(warn: (String) -> Void) throws(ConfigurationProblems) -> Configuration {
    try ConfigurationLoader.load(options, environment: environment, warn: warn)
  }

  var originFiles: OriginFiles { OriginFiles(options, environment: environment) }

  /// The files that the service has to be able to read with this configuration.
  func files(of configuration: Configuration) -> [ServiceFile] {
    var files = ConfigurationLoader.files(options, environment: environment).map { ServiceFile($0) }
    files.append(ServiceFile(configuration.network.caFile))
    let fleet = configuration.fleet
    if !fleet.server.isEmpty {
      for path in [fleet.passwordFile, fleet.keyFile] where !path.isEmpty {
        files.append(ServiceFile(path, isSecret: true))
      }
      for path in [fleet.caFile, fleet.certificateFile] where !path.isEmpty { files.append(ServiceFile(path)) }
    }
    for (pattern, origin) in configuration.origins.sorted(by: { $0.key.text < $1.key.text }) {
      for (key, path) in origin.files where path.hasPrefix("/") {
        files.append(ServiceFile(path, isSecret: true, of: "Origin \(pattern.text).\(key)"))
      }
    }
    return files
  }

  /// The same source for a daemon whose socket is already open.
  func served(at socket: String) -> ConfigurationSource {
    var source = self
    source.socket = socket
    return source
  }

  /// Whether a directory is, or is inside, the one that the service manager makes at every start.
  func isManagers(_ directory: String) -> Bool {
    let instance = Instance(environment: environment, uid: geteuid())
    guard let made = instance.directory(named: "CACHE_DIRECTORY") else { return false }
    return directory == made || directory.hasPrefix(made + "/")
  }

  /// Warns if the configuration names a socket that is not used because systemd has made another one.
  func warnOfUnusedSocket(in wanted: Configuration) {
    let usual = Instance(environment: environment, uid: geteuid()).defaults.control.socket
    guard let socket, wanted.control.socket != socket, wanted.control.socket != usual else { return }
    Log.warning(
      .configuration, .settingDoubtful,
      "Control.Socket=\(wanted.control.socket) is not used: systemd has made \(socket); "
        + "set ListenStream= to move it (systemctl edit imgd.socket)")
  }

  /// The configuration with the actual value of each setting that it cannot decide.
  func adapted(_ configuration: Configuration) -> Configuration {
    var configuration = configuration
    if let socket { configuration.control.socket = socket }
    return configuration
  }
}
