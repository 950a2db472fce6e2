import Glibc
import ImgdConnection
import ImgdSystem

/// The program imgctl, from its arguments to its exit code.
package enum Imgctl {
  /// Carries out a command line; the result is the exit code.
  package static func run(_ arguments: [String], environment: [String: String], console: Console = .standard)
    -> ExitCode
  {
    let invocation: Invocation
    do throws(UsageProblem) { invocation = try Invocation.parse(arguments) } catch {
      console.complain(error.description)
      return .wrongUsage
    }
    let socket = SocketSearch.path(named: invocation.manner.socket, environment: environment)
    let context = Context(console: console, socket: socket, manner: invocation.manner, environment: environment)
    do throws(Failure) { return try invocation.work(context) } catch {
      console.complain(error.sentence)
      return error.exitCode
    }
  }
}
