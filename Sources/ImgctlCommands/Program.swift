import Glibc
import ImgdClient
import ImgdSystem

/// The whole of imgctl, from its arguments to its exit code.
package enum Program {
  /// Does what the arguments say, and says how it went.
  package static func run(
    _ arguments: [String], environment: [String: String], console: Console = .standard
  ) -> ExitCode {
    do throws(UsageProblem) {
      let invocation = try Invocation.parse(arguments)
      return perform(invocation, environment, console)
    } catch {
      console.complain(error.description)
      return .wrongUsage
    }
  }

  private static func perform(
    _ invocation: Invocation, _ environment: [String: String], _ console: Console
  ) -> ExitCode {
    let path = SocketSearch.path(named: invocation.socket, environment: environment)
    do throws(Failure) {
      return try Command(action: invocation.action, socket: path, console: console).run()
    } catch {
      console.complain(error.sentence)
      return error.exitCode
    }
  }
}
