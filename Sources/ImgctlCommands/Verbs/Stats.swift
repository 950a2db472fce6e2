import Glibc
import ImgdConnection
import ImgdSystem
import ImgdWire

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

  static func delay(_ arguments: Arguments) throws(UsageProblem) -> Duration {
    let delay = arguments.duration("delay") ?? .seconds(1)
    guard delay >= .milliseconds(100), delay <= .seconds(86_400) else {
      throw UsageProblem("--delay \(DurationText.text(delay)) is not valid: write 100ms to 1d")
    }
    return delay
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let connection = try context.connect()
    if let delay { try watch(over: connection, every: delay, in: context) }
    let (statistics, answer) = try context.statistics(over: connection)
    switch form {
    case .json: try context.print(answer.text)
    case .prometheus:
      let origins = try context.origins(over: connection)
      try context.print(Metrics.text(of: statistics, origins: origins, by: "imgctl"))
    case .table:
      let table = StatisticsTable(statistics: statistics, socket: context.socket)
      try context.print(table.lines(context.palette).joined(separator: "\n"))
    }
    return .done
  }

  /// Looks at the counters again and again, until Ctrl-C or the end of the daemon.
  private func watch(over connection: ControlConnection, every delay: Duration, in context: Context) throws(Failure)
    -> Never
  {
    let drawsTable = context.console.terminals.output && context.environment["TERM"] != "dumb"
    var table = WatchedTable(context: context)
    var log = WatchedLog()
    while true {
      let (statistics, answer) = try context.statistics(over: connection)
      if form == .json {
        try context.print(answer.text)
      } else if drawsTable {
        try context.print(table.frame(of: statistics))
      } else if let lines = log.lines(about: statistics) {
        try context.print(lines)
      }
      // Only sleeps: no descriptor is polled.
      _ = poll(nil, 0, CInt(clamping: delay.milliseconds))
    }
  }
}

/// The table of counters, drawn over itself.
private struct WatchedTable {
  let context: Context
  var previous: DaemonStatistics?
  /// The numbers that have changed since the first look.
  var moved: Set<String> = []

  /// The text that draws the current counters. If the terminal has too few rows for all, those that have changed come
  /// first.
  mutating func frame(of statistics: DaemonStatistics) -> String {
    let isFirst = previous == nil
    let interval = previous.flatMap { Interval(from: $0, to: statistics) }
    for (old, new) in zip(previous?.numbers ?? [], statistics.numbers) where old != new { moved.insert(new.path) }
    previous = statistics
    // The frame ends with an empty line, on which the cursor stays.
    let room = TerminalSize.of(STDOUT_FILENO, environment: context.environment).rows - 2
    let table = StatisticsTable(statistics: statistics, interval: interval, socket: context.socket)
    var lines = table.lines(context.palette)
    if lines.count > room {
      let shown = table.paths(in: room - 1, first: moved)
      lines = table.lines(context.palette) { shown.contains($0) }.prefix(max(room - 1, 0)) + ["…"]
    }
    // While it does not wrap them, the terminal itself cuts long lines off.
    return (isFirst ? "\u{1b}[2J" : "") + "\u{1b}[?7l\u{1b}[H" + lines.joined(separator: "\u{1b}[K\n")
      + "\u{1b}[K\n\u{1b}[J\u{1b}[?7h"
  }
}

struct WatchedLog {
  private static let titles = [
    "TIME", "RATIO", "HITS/S", "MISSES/S", "DOWNLOADS/S", "BYTES/S", "ACTIVE", "QUEUED", "FAILED", "MEMORY", "DISK",
  ]

  private let columns = Columns(titles.map { _ in .right }, widths: [8, 6, 6, 8, 11, 7, 6, 6, 6, 6, 6])
  private var previous: DaemonStatistics?

  /// The lines that one look adds: titles after the first one, and then what happened between two looks.
  mutating func lines(about statistics: DaemonStatistics) -> String? {
    defer { previous = statistics }
    guard let previous else { return columns.line(Self.titles) }
    guard let interval = Interval(from: previous, to: statistics) else { return "imgd was started again" }
    return columns.line([
      LocalTime.now.text, Quantity.share(interval.hits, of: interval.lookups) ?? "-", Quantity.rate(interval.hitRate),
      Quantity.rate(interval.missRate), Quantity.rate(interval.rate("downloads", "completed")),
      Quantity.shortSize(Int(min(interval.rate("downloads", "bytes_received"), 9e18))),
      "\(statistics.number("downloads", "active"))", "\(statistics.number("downloads", "queued"))",
      "\(interval.growth("downloads", "failed"))", Quantity.shortSize(statistics.number("memory", "bytes")),
      Quantity.shortSize(statistics.number("disk", "bytes")),
    ])
  }
}
