import Glibc
import ImgdSystem

/// `imgctl top`: the daemon at work, on the whole terminal.
struct Top: Verb {
  static let description = VerbDescription(
    "top", "watch the daemon at work",
    options: [VerbOption("delay", "d", .duration, help: "the time between two looks; default: 1s")],
    details: """
      Draws on the whole terminal what the daemon does: how much is asked for and found, how full its tiers are, and the oldest fetches. q or Ctrl-C ends it, p pauses it, and ? shows the keys. When the daemon goes, top says so and connects again when it is back. Without a terminal there is stats --watch.
      """)

  private let delay: Duration

  init(_ arguments: Arguments) throws(UsageProblem) { delay = try Stats.delay(arguments) }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    try checkTerminal(context)
    // The first look shows whether there is a daemon at all, while a message can still be read.
    _ = try context.statistics(over: context.connect())
    switch try play(in: context) {
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

  private func play(in context: Context) throws(Failure) -> TopSession.Ending {
    do throws(SystemFailure) { return try TopSession(context, every: delay).showUntilEnd() } catch {
      throw Failure(error)
    }
  }
}
