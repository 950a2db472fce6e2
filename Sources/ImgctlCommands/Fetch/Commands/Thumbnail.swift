import ImgdSystem
import ImgdWire

/// `imgctl thumbnail`: small pictures that fit into a square.
struct Thumbnail: Verb {
  static let description = VerbDescription(
    "thumbnail", "make small pictures", operands: .some("URL", .url),
    options: [
      VerbOption("size", "s", .number("PIXELS", WireLimits.side), help: "the longer side; 256 unless given"),
      OutputFormat.option, OutputOptions.output,
    ] + OutputOptions.files + OutputOptions.records,
    details: """
      Prints the path of a file in the daemon's cache or, with -o, of the file that was written. A picture that is small enough is not enlarged. Of an animation it is the first frame.
      """)

  private let arguments: Arguments
  private let output: OutputOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    output = try OutputOptions(arguments)
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let count = arguments.operands.contains("-") ? nil : arguments.operands.count
    var plan = FetchPlan(delivery: try output.delivery(count: count, context.console))
    let side = arguments.number("size") ?? 256
    plan.fetch.form = PictureForm(
      box: PictureForm.Box(width: side, height: side), format: arguments.format ?? .original, frames: .first)
    plan.namesFormats = arguments.format == nil
    plan.isOrdered = output.isOrdered
    plan.showsProgress = output.showsProgress
    return try FetchRun(plan, arguments.operands, in: context).finish()
  }
}
