import ImgdSystem

/// `imgctl cat`: the bytes of pictures, one after the other.
struct Cat: Verb {
  static let description = VerbDescription(
    "cat", "write the bytes of pictures to standard output", operands: .any("URL", .url),
    options: [URLSource.input, OutputOptions.files[0]] + RequestOptions.all,
    details: "The pictures come in the order asked. A terminal is refused, unless there is --force.")

  private let arguments: Arguments
  private let options: RequestOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    try URLSource.check(arguments, of: Self.description)
    options = try RequestOptions(arguments)
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    if context.console.terminals.output, !arguments.has("force") {
      throw Failure(.wrongUsage, "standard output is a terminal: send it into a file or a program, or write --force")
    }
    let delivery = Delivery(form: .bytes, destination: .standardOutput, collision: .refuse, style: .nothing)
    var plan = FetchPlan(delivery: delivery)
    options.apply(to: &plan)
    return try FetchRun(plan, arguments.operands, list: arguments.text("input"), in: context).finish()
  }
}
