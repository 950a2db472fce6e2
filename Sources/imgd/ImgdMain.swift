import Glibc
import ImgdDaemon

@main struct ImgdMain {
  /// Synchronous on purpose: with an async main the main thread's signals stay unblocked, and the first
  /// SIGHUP would end the daemon.
  static func main() { exit(DaemonProgram.run()) }
}
