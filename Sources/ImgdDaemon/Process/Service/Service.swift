import ImgdCache
import ImgdSystem
import ImgdTransfer

/// What the daemon tells the service manager; nothing where there is none.
///
/// What is told must be true: ready is who answers, alive is whose threads have all answered, and a
/// reload is over when the new configuration is in force, or refused.
final class Service {
  /// Longer than the drain and the closing of the index take, each from the moment it begins.
  private static let timeToDrain = Duration.seconds(20)
  private static let timeToClose = Duration.seconds(30)

  /// When a manager that was too busy to hear that the service is ready is told again: it would
  /// end, in time, what it thinks has never got there.
  private static let pauseForManager = Duration.seconds(1)

  let manager: ServiceManager
  private let status: StatusLine
  private let loop: EventLoop
  private var watchdog: Watchdog?
  private var readyAgain: Timer?

  init(_ manager: ServiceManager, status: StatusLine, loop: EventLoop) {
    self.manager = manager
    self.status = status
    self.loop = loop
  }

  /// The socket listens and the cache answers.
  func isReady() {
    tellReady(status.text())
  }

  private func tellReady(_ text: String) {
    guard !manager.ready(status: text) else { return }
    readyAgain = loop.schedule(after: Self.pauseForManager) { [unowned self] in tellReady(text) }
  }

  func beginsReload() {
    readyAgain?.cancel()
    manager.reloading()
  }

  /// The service is as ready as before, also when the new configuration was refused.
  func endsReload(refused reason: String?) {
    // The stop is the last word: a reload that ends after it is not told.
    guard !status.isClosed else { return }
    tellReady(reason.map { "still with the old configuration: \($0)" } ?? status.text())
  }

  func beginsStop() {
    status.close()
    readyAgain?.cancel()
    manager.stopping(status: "finishing what runs")
    manager.extendTimeout(by: Self.timeToDrain)
  }

  func closes() {
    manager.status("closing the cache")
    manager.extendTimeout(by: Self.timeToClose)
  }

  /// Pings the service manager as long as every thread that clients depend on answers.
  func watch(
    over engine: TransferEngine, _ disk: DiskTier, every period: Duration?, on loop: EventLoop
  ) throws(SystemFailure) {
    guard let period else { return }
    let answers = try EngineAnswers(from: engine, on: loop)
    let watchdog = Watchdog(
      period: period, loop: loop,
      stages: [
        Watchdog.Stage(name: "the transfer loop") { answers.ask(then: $0) },
        Watchdog.Stage(name: "the disk's writer") { disk.askWriterForLife(then: $0) },
        Watchdog.Stage(name: "the disk's reader") { disk.askReaderForLife(then: $0) },
      ]
    ) { [manager] in
      manager.isAlive()
    }
    watchdog.onDelay = { late in
      Log.error(.watchdog, "no answer from \(late.joined(separator: ", ")) for half of \(period)")
    }
    self.watchdog = watchdog
  }
}

/// The transfer loop's answers on their way home.
private final class EngineAnswers {
  private let engine: TransferEngine
  private let home: Mailbox<Bool>
  private let waiting = Waiting()

  private final class Waiting {
    var answered: (() -> Void)?
  }

  init(from engine: TransferEngine, on loop: EventLoop) throws(SystemFailure) {
    self.engine = engine
    home = try loop.makeMailbox { [waiting] _ in waiting.answered.take()?() }
  }

  func ask(then answered: @escaping () -> Void) {
    waiting.answered = answered
    engine.askForLife { [home] in home.post(true) }
  }
}
