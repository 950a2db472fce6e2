import Glibc
import ImgdProgram
import ImgdSystem

/// The daemon as a process: arguments in, exit code out.
package enum DaemonProgram {
  /// How long a journal that reads nothing may hold up the end of the process.
  private static let timeToLog = Duration.seconds(1)

  /// Does what the process was started for and returns the exit code.
  package static func run() -> CInt { run(arguments: ProcessArguments.all) }

  /// Does what the arguments ask for and returns the exit code, one of sysexits.
  package static func run(arguments: [String]) -> CInt {
    defer { Log.finish(within: timeToLog) }
    // Before anything starts a thread, and before anything is logged.
    let environment = SystemdEnvironment.takeVariables()
    do {
      try Log.open(environment.logTarget(), of: "imgd")
      let options = try CommandLineOptions.parse(arguments)
      if options.isVerbose { Log.includeAll() }
      return perform(options, in: environment)
    } catch {
      let code = fail(error.description, EX_USAGE)
      if !error.description.contains("--help") { Log.notice(.start, "--help lists the options") }
      return code
    }
  }

  private static func perform(_ options: CommandLineOptions, in environment: SystemdEnvironment) -> CInt {
    switch options.action {
    case .help: return say(CommandLineOptions.help)
    case .version: return say("imgd \(Release.version)\n")
    case .run, .checkConfiguration, .printConfiguration: break
    }
    if let problem = environment.inheritanceProblem { Log.warning(.start, .inheritanceUnknown, problem) }
    // These signals wait until the daemon serves, instead of ending it. A signal to stop ends it at once.
    SignalWatch.block([SIGHUP, SIGUSR1])
    do {
      let source = ConfigurationSource(options: options, environment: ProcessEnvironment.all)
      let configuration = try source.load { Log.warning(.configuration, .settingDoubtful, $0) }
      switch options.action {
      case .checkConfiguration: return check(source.files(of: configuration))
      case .printConfiguration: return say(configuration.printed())
      default: return serve(configuration, reloadingFrom: source, in: environment)
      }
    } catch {
      if options.action == .run { FailedStart.report(error.summary, in: environment) }
      return fail(error.description, EX_CONFIG)
    }
  }

  /// Checks the files; if root asks, with the rights of the service's user.
  private static func check(_ files: [ServiceFile]) -> CInt {
    let instance = Instance(environment: ProcessEnvironment.all, uid: geteuid())
    let user = instance.isCheckedByRoot ? ServiceUser(of: "imgd.service", orNamed: "imgd") : nil
    let complaints = user?.complaints(about: files) ?? []
    guard complaints.isEmpty else { return fail(complaints.joined(separator: "\n"), EX_CONFIG) }
    return say("the configuration is good\n")
  }

  private static func serve(
    _ configuration: Configuration, reloadingFrom source: ConfigurationSource, in environment: SystemdEnvironment
  ) -> CInt {
    // Before anything starts a thread, so that every thread inherits it.
    SignalWatch.block(Daemon.signals)
    signal(SIGPIPE, SIG_IGN)
    // If the parent ignored it, nobody would be told how a decoder ended.
    signal(SIGCHLD, SIG_DFL)
    OpenFiles.raiseLimit(forClients: configuration.control.maxClients)
    Heap.mergeFreedAtOnce()
    Heap.keepFreed()
    do throws(StartProblem) {
      let daemon = try Daemon(configuration, reloadingFrom: source, in: environment)
      try daemon.run()
      return daemon.exitCode
    } catch {
      SystemdNotifier().send(.status(error.description))
      return fail(error.description, error.exitCode)
    }
  }

  private static func say(_ text: String) -> CInt {
    StandardStream.say(text)
    return EX_OK
  }

  private static func fail(_ text: String, _ code: CInt) -> CInt {
    for line in text.split(separator: "\n") { Log.startFailed(String(line)) }
    return code
  }
}

/// Why the daemon could not start.
struct StartProblem: Error {
  let description: String
  /// One of sysexits.
  let exitCode: CInt
}
