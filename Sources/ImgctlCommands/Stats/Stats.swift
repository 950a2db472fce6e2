import ImgdConnection
import ImgdSystem

/// `imgctl stats`: the daemon's counters.
struct Stats: Verb {
  static let description = VerbDescription(
    "stats", "show the daemon's counters",
    options: [
      VerbOption("prometheus", help: "print metrics in the text format of Prometheus"),
      VerbOption("watch", "w", help: "go on, and show what changes, until Ctrl-C"),
      VerbOption("delay", "d", .duration, help: "the time between two looks with --watch; default: 1s"), .json,
    ],
    details: """
      On a terminal --watch redraws the table, with the change since the last look and the rate per second. Elsewhere it prints a line for each look.
      """)

  private enum Form { case table, json, prometheus }

  private let form: Form
  /// The time between two looks; nil to look once.
  private let delay: Duration?

  init(_ arguments: Arguments) throws(UsageProblem) {
    let asJSON = arguments.has("json")
    let asMetrics = arguments.has("prometheus")
    if asJSON, asMetrics { throw UsageProblem("--json and --prometheus exclude each other") }
    form = asMetrics ? .prometheus : asJSON ? .json : .table
    guard arguments.has("watch") else {
      if arguments.has("delay") { throw UsageProblem("--delay needs --watch") }
      delay = nil
      return
    }
    if asMetrics { throw UsageProblem("--prometheus prints once: Prometheus itself looks again and again") }
    delay = try Self.delay(arguments)
  }

  /// The time between two looks at the daemon.
  static func delay(_ arguments: Arguments) throws(UsageProblem) -> Duration {
    let delay = arguments.duration("delay") ?? .seconds(1)
    guard delay >= .milliseconds(100), delay <= .seconds(86_400) else {
      throw UsageProblem("--delay \(DurationText.text(delay)) is not valid: write 100ms to 1d")
    }
    return delay
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let connection = try context.connect()
    if let delay { try StatsWatch(context, connection, delay, asJSON: form == .json).printForever() }
    let (statistics, answer) = try context.statistics(over: connection)
    switch form {
    case .json: try context.print(answer.text)
    case .prometheus: try context.print(Metrics.text(of: statistics, by: "imgctl"))
    case .table:
      let table = StatisticsTable(statistics, socket: context.socket)
      try context.print(table.lines(context.palette).joined(separator: "\n"))
    }
    return .done
  }
}
