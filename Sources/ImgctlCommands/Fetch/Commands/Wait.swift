import ImgdSystem
import ImgdWire

/// `imgctl wait`: the outcomes of earlier fetches.
struct Wait: Verb {
  static let description = VerbDescription(
    "wait", "collect the outcomes of fetches with --no-wait or --detach", operands: .some("RECEIPT"),
    options: [OutputOptions.output, OutputOptions.form] + OutputOptions.files
      + OutputOptions.records.filter { $0.name != "progress" },
    details: """
      Waits for the end of each fetch, and prints what imgctl fetch would have printed. The daemon keeps an outcome for ten minutes.
      """)

  private let arguments: Arguments
  private let output: OutputOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    output = try OutputOptions(arguments, of: .wait)
    for receipt in arguments.operands where receipt != "-" && ReceiptID(receipt) == nil {
      throw UsageProblem("'\(printable(receipt))' is not a receipt: imgctl fetch --no-wait prints one")
    }
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let count = arguments.operands.contains("-") ? nil : arguments.operands.count
    var plan = FetchPlan(command: .wait, delivery: try output.delivery(count: count, context.console))
    plan.isOrdered = output.isOrdered
    return try FetchRun(plan, arguments.operands, in: context).finish()
  }
}
