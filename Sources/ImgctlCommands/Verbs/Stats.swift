import ImgdConnection
import ImgdSystem

/// `imgctl stats`: the daemon's counters.
struct Stats: Verb {
  static let description = VerbDescription(
    "stats", "show the daemon's counters", options: [.json])

  private let asJSON: Bool

  init(_ arguments: Arguments) {
    asJSON = arguments.has("json")
  }

  func run(in context: Context) throws(Failure) -> ExitCode {
    try context.print(try context.ask(RequestLine("stats")), asJSON: asJSON, AnswerTable.statistics)
    return .done
  }
}
