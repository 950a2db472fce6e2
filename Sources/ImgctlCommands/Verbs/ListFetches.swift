import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl list`: the fetches under way.
struct ListFetches: Verb {
  static let description = VerbDescription(
    "list", "show the fetches under way", options: [.json],
    details: """
      A line for each fetch, the oldest first. A queued one says what it waits for, if that is more than its turn, and for how long if that is known. Several requests that share one download are one fetch with several waiters.
      """)

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    var fetches: [Reply] = []
    for answer in try context.pages(of: { .list($0) }, over: context.connect()) {
      if context.asJSON { try context.print(answer.text) } else { fetches += answer.reply.objects("jobs") ?? [] }
    }
    if context.asJSON { return .done }
    guard !fetches.isEmpty else {
      if !context.manner.isQuiet { context.console.remark("no fetch is under way") }
      return .done
    }
    let titles = ["RECEIPT", "STATE", "PRIORITY", "BYTES", "DONE", "WAITERS", "AGE", "URL"]
    try context.print(
      titles, fetches.map(Self.row), [.left, .left, .left, .right, .right, .right, .right, .left])
    return .done
  }

  private static func row(_ fetch: Reply) -> [String] {
    let wait = fetch.number("wait_ms").map { Duration.milliseconds($0) }
    let held = fetch.text("held").flatMap { HeldText.text($0, wait: wait) }.map { ", \($0)" } ?? ""
    let received = fetch.number("received") ?? 0
    return [
      printable(fetch.display("receipt")), printable(fetch.display("state")) + held,
      printable(fetch.display("priority")), Quantity.shortSize(received),
      fetch.number("expected").flatMap { Quantity.share(received, of: $0) } ?? "-",
      printable(fetch.display("waiters")), Quantity.time(milliseconds: fetch.number("age_ms") ?? 0),
      printable(fetch.display("url")),
    ]
  }
}

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
      context.console.complain("no fetch has the receipt \(reply.text("receipt") ?? ""), or it ended some time ago")
      return .failed
    }
    if !context.asJSON {
      try context.print(state.map { printable($0) } ?? "cancelled \(reply.number("cancelled") ?? 0)")
    }
    return .done
  }
}
