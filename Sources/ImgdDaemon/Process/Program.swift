import Glibc
import ImgdCache
import ImgdSystem

/// The daemon as a process: arguments in, exit code out.
package enum Program {
  /// Does what the arguments ask for and answers the exit code, one of sysexits.
  package static func run(arguments: [String]) -> CInt {
    do {
      let options = try CommandLineOptions.parse(arguments)
      return perform(options)
    } catch {
      return fail(error.description + "\nimgd --help lists the options", EX_USAGE)
    }
  }

  private static func perform(_ options: CommandLineOptions) -> CInt {
    // Before anything starts a thread, and before anything is logged.
    let environment = ServiceEnvironment.take()
    Log.open(JournalSocket(stream: environment.journalStream))
    switch options.action {
    case .help: return say(CommandLineOptions.help)
    case .version: return say("imgd \(Version.string)\n")
    case .run, .checkConfiguration, .printConfiguration: break
    }
    // They wait until it serves: they are no reason to end. A stop needs nobody to wait for it.
    SignalWatch.block([SIGHUP, SIGUSR1])
    do {
      let source = ConfigurationSource(options: options, environment: ProcessEnvironment.all)
      let configuration = try source.load()
      switch options.action {
      case .checkConfiguration: return say("the configuration is good\n")
      case .printConfiguration: return say(configuration.printed())
      default: return serve(configuration, reloadingFrom: source, in: environment)
      }
    } catch {
      if options.action == .run {
        FailedStart.tell(error.lines.joined(separator: "; "), in: environment)
      }
      return fail(error.description, EX_CONFIG)
    }
  }

  private static func serve(
    _ configuration: Configuration, reloadingFrom source: ConfigurationSource,
    in environment: ServiceEnvironment
  ) -> CInt {
    // Before anything starts a thread, so that every thread inherits it.
    SignalWatch.block(Daemon.signals)
    signal(SIGPIPE, SIG_IGN)
    OpenFiles.raiseLimit()
    do throws(StartProblem) {
      try Daemon(configuration, reloadingFrom: source, in: environment).run()
      return EX_OK
    } catch {
      ServiceManager(socket: environment.notifySocket).failing(status: error.description)
      return fail(error.description, error.exitCode)
    }
  }

  private static func say(_ text: String) -> CInt {
    var output = StandardStream(STDOUT_FILENO)
    print(text, terminator: "", to: &output)
    return EX_OK
  }

  private static func fail(_ text: String, _ code: CInt) -> CInt {
    for line in text.split(separator: "\n") { Log.error(.start, String(line)) }
    return code
  }
}

/// Where the configuration comes from, the first time and at each reload.
struct ConfigurationSource: Sendable {
  let options: CommandLineOptions
  let environment: [String: String]
  /// Where the daemon is served, if that is not for the configuration to say.
  private var socket: String?

  init(options: CommandLineOptions, environment: [String: String]) {
    self.options = options
    self.environment = environment
  }

  func load() throws(ConfigurationProblems) -> Configuration {
    try ConfigurationLoader.load(options, environment: environment)
  }

  /// The same source for a daemon whose socket is open already.
  func served(at socket: String) -> ConfigurationSource {
    var source = self
    source.socket = socket
    return source
  }

  /// Says that a socket of the configuration is not made, to who has named one.
  func warnOfUnusedSocket(in wanted: Configuration) {
    let usual = Instance(environment: environment, uid: geteuid()).defaults.control.socket
    guard let socket, wanted.control.socket != socket, wanted.control.socket != usual else {
      return
    }
    Log.warning(
      .configuration,
      "Control.Socket=\(wanted.control.socket) is not used: systemd has made \(socket), and where "
        + "that is ListenStream= says (systemctl edit imgd.socket)")
  }

  /// What holds in fact, where a configuration cannot decide.
  func adapted(_ configuration: Configuration) -> Configuration {
    var configuration = configuration
    if let socket { configuration.control.socket = socket }
    return configuration
  }
}

/// Why the daemon could not start.
enum StartProblem: Error, CustomStringConvertible {
  case listening(ListenProblem)
  case directory(DirectoryProblem)
  case system(SystemFailure)

  var description: String {
    switch self {
    case .listening(let problem): problem.description
    case .directory(let problem): problem.description
    case .system(let failure): failure.description
    }
  }

  var exitCode: CInt {
    switch self {
    case .listening(.taken): EX_UNAVAILABLE
    case .listening(.pathTooLong): EX_CONFIG
    case .listening(.notASocket), .listening(.noPlace): EX_CANTCREAT
    case .listening(.notListening): EX_CONFIG
    case .listening(.system): EX_CANTCREAT
    case .directory(.taken): EX_UNAVAILABLE
    case .directory(.unsafe): EX_CONFIG
    case .directory(.unavailable): EX_CANTCREAT
    case .system: EX_OSERR
    }
  }
}

/// Text on its way to a descriptor of the process.
struct StandardStream: TextOutputStream {
  private let descriptor: CInt

  init(_ descriptor: CInt) {
    self.descriptor = descriptor
  }

  mutating func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = unsafe rest.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      guard written > 0 else { return }
      rest = rest.dropFirst(written)
    }
  }
}
