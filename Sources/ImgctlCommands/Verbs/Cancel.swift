import ImgdConnection
import ImgdSystem
import ImgdWire

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

  private let targets: [CancelTarget]

  init(_ arguments: Arguments) throws(UsageProblem) {
    let named = [arguments.operands.isEmpty, arguments.texts("tag").isEmpty, !arguments.has("all")]
    guard named.count(where: { !$0 }) == 1 else { throw UsageProblem("cancel needs either receipts, --tag or --all") }
    var targets: [CancelTarget] = arguments.has("all") ? [.all] : []
    for text in arguments.operands {
      guard let receipt = ReceiptID(text) else {
        throw UsageProblem("'\(printable(text))' is not a receipt: imgctl list shows them")
      }
      targets.append(.receipt(receipt))
    }
    self.targets = targets + arguments.texts("tag").map { .tag($0) }
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let connection = try context.connect()
    var outcome = ExitCode.done
    for target in targets {
      let answer = try context.answer(to: .cancel(target), over: connection, within: Context.patience)
      if context.asJSON { try context.print(answer.text) }
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
    if !context.asJSON {
      try context.print(state.map { printable($0) } ?? "cancelled \(reply.number("cancelled") ?? 0)")
    }
    return .done
  }
}
