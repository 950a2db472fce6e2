import ImgdCache
import ImgdFleet
import ImgdProgram
import ImgdSystem
import ImgdTransfer

/// Notifies the service manager about the daemon's life; does nothing where there is none.
///
/// Notifications must be true: the daemon is ready when it answers clients, alive when all of its
/// threads have answered, and a reload is over when the new configuration is in force or refused.
final class Service {
  /// Longer than the drain and the closing of the index take, each from the moment it begins.
  private static let timeToDrain = Duration.seconds(20)
  private static let timeToClose = Duration.seconds(30)

  /// How long a manager that reads nothing may hold up the end of the process.
  private static let timeToFinish = Duration.seconds(5)

  private let manager: SystemdMessenger
  private let status: StatusLine
  private var watchdog: Watchdog?

  init(_ manager: SystemdMessenger, status: StatusLine) {
    self.manager = manager
    self.status = status
  }

  /// The socket listens and the cache answers.
  func isReady() { manager.post(.ready(status: status.text())) }

  func beginsReload() { manager.post(.reloading(since: .current)) }

  /// The service is as ready as before, even if the new configuration was refused.
  func endsReload(refused reason: String?) {
    // After STOPPING=1 the service is not ready again.
    guard !status.isClosed else { return }
    let text = reason.map { "still with the old configuration: \($0)" } ?? status.text()
    manager.post(.ready(status: text))
  }

  func beginsStop() {
    status.close()
    manager.post(.stopping(status: "finishing what runs"))
    manager.post(.extendTimeout(Self.timeToDrain))
  }

  /// The loop has stopped, and the threads are about to end.
  func closes() {
    manager.post(.status("closing the cache"))
    manager.post(.extendTimeout(Self.timeToClose))
    manager.flush()
  }

  /// Waits for a while until the manager has received everything.
  func finish() { manager.finish(within: Self.timeToFinish) }

  /// Pings the service manager as long as every thread that clients depend on answers.
  func watch(
    over engine: TransferEngine, _ fleet: FleetEngine?, _ disk: DiskTier, every period: Duration?, on loop: EventLoop
  ) throws(SystemFailure) {
    guard let period else { return }
    let transfers = try LoopAnswers(on: loop) { engine.askForLife($0) }
    var stages = [
      Watchdog.Stage(name: "the transfer loop") { transfers.ask(then: $0) },
      Watchdog.Stage(name: "the disk's writer") { disk.askWriterForLife(then: $0) },
      Watchdog.Stage(name: "the disk's reader") { disk.askReaderForLife(then: $0) },
    ]
    if let fleet {
      let answers = try LoopAnswers(on: loop) { fleet.askForLife($0) }
      stages.append(Watchdog.Stage(name: "the fleet's loop") { answers.ask(then: $0) })
    }
    let watchdog = Watchdog(period: period, loop: loop, stages: stages) { [manager] in manager.post(.alive) }
    watchdog.onDelay = { late in
      Log.error(.watchdog, "no answer from \(late.joined(separator: ", ")) for half of \(period)")
    }
    self.watchdog = watchdog
  }
}

/// Brings another loop's answers to the control loop.
private final class LoopAnswers {
  private let question: (@escaping @Sendable () -> Void) -> Void
  private let home: Mailbox<Bool>
  private let waiting = Waiting()

  private final class Waiting { var answered: (() -> Void)? }

  /// `question` has its argument called on the other loop.
  init(on loop: EventLoop, question: @escaping (@escaping @Sendable () -> Void) -> Void) throws(SystemFailure) {
    self.question = question
    home = try loop.makeMailbox { [waiting] _ in waiting.answered.take()?() }
  }

  func ask(then answered: @escaping () -> Void) {
    waiting.answered = answered
    question { [home] in home.post(true) }
  }
}
