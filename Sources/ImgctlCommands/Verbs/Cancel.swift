import ImgdConnection
import ImgdSystem

/// `imgctl cancel`: ends fetches at the daemon.
struct Cancel: Verb {
  static let description = VerbDescription(
    "cancel", "cancel fetches", operands: .any("RECEIPT"),
    options: [
      VerbOption("tag", nil, .text("TAG"), repeats: true, help: "every fetch with this tag"),
      VerbOption("all", help: "every fetch that you may cancel"),
      .json,
    ],
    details: """
      Prints the state in which each fetch was, or with --tag and --all the number of fetches.
      A receipt that the daemon does not know is a failure. imgctl list shows the receipts of the fetches under way. Slots belong to the connection that names them, so no other program can cancel by slot.
      """)

  private let requests: [RequestLine]
  private let asJSON: Bool

  init(_ arguments: Arguments) throws(UsageProblem) {
    let named = [arguments.operands.isEmpty, arguments.texts("tag").isEmpty, !arguments.has("all")]
    guard named.count(where: { !$0 }) == 1 else {
      throw UsageProblem("cancel needs either receipts, --tag or --all")
    }
    asJSON = arguments.has("json")
    if arguments.has("all") {
      var line = RequestLine("cancel")
      line.add("all", true)
      requests = [line]
    } else {
      requests =
        arguments.operands.map { Self.request("receipt", $0) }
        + arguments.texts("tag").map { Self.request("tag", $0) }
    }
  }

  func run(in context: Context) throws(Failure) -> ExitCode {
    let connection = try context.connect()
    var outcome = ExitCode.done
    for request in requests {
      let answer = try context.answer(to: request, over: connection, within: Context.patience)
      if asJSON { try context.print(answer.text) }
      outcome = outcome.joined(try report(answer.reply, in: context))
    }
    return outcome
  }

  private func report(_ reply: Reply, in context: Context) throws(Failure) -> ExitCode {
    guard reply.succeeded == true else {
      context.console.complain(reply.complaint)
      return reply.exitCode
    }
    let state = reply.text("state")
    if state == "unknown" {
      let receipt = reply.text("receipt") ?? ""
      context.console.complain("no fetch has the receipt \(receipt), or it ended some time ago")
      return .failed
    }
    if !asJSON {
      try context.print(
        state.map { printable($0) } ?? "cancelled \(reply.number("cancelled") ?? 0)")
    }
    return .done
  }

  private static func request(_ field: String, _ value: String) -> RequestLine {
    var line = RequestLine("cancel")
    line.add(field, value)
    return line
  }
}
