import Glibc
import ImgdCache
import ImgdFleet
import ImgdProgram
import ImgdSystem
import ImgdTransfer
import ImgdWire

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
    over threads: TransferThreads, _ fleet: FleetEngine?, _ disk: DiskTier, every period: Duration?, on loop: EventLoop
  ) throws(SystemFailure) {
    guard let period else { return }
    let transfers = try LoopAnswers(on: loop) { threads.askForLife($0) }
    var stages = [
      Watchdog.Stage(name: "a transfer loop") { transfers.ask(then: $0) },
      Watchdog.Stage(name: "the disk's writer") { disk.askWriterForLife(then: $0) },
      Watchdog.Stage(name: "the disk's reader") { disk.askReaderForLife(then: $0) },
    ]
    if let fleet {
      let answers = try LoopAnswers(on: loop) { fleet.askForLife($0) }
      stages.append(Watchdog.Stage(name: "the fleet's loop") { answers.ask(then: $0) })
    }
    let watchdog = Watchdog(period: period, loop: loop, stages: stages) { [manager] in manager.post(.alive) }
    watchdog.onDelay = { late in
      Log.error(
        .watchdog, .threadSilent, "no answer from \(late.joined(separator: ", ")) for half of \(period)")
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

/// The status line that `systemctl status` shows to every user.
///
/// It names no URL, and is sent at most every five seconds and only after a command: an idle daemon does not wake up.
final class StatusLine {
  private static let interval = Duration.seconds(5)

  let text: () -> String
  private let manager: SystemdMessenger
  private let loop: EventLoop
  private var isScheduled = false
  private var last = ""
  private(set) var isClosed = false

  init(_ manager: SystemdMessenger, on loop: EventLoop, _ text: @escaping () -> String) {
    self.manager = manager
    self.loop = loop
    self.text = text
  }

  /// A command has arrived: the line may have changed, and is compared after the interval.
  func noteActivity() {
    guard !isScheduled, manager.hasManager else { return }
    isScheduled = true
    loop.schedule(after: Self.interval) { [weak self] in self?.update() }
  }

  /// Sends nothing any more: the last status says that the daemon is stopping.
  func close() { isClosed = true }

  private func update() {
    isScheduled = false
    guard !isClosed else { return }
    let text = text()
    guard text != last else { return }
    last = text
    manager.post(.status(text))
  }
}

/// Gives a sign of life whenever every stage has answered since the last one.
///
/// They are asked four times in the period that the manager allows, so that one slow answer does not end the service,
/// and not while an answer is missing: one that hangs finds a single question later.
final class Watchdog {
  /// A part of the program that clients depend on.
  struct Stage {
    let name: String
    /// Must call `answered` on the loop, in its own time.
    let ask: (_ answered: @escaping () -> Void) -> Void
  }

  /// Called with the stages that have not answered for half of the period, once until all have.
  var onDelay: ([String]) -> Void = { _ in }

  /// A shorter period is a mistake, and asking that often would keep the program busy.
  private static let shortestPeriod = Duration.milliseconds(40)

  private let pause: Duration
  private let patience: Duration
  private let loop: EventLoop
  private let stages: [Stage]
  private let ping: () -> Void
  private var missing: Set<Int> = []
  private var round = 0
  private var isStopped = false
  private var next: Timer?
  private var delay: Timer?

  /// Begins with a question at once; `ping` is called on the loop.
  init(period: Duration, loop: EventLoop, stages: [Stage], ping: @escaping () -> Void) {
    precondition(!stages.isEmpty, "a sign of life needs at least one stage to answer")
    let period = max(period, Self.shortestPeriod)
    pause = period / 4
    patience = period / 2
    self.loop = loop
    self.stages = stages
    self.ping = ping
    ask()
  }

  deinit { stop() }

  /// Asks no stage any more, and gives no more signs of life.
  func stop() {
    isStopped = true
    missing = []
    next?.cancel()
    delay?.cancel()
  }

  var late: [String] { missing.sorted().map { stages[$0].name } }

  private func ask() {
    round += 1
    missing = Set(stages.indices)
    delay = loop.schedule(after: patience) { [unowned self] in onDelay(late) }
    for index in stages.indices where !isStopped {
      stages[index].ask { [weak self, round] in self?.answer(of: index, in: round) }
    }
  }

  /// An answer to an earlier question does not count for this round.
  private func answer(of index: Int, in asked: Int) {
    guard asked == round, missing.remove(index) != nil, missing.isEmpty else { return }
    delay?.cancel()
    ping()
    guard !isStopped else { return }
    next = loop.schedule(after: pause) { [unowned self] in ask() }
  }
}

/// The descriptors that the service manager has passed, by name; each has one owner.
struct Inheritance {
  /// The name that a socket unit gives with FileDescriptorName=.
  static let socketName = "control"

  let socket: CInt?
  /// The descriptors of the previous daemon's memory tier.
  private(set) var left: [InheritedDescriptor] = []
  /// The names that imgd does not use.
  private(set) var unknown: Set<String> = []

  init(_ descriptors: [InheritedDescriptor]) {
    let control = Self.control(in: descriptors)
    socket = control?.number
    var closed = 0
    for descriptor in descriptors where descriptor != control {
      switch descriptor.name {
      case MemoryHandover.indexName, MemoryHandover.bodiesName: left.append(descriptor)
      default:
        // It has no other owner that would close it.
        Glibc.close(descriptor.number)
        unknown.insert(descriptor.name)
        closed += 1
      }
    }
    guard closed > 0 else { return }
    let names = unknown.sorted().prefix(3).map { "'\($0)'" }.joined(separator: ", ")
    Log.warning(
      .start, .inheritanceUnknown,
      "closed what was inherited under \(names)\(unknown.count > 3 ? " and other names" : "") "
        + "(descriptors: \(closed)): imgd takes one socket, named '\(Self.socketName)' by FileDescriptorName=")
  }

  /// The control socket; programs other than systemd may pass it without a name.
  static func control(in descriptors: [InheritedDescriptor]) -> InheritedDescriptor? {
    descriptors.first { $0.name == socketName } ?? descriptors.first { $0.name == InheritedDescriptor.noName }
  }
}

/// A start that fails and would fail again until somebody corrects the configuration.
///
/// Clients may wait in a socket that the service manager has opened. Because of them it would start the daemon again
/// and again, until it gave up the socket as well. So they get an error and are disconnected.
enum FailedStart {
  /// No more than can wait in a socket: clients that reconnect at once would keep the daemon busy.
  private static let most = 4_096

  /// Sends the reason to the manager and to all clients that wait in its socket.
  static func report(_ reason: String, in environment: SystemdEnvironment) {
    SystemdNotifier().send(.status(reason))
    guard let control = Inheritance.control(in: environment.inherited),
      let listener = try? UnixListener(adopting: control.number)
    else { return }
    turnAway(from: listener, because: reason)
  }

  static func turnAway(from listener: UnixListener, because reason: String) {
    let error = WireError(.unavailable, "imgd cannot start: \(reason)")
    let scratch = ReadScratch()
    for _ in 0..<most {
      guard case .client(let socket) = listener.accept() else { return }
      socket.turnAway(error, reading: scratch)
    }
  }
}
