import Glibc
import ImgdProgram
import ImgdConnection
import ImgdSystem

/// The gateway as a process: arguments in, exit code out.
package enum GatewayProgram {
  /// How long a journal that reads nothing may hold up the end of the process.
  private static let timeToLog = Duration.seconds(1)

  /// Does what the process was started for, and returns the exit code.
  package static func run() -> CInt { run(arguments: ProcessArguments.all) }

  /// Does what the arguments ask for, and returns the exit code, one of sysexits.
  package static func run(arguments: [String]) -> CInt {
    defer { Log.finish(within: timeToLog) }
    // Before anything starts a thread, and before anything is logged.
    let environment = SystemdEnvironment.takeVariables()
    Log.open(SystemdJournal(stream: environment.journalStream), of: "imgd-http", isVerbose: false)
    do {
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
    if let problem = environment.inheritanceProblem { Log.warning(.start, problem) }
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

  /// Checks the files of secrets as part of the configuration.
  private static func check(_ configuration: GatewayConfiguration, _ options: GatewayOptions) -> CInt {
    do throws(SecretFileProblem) { _ = try GatewaySecrets(configuration) } catch {
      return fail(error.message, EX_CONFIG)
    }
    // Root checks what the service's user would be able to read.
    let instance = Instance(environment: ProcessEnvironment.all, uid: geteuid())
    let user = instance.isCheckedByRoot ? ServiceUser(of: "imgd-http.service", orNamed: "imgd-http") : nil
    let secrets = [configuration.keyFile, configuration.tokenFile].filter { !$0.isEmpty }
    let files = options.files(of: instance).map { ServiceFile($0) } + secrets.map { ServiceFile($0, isSecret: true) }
    let complaints = user?.complaints(about: files) ?? []
    guard complaints.isEmpty else { return fail(complaints.joined(separator: "\n"), EX_CONFIG) }
    return say("the configuration is good\n")
  }

  private static func serve(
    _ configuration: GatewayConfiguration, _ options: GatewayOptions, in environment: SystemdEnvironment
  ) -> CInt {
    GatewayService.prepareProcess()
    let socket = GatewaySocket(environment)
    socket.warnOfUnused(configuration.listen)
    let listener: HTTPListener
    do throws(ListenProblem) { listener = try socket.listen(at: configuration.listen) } catch {
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
    let gateway: Gateway
    // Looked for at each connection: the user's own daemon may have been started since.
    let daemon = { SocketSearch.path(named: options.socket, environment: ProcessEnvironment.all) }
    do throws(GatewayProblem) {
      gateway = try Gateway(configuration, listening: listener, daemon: daemon, on: loop)
    } catch { return failToServe(error.description, error.exitCode) }
    service.onStop = gateway.close
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
