import Glibc
import ImgdProgram
package import ImgdSystem

/// The gateway's life as a service: tells the manager when it is ready and when it stops, and ends in
/// good order at a signal.
package final class GatewayService {
  private static let signals = [SIGTERM, SIGINT]
  /// How long answers under way may go on; the unit ends the process soon after.
  private static let stopLimit = Duration.seconds(9)
  /// How long a manager that reads nothing may hold up the end of the process.
  private static let timeToFinish = Duration.seconds(5)

  private let loop: EventLoop
  private let manager: SystemdMessenger
  private var signalWatch: SignalWatch?
  private var isStopping = false

  /// Accepts nothing new, lets answers under way finish, and then calls its argument.
  package var onStop: (_ done: @escaping () -> Void) -> Void = { $0() }

  package init(hasManager: Bool, on loop: EventLoop) throws(SystemFailure) {
    self.loop = loop
    try Log.writeAside(from: loop)
    manager = try SystemdMessenger(hasManager: hasManager, on: loop)
  }

  /// Settles what becomes of signals; to be called before anything starts a thread.
  package static func prepareProcess() {
    SignalWatch.block(signals)
    signal(SIGPIPE, SIG_IGN)
    // Neither a terminal that closes nor an attempt to reload may end answers under way.
    signal(SIGHUP, SIG_IGN)
    OpenFiles.raiseLimit()
  }

  /// Serves until told to stop.
  package func serve() throws(SystemFailure) {
    signalWatch = try SignalWatch(Self.signals, on: loop) { [unowned self] _ in stop() }
    manager.post(.ready(status: "answers requests"))
    loop.run()
    manager.finish(within: Self.timeToFinish)
    loop.close()
  }

  /// A second signal ends what the first one has left running.
  private func stop() {
    guard !isStopping else { return loop.stop() }
    isStopping = true
    manager.post(.stopping(status: "finishing what runs"))
    loop.schedule(after: Self.stopLimit) { [loop] in loop.stop() }
    onStop { [loop] in loop.stop() }
  }
}
