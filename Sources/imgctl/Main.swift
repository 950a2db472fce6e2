import Glibc
import ImgctlCommands
import ImgdSystem

@main
struct Main {
  static func main() {
    endOnInterrupt()
    let outcome = Program.run(
      Array(CommandLine.arguments.dropFirst()), environment: ProcessEnvironment.all)
    exit(outcome.rawValue)
  }

  /// The daemon cancels what a connection asked for when it closes, and the end closes it.
  private static func endOnInterrupt() {
    // Only what may be called in a signal handler is called.
    _ = signal(SIGINT) { _ in _exit(ExitCode.interrupted.rawValue) }
  }
}
