import Glibc
import ImgdSystem

/// `imgctl top`: the daemon at work, on the whole terminal.
struct Top: Verb {
  static let description = VerbDescription(
    "top", "watch the daemon at work",
    options: [VerbOption("delay", "d", .duration, help: "the time between two looks; default: 1s")],
    details: """
      Draws on the whole terminal what the daemon does: how much is asked for and found, how full its tiers are, the oldest fetches, the busiest hosts and the latest failures. Rates are averages of three seconds. q or Ctrl-C ends it, p pauses it, and ? shows the keys. When the daemon goes, top says so and connects again when it is back. Without a terminal there is stats --watch.
      """)

  private let delay: Duration

  init(_ arguments: Arguments) throws(UsageProblem) { delay = try Stats.delay(arguments) }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    try checkTerminal(context)
    // The first look shows whether there is a daemon at all, while a message can still be read.
    _ = try context.statistics(over: context.connect())
    let ending: TopSession.Ending
    do throws(SystemFailure) { ending = try TopSession(context, every: delay).showUntilEnd() } catch {
      throw Failure(error)
    }
    switch ending {
    case .quit: return .done
    case .signal(let number): TopSession.die(of: number)
    case .failure(let failure): throw Failure(failure)
    }
  }

  private func checkTerminal(_ context: Context) throws(Failure) {
    let terminals = context.console.terminals
    guard terminals.input, terminals.output else {
      throw Failure(.wrongUsage, "top needs a terminal to draw on: imgctl stats --watch prints lines instead")
    }
    if context.environment["TERM"] == "dumb" {
      throw Failure(
        .wrongUsage, "TERM=dumb is a terminal that cannot be drawn on: imgctl stats --watch prints lines instead")
    }
    if context.manner.isVerbose, terminals.messages {
      throw Failure(.wrongUsage, "--verbose writes to the terminal that top draws on: add 2>FILE")
    }
  }
}

// However `top` ends, by a key, a signal or an error, `showUntilEnd` leaves the screen first. The signals are blocked
// and read by the loop, so none can end the process in the middle of its work.

/// `imgctl top` from its first look to its end: the loop between the daemon, the keys, the signals and the screen.
final class TopSession {
  enum Ending {
    case quit
    case signal(CInt)
    case failure(SystemFailure)
  }

  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH]

  private let context: Context
  private let delay: Duration
  private let loop: EventLoop
  private let screen: FullScreen
  private let view: TopView
  private var state: TopState
  private var feed: DaemonFeed?
  private var signals: SignalWatch?
  private var keys: Watch?
  private var ending = Ending.quit

  init(_ context: Context, every delay: Duration) throws(SystemFailure) {
    self.context = context
    self.delay = delay
    SignalWatch.block(Self.signals)
    loop = try EventLoop()
    screen = FullScreen(readingFrom: context.console.input, writingBy: context.console.output)
    view = TopView(palette: context.palette, glyphs: .of(context.environment), delay: delay)
    state = TopState(socket: context.socket)
    let session = Unowned(self)
    feed = DaemonFeed(context, loop) { session.object.show($0) }
    signals = try SignalWatch(Self.signals, on: loop) { session.object.receive($0) }
    keys = try loop.watch(context.console.input, for: .read) { _ in session.object.readKeys() }
  }

  /// Runs until something ends it, and gives the terminal back as it was.
  func showUntilEnd() -> Ending {
    defer { screen.leave() }
    attempt { () throws(SystemFailure) in try screen.enter() }
    look()
    draw()
    loop.run()
    return ending
  }

  /// Ends the process by a signal, as if it had not been watched: its parent sees why.
  static func die(of signal: CInt) -> Never {
    raiseUnwatched(signal)
    exit(128 + signal)
  }

  // MARK: The daemon

  private func look() {
    if !state.isPaused { feed?.look(atMost: size.rows) }
    loop.schedule(after: delay) { [session = Unowned(self)] in session.object.look() }
  }

  private func show(_ outcome: DaemonFeed.Outcome) {
    switch outcome {
    case .answers(let look): state.show(look)
    case .problem(let problem): state.show(problem: problem)
    }
    draw()
  }

  // MARK: The terminal

  private var size: TerminalSize { .of(STDOUT_FILENO, environment: context.environment) }

  private func draw() { attempt { () throws(SystemFailure) in try screen.draw(view.lines(state, in: size, at: .now)) } }

  /// Ends the session if the terminal fails: it has gone.
  private func attempt(_ work: () throws(SystemFailure) -> Void) {
    do throws(SystemFailure) { try work() } catch { leave(for: .failure(error)) }
  }

  private func readKeys() {
    attempt { () throws(SystemFailure) in
      let bytes = try context.console.readInput(atMost: 64)
      if bytes.isEmpty { return leave(for: .quit) }
      for byte in bytes { press(byte) }
    }
  }

  private func press(_ key: UInt8) {
    switch key {
    case UInt8(ascii: "q"), UInt8(ascii: "Q"): leave(for: .quit)
    case UInt8(ascii: "p"), UInt8(ascii: "P"), UInt8(ascii: " "):
      state.isPaused.toggle()
      draw()
    case UInt8(ascii: "?"), UInt8(ascii: "h"):
      state.showsKeys.toggle()
      draw()
    default: break
    }
  }

  private func receive(_ signal: CInt) {
    switch signal {
    case SIGINT: leave(for: .quit)
    case SIGWINCH: draw()
    case SIGTSTP:
      // A person's request: the terminal is given back to the shell.
      screen.leave()
      Self.raiseUnwatched(SIGTSTP)
      resumeProcess()
    case SIGCONT: resumeProcess()
    default: leave(for: .signal(signal))
    }
  }

  private func resumeProcess() {
    attempt { () throws(SystemFailure) in try screen.enter() }
    draw()
  }

  private func leave(for ending: Ending) {
    self.ending = ending
    loop.stop()
  }

  /// Lets a signal have its usual effect, now.
  private static func raiseUnwatched(_ number: CInt) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, number)
    _ = signal(number, SIG_DFL)
    raise(number)
    // The set lives on this stack. Here the signal arrives.
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }
}
