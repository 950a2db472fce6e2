import Glibc
import ImgdConfiguration
import ImgdConnection
import ImgdService
import ImgdSystem

/// The gateway as a process: arguments in, exit code out.
package enum GatewayProgram {
  /// How long a journal that reads nothing may hold up the end of the process.
  private static let timeToLog = Duration.seconds(1)

  /// Does what the process was started for and answers the exit code.
  package static func run() -> CInt { run(arguments: ProcessArguments.all) }

  /// Does what the arguments ask for and answers the exit code, one of sysexits.
  package static func run(arguments: [String]) -> CInt {
    defer { Log.finish(within: timeToLog) }
    // Before anything starts a thread, and before anything is logged.
    let environment = SystemdEnvironment.take()
    Log.open(
      SystemdJournal(stream: environment.journalStream), of: "imgd-http", isVerbose: false)
    do {
      let options = try GatewayOptions.parse(arguments)
      return perform(options, in: environment)
    } catch {
      return fail(error.description + "\nimgd-http --help lists the options", EX_USAGE)
    }
  }

  private static func perform(_ options: GatewayOptions, in environment: SystemdEnvironment) -> CInt
  {
    switch options.action {
    case .help: return say(GatewayOptions.help)
    case .version: return say("imgd-http \(Release.version)\n")
    case .run, .checkConfiguration, .printConfiguration: break
    }
    if let problem = environment.inheritanceProblem { Log.warning(.start, problem) }
    do {
      let configuration = try options.configuration(
        environment: ProcessEnvironment.all, uid: geteuid())
      switch options.action {
      case .checkConfiguration: return say("the configuration is good\n")
      case .printConfiguration: return say(configuration.printed())
      default: return serve(configuration, options, in: environment)
      }
    } catch {
      if options.action == .run {
        GatewaySocket(environment).turnAway(because: error.lines.joined(separator: "; "))
      }
      return fail(error.description, EX_CONFIG)
    }
  }

  private static func serve(
    _ configuration: GatewayConfiguration, _ options: GatewayOptions,
    in environment: SystemdEnvironment
  ) -> CInt {
    GatewayService.prepareProcess()
    GatewaySocket(environment).warnOfUnused(configuration.listen)
    do throws(SystemFailure) {
      let loop = try EventLoop()
      let service = try GatewayService(hasManager: environment.hasManager, on: loop)
      let gateway = Gateway(configuration, on: loop)
      try service.run()
      withExtendedLifetime(gateway) {}
      return EX_OK
    } catch {
      SystemdNotifier().send(.status(error.description))
      return fail(error.description, EX_OSERR)
    }
  }

  private static func say(_ text: String) -> CInt {
    StandardStream.say(text)
    return EX_OK
  }

  private static func fail(_ text: String, _ code: CInt) -> CInt {
    for line in text.split(separator: "\n") { Log.error(.start, String(line)) }
    return code
  }
}
