import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl prefetch`: pictures into the cache, before anybody asks for them.
struct Prefetch: Verb {
  static let description = VerbDescription(
    "prefetch", "fill the cache", operands: .any("URL", .url),
    options: [
      URLSource.input, OutputOptions.jobs,
      VerbOption("progress", help: "show progress in lines, where there is no terminal"), .json,
    ] + RequestOptions.all,
    details: """
      Fetches pictures that are not in the cache, with low priority unless there is --priority, and prints how many there were.
      """)

  private let arguments: Arguments
  private let options: RequestOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    try URLSource.check(arguments, of: Self.description)
    options = try RequestOptions(arguments, usualPriority: .low)
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let delivery = Delivery(form: .none, destination: .daemon, collision: .refuse, style: .nothing)
    let tally = Tally()
    var plan = FetchPlan(delivery: delivery)
    options.apply(to: &plan)
    plan.isOrdered = false
    plan.mostOpen = arguments.number("jobs") ?? plan.mostOpen
    plan.showsProgress = arguments.has("progress")
    plan.onAnswer = tally.count
    let exitCode = try FetchRun(plan, arguments.operands, list: arguments.text("input"), in: context).finish()
    try context.print(context.asJSON ? tally.json : tally.text)
    return exitCode
  }
}

/// How many pictures were fetched, were there already, or failed.
private final class Tally {
  private var fetched = 0
  private var present = 0
  private var failed = 0
  private var bytes = 0

  func count(_ answer: Reply) {
    guard answer.succeeded == true else { return failed += 1 }
    bytes += answer.number("bytes") ?? 0
    if ["memory", "disk"].contains(answer.text("source")) { present += 1 } else { fetched += 1 }
  }

  var text: String { "\(fetched) fetched, \(present) already there, \(failed) failed; \(Quantity.size(bytes))" }

  var json: String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("fetched", fetched)
    writer.field("present", present)
    writer.field("failed", failed)
    writer.field("bytes", bytes)
    writer.endObject()
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
