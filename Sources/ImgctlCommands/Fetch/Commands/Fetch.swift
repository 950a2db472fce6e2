import ImgdSystem
import ImgdWire

/// `imgctl fetch`: pictures as paths, files, bytes or pixels.
struct Fetch: Verb {
  static let description = VerbDescription(
    "fetch", "fetch pictures", operands: .any("URL", .url),
    options: [OutputOptions.output, OutputOptions.form] + OutputOptions.files + [URLSource.input, OutputOptions.jobs]
      + OutputOptions.records + RequestOptions.all + [
        VerbOption("describe", help: "with --json: what can stand for the picture (ThumbHash)"),
        VerbOption("http", help: "with --json: the origin's status and headers"),
        VerbOption("receipt", nil, .text("UUID"), help: "the receipt of the fetch, for cancel and wait"),
        VerbOption("no-wait", help: "do not wait for the pictures: print receipts for imgctl wait"),
        VerbOption("detach", help: "go on at the daemon when imgctl ends"),
      ],
    details: """
      Prints a line for each picture, in the order asked: the path of its file in the daemon's cache. A picture that is in no file has no line, and the exit code is 12. With -o: the path of the file that was written. A file that exists is not touched, and its picture is a failure. The ending of a file's name says in which format it is written, unless there is --format.
      The URL - stands for the URLs on standard input, one on each line; they are fetched as they arrive. Behind a URL, after a blank, there may be the name of its file in the directory of -o.
      On a terminal the progress of slow downloads is shown; --quiet turns that off.
      """)

  private let arguments: Arguments
  private let output: OutputOptions
  private let options: RequestOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    try URLSource.check(arguments, of: Self.description)
    output = try OutputOptions(arguments)
    options = try RequestOptions(arguments, named: output.output.flatMap(OutputFormat.init(ofFile:)))
    if output.form == .pixels, Self.encodings.contains(where: { arguments.has($0) }) {
      throw UsageProblem("--as pixels has no encoding: leave out --format, --quality and --frames")
    }
    for option in ["describe", "http"] where arguments.has(option) && !arguments.has("json") {
      throw UsageProblem("--\(option) needs --json")
    }
    try checkReceipt()
    if arguments.has("no-wait"), output.form.hasDescriptor {
      throw UsageProblem("--no-wait prints receipts: fetch the pictures with imgctl wait -o")
    }
  }

  /// The options that mean nothing for pixels.
  private static let encodings = ["format", "quality", "frames"]

  private func checkReceipt() throws(UsageProblem) {
    guard let receipt = arguments.text("receipt") else { return }
    guard ReceiptID(receipt) != nil else {
      throw UsageProblem("--receipt \(printable(receipt)) is not a UUID: write one such as \(Self.example)")
    }
    if arguments.operands.count != 1 || arguments.operands == ["-"] || arguments.has("input") {
      throw UsageProblem("--receipt is the receipt of one fetch: name one URL")
    }
  }

  private static let example = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let count = arguments.has("input") ? nil : arguments.operands.count
    let delivery = try output.delivery(count: count, context.console)
    var plan = FetchPlan(delivery: delivery)
    options.apply(to: &plan)
    apply(to: &plan.fetch)
    plan.namesFormats = arguments.format == nil
    plan.isOrdered = output.isOrdered
    plan.mostOpen = arguments.number("jobs") ?? plan.mostOpen
    plan.showsProgress = output.showsProgress
    return try FetchRun(plan, arguments.operands, list: arguments.text("input"), in: context).finish()
  }

  private func apply(to fetch: inout FetchRequest) {
    fetch.extras.receipt = arguments.text("receipt").flatMap { ReceiptID($0) }
    fetch.extras.describe = arguments.has("describe")
    fetch.http = arguments.has("http")
    fetch.detach = arguments.has("detach")
    fetch.wait = !arguments.has("no-wait")
  }
}
