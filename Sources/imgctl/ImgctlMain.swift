import Glibc
import ImgctlCommands
import ImgdSystem

@main
struct ImgctlMain {
  static func main() {
    endOnInterrupt()
    let outcome = Imgctl.run(
      Array(CommandLine.arguments.dropFirst()), environment: ProcessEnvironment.all)
    exit(outcome.rawValue)
  }

  /// The end of the process closes its connection, and the daemon then cancels the fetches.
  private static func endOnInterrupt() {
    // A signal handler may call few functions; _exit is one of them.
    _ = signal(SIGINT) { _ in _exit(ExitCode.interrupted.rawValue) }
  }
}
