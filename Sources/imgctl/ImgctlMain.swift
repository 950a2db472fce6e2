import Glibc
import ImgctlCommands
import ImgdSystem

@main struct ImgctlMain {
  static func main() {
    endOnInterrupt()
    let outcome = Imgctl.run(ProcessArguments.all, environment: ProcessEnvironment.all)
    exit(outcome.rawValue)
  }

  /// Exiting closes the connection, and the daemon then cancels its fetches.
  private static func endOnInterrupt() {
    // `_exit` may be called in a signal handler.
    _ = signal(SIGINT) { _ in _exit(ExitCode.interrupted.rawValue) }
  }
}
