import Glibc
import ImgdDaemon

@main
struct Imgd {
  /// Synchronous on purpose: an async main leaves the main thread's signals unblocked, and the
  /// first SIGHUP would end the daemon.
  static func main() {
    exit(DaemonProgram.run(arguments: Array(CommandLine.arguments.dropFirst())))
  }
}
