import Glibc
import ImgdConnection
package import ImgdProgram
package import ImgdSystem

/// The gateway as a process: arguments in, exit code out.
package enum GatewayProgram {
  /// How long a journal that reads nothing may hold up the end of the process.
  private static let timeToLog = Duration.seconds(1)

  /// Does what the arguments ask for, and returns the exit code, one of sysexits.
  package static func run(arguments: [String] = ProcessArguments.all) -> CInt {
    defer { Log.finish(within: timeToLog) }
    // Before anything starts a thread, and before anything is logged.
    let environment = SystemdEnvironment.takeVariables()
    do {
      try Log.open(environment.logTarget(), of: "imgd-http")
      let options = try GatewayOptions.parse(arguments)
      return carryOut(options, in: environment)
    } catch {
      let code = fail(error.description, EX_USAGE)
      if !error.description.contains("--help") { Log.notice(.start, "--help lists the options") }
      return code
    }
  }

  private static func carryOut(_ options: GatewayOptions, in environment: SystemdEnvironment) -> CInt {
    switch options.action {
    case .help: return say(GatewayOptions.help)
    case .version: return say("imgd-http \(Release.version)\n")
    case .run, .checkConfiguration, .printConfiguration: break
    }
    if let problem = environment.inheritanceProblem { Log.warning(.start, .inheritanceUnknown, problem) }
    do {
      let configuration = try options.configuration(environment: ProcessEnvironment.all, uid: geteuid())
      switch options.action {
      case .checkConfiguration: return check(configuration, options)
      case .printConfiguration: return say(configuration.printed())
      default: return serve(configuration, options, in: environment)
      }
    } catch {
      if options.action == .run { GatewaySocket(environment).turnAway(because: error.summary) }
      return fail(error.description, EX_CONFIG)
    }
  }

  /// Checks the files that it names as part of the configuration.
  private static func check(_ configuration: GatewayConfiguration, _ options: GatewayOptions) -> CInt {
    do throws(GatewayFileProblem) { _ = try GatewayFiles(configuration) } catch {
      return fail(error.message, EX_CONFIG)
    }
    // Root checks what the service's user would be able to read.
    let instance = Instance(environment: ProcessEnvironment.all, uid: geteuid())
    let user = instance.isCheckedByRoot ? ServiceUser(of: "imgd-http.service", orNamed: "imgd-http") : nil
    let secrets = [configuration.keyFile, configuration.tokenFile].filter { !$0.isEmpty }
    let others = options.files(of: instance) + configuration.fallback.map(\.path)
    let files = others.map { ServiceFile($0) } + secrets.map { ServiceFile($0, isSecret: true) }
    let socket = ServiceFile(socket: options.socket ?? ControlSocketPlace.system)
    let complaints = user?.complaints(about: files + [socket]) ?? []
    guard complaints.isEmpty else { return fail(complaints.joined(separator: "\n"), EX_CONFIG) }
    return say("the configuration is good\n")
  }

  private static func serve(
    _ configuration: GatewayConfiguration, _ options: GatewayOptions, in environment: SystemdEnvironment
  ) -> CInt {
    GatewayService.prepareProcess(forClients: configuration.maxConnections)
    let socket = GatewaySocket(environment)
    socket.warnOfUnused(configuration.listen)
    let listener: HTTPListener
    do throws(ListenProblem) { listener = try socket.listen(as: configuration) } catch {
      return failToServe(error.description, error.exitCode)
    }
    do throws(SystemFailure) {
      let loop = try EventLoop()
      let service = try GatewayService(hasManager: environment.hasManager, on: loop)
      return try serve(configuration, options, listener, service, on: loop)
    } catch { return failToServe(error.description, EX_OSERR) }
  }

  private static func serve(
    _ configuration: GatewayConfiguration, _ options: GatewayOptions, _ listener: HTTPListener,
    _ service: GatewayService, on loop: EventLoop
  ) throws(SystemFailure) -> CInt {
    let files: GatewayFiles
    do throws(GatewayFileProblem) { files = try GatewayFiles(configuration) } catch {
      return failToServe(error.message, EX_CONFIG)
    }
    let log: AccessLog?
    do throws(SystemFailure) {
      let file = configuration.accessLogFile
      log = try AccessLog.Form(rawValue: configuration.accessLog.rawValue).map { form throws(SystemFailure) in
        try AccessLog(as: form, into: file.isEmpty ? nil : file, sample: configuration.accessLogSample)
      }
    } catch {
      return failToServe(
        "HTTP-Gateway.AccessLogFile=\(configuration.accessLogFile) cannot be written: \(error.reason)", EX_CANTCREAT)
    }
    defer { log?.finish(within: timeToLog) }
    // Looked for at each connection: the user's own daemon may have been started since.
    let commons = GatewayCommons(configuration, files, at: try listener.makePlace(), log: log) {
      [socket = options.socket] in
      SocketSearch.path(named: socket, environment: ProcessEnvironment.all)
    }
    let workers = try GatewayWorkers(commons, listening: listener, on: loop)
    service.onStop = workers.close
    let greeting = Log.isWatched ? Greeting(commons, on: loop) : nil
    greeting?.say { Log.notice(.start, $0) }
    try service.serve()
    return EX_OK
  }

  private static func say(_ text: String) -> CInt {
    StandardStream.say(text)
    return EX_OK
  }

  private static func failToServe(_ text: String, _ code: CInt) -> CInt {
    SystemdNotifier().send(.status(text))
    return fail(text, code)
  }

  private static func fail(_ text: String, _ code: CInt) -> CInt {
    for line in text.split(separator: "\n") { Log.startFailed(String(line)) }
    return code
  }
}

/// The options on the gateway's command line.
package struct GatewayOptions: Equatable {
  /// The action of the program; all actions except `run` write to standard output and exit.
  package enum Action: Equatable, Sendable { case run, checkConfiguration, printConfiguration, version, help }

  package private(set) var action = Action.run
  /// The daemon's socket, in place of the one that is found.
  package private(set) var socket: String?
  private var configurationFile: String?
  private var settings: [CommandLineSetting] = []

  package static let systemFile = "/etc/imgd/imgd.conf"

  private static let options = [
    CommandLineOption("config", letter: "c", takesValue: true),
    CommandLineOption("socket", takesValue: true),
    CommandLineOption("listen", takesValue: true),
    CommandLineOption("set", takesValue: true),
    CommandLineOption("check-config"),
    CommandLineOption("print-config"),
    CommandLineOption("version", letter: "V"),
    CommandLineOption("help", letter: "h"),
  ]

  /// The text of `--help`.
  package static let help = """
    Usage: imgd-http [OPTION]...
    Hands out imgd's pictures over HTTP, to programs and web servers of this machine.

      -c, --config FILE            read FILE and FILE.d/*.conf instead of the usual files
          --socket PATH            the daemon's socket; default: $IMGD_SOCKET, your own, the machine's
          --listen PLACE           listen on a path, localhost:PORT or [::1]:PORT
          --set HTTP-Gateway.Key=VALUE
                                   set one key of the configuration; may be repeated
          --check-config           check the configuration, and exit
          --print-config           print the configuration in force with explanations, and exit
      -V, --version                print the version, and exit
      -h, --help                   print this help, and exit

    The command line overrides the environment (IMGD_HTTP_GATEWAY_KEY), which overrides the files.

    """

  /// Reads the arguments that follow the program's name.
  package static func parse(_ arguments: [String]) throws(UsageProblem) -> GatewayOptions {
    var result = GatewayOptions()
    var scanner = CommandLineScanner(arguments, options: options)
    while let item = try scanner.next() { try result.read(item) }
    return result
  }

  /// The configuration of files, environment and command line; each overrides the one before.
  package func configuration(environment: [String: String], uid: UInt32, systemFile: String = GatewayOptions.systemFile)
    throws(ConfigurationProblems) -> GatewayConfiguration
  {
    let instance = Instance(environment: environment, uid: uid)
    var defaults = GatewayConfiguration()
    if !instance.servesMachine { defaults.listen = .unix(Self.place(besides: environment, uid: uid)) }
    return try places(of: instance, systemFile: systemFile).read(over: defaults) { _ in }
  }

  /// The files that a service reads.
  func files(of instance: Instance) -> [String] { places(of: instance, systemFile: Self.systemFile).files }

  private func places(of instance: Instance, systemFile: String) -> ConfigurationPlaces {
    ConfigurationPlaces(
      named: configurationFile, usual: instance.configurationFile(system: systemFile),
      environment: instance.environment, settings: settings)
  }

  /// The path of a user's own gateway, in the directory of the user's own daemon.
  private static func place(besides environment: [String: String], uid: UInt32) -> String {
    let daemon = ControlSocketPlace.user(environment: environment, uid: uid)
    return String(daemon.dropLast("imgd.sock".count)) + "http.sock"
  }

  private mutating func read(_ item: CommandLineScanner.Item) throws(UsageProblem) {
    switch item {
    case .operand(let operand):
      throw UsageProblem("unexpected argument '\(shown(operand))': imgd-http takes only options")
    case .option("config", let value): configurationFile = try operand(value, of: "--config", "a file")
    case .option("socket", let value): socket = try operand(value, of: "--socket", "a path")
    case .option("listen", let value):
      let place = try operand(value, of: "--listen", "a path or localhost:PORT")
      settings.append(CommandLineSetting("--listen", .gateway, "Listen", place))
    case .option("set", let value): settings.append(try CommandLineSetting(value ?? "", for: GatewayConfiguration.self))
    case .option("check-config", _): ask(.checkConfiguration)
    case .option("print-config", _): ask(.printConfiguration)
    case .option("version", _): ask(.version)
    case .option: ask(.help)
    }
  }

  /// Help and version take precedence over other actions.
  private mutating func ask(_ wanted: Action) {
    if action == .help || action == .version { return }
    action = wanted
  }
}
