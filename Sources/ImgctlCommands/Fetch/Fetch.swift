import Glibc
import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl fetch`: pictures as paths, files, bytes or pixels.
struct Fetch: Verb {
  static let description = VerbDescription(
    "fetch", "fetch pictures", operands: .any("URL", .picture),
    options: [OutputOptions.output, OutputOptions.form] + OutputOptions.files + [URLSource.input, OutputOptions.jobs]
      + OutputOptions.records + RequestOptions.all + [
        VerbOption(
          "layout", nil, .choice("LAYOUT", PixelLayout.allCases.map { $0.rawValue }),
          help: "with --as pixels: how the four bytes of each lie"),
        VerbOption("describe", help: "with --json: what can stand for the picture (ThumbHash)"),
        VerbOption("http", help: "with --json: the origin's status and headers"),
        VerbOption("receipt", nil, .text("UUID"), help: "the receipt of the fetch, for cancel and wait"),
        VerbOption("no-wait", help: "do not wait for the pictures: print receipts for imgctl wait"),
        VerbOption("detach", help: "go on at the daemon when imgctl ends"),
      ],
    details: """
      Prints a line for each picture, in the order asked: the path of its file in the daemon's cache. A picture that is in no file has no line, and the exit code is 12. With -o: the path of the file that was written. A file that exists is not touched, and its picture is a failure. The ending of a file's name says in which format it is written, unless there is --format.
      A path, such as ./a.avif, stands for a file, which the daemon reads through imgctl; a pattern for the files that match it, and a directory for those in it.
      The URL - stands for the URLs and paths on standard input, one on each line; they are fetched as they arrive. Behind a URL, after a blank, there may be the name of its file in the directory of -o.
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
    if output.form == .pixels, arguments.has("format") || arguments.has("quality") {
      throw UsageProblem("--as pixels has no encoding: leave out --format and --quality")
    }
    if arguments.has("layout"), output.form != .pixels { throw UsageProblem("--layout needs --as pixels") }
    for option in ["describe", "http"] where arguments.has(option) && !arguments.has("json") {
      throw UsageProblem("--\(option) needs --json")
    }
    try checkReceipt()
    if arguments.has("no-wait"), output.form.hasDescriptor {
      throw UsageProblem("--no-wait prints receipts: fetch the pictures with imgctl wait -o")
    }
  }

  private func checkReceipt() throws(UsageProblem) {
    guard let receipt = arguments.text("receipt") else { return }
    guard ReceiptID(receipt) != nil else {
      let example = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
      throw UsageProblem("--receipt \(printable(receipt)) is not a UUID: write one such as \(example)")
    }
    if arguments.operands.count != 1 || arguments.operands == ["-"] || arguments.has("input") {
      throw UsageProblem("--receipt is the receipt of one fetch: name one URL")
    }
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    var plan = try output.plan(count: URLSource.count(arguments), context.console)
    options.apply(to: &plan)
    plan.fetch.extras.receipt = arguments.text("receipt").flatMap { ReceiptID($0) }
    plan.fetch.extras.describe = arguments.has("describe")
    plan.fetch.form.layout = arguments.word("layout") ?? .rgba8
    plan.fetch.http = arguments.has("http")
    plan.fetch.detach = arguments.has("detach")
    plan.fetch.wait = !arguments.has("no-wait")
    plan.namesFormats = !arguments.has("format")
    plan.mostOpen = arguments.number("jobs") ?? plan.mostOpen
    return try FetchRun(plan, arguments, in: context).finish()
  }
}

/// `imgctl cat`: the bytes of pictures, one after the other.
struct Cat: Verb {
  static let description = VerbDescription(
    "cat", "write the bytes of pictures to standard output", operands: .any("URL", .picture),
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
    var plan = FetchPlan(delivery: Delivery(form: .bytes, destination: .standardOutput, style: .nothing))
    options.apply(to: &plan)
    return try FetchRun(plan, arguments, in: context).finish()
  }
}

/// `imgctl thumbnail`: small pictures that fit into a square.
struct Thumbnail: Verb {
  static let description = VerbDescription(
    "thumbnail", "make small pictures", operands: .some("URL", .picture),
    options: [
      VerbOption("size", "s", .number("PIXELS", WireLimits.side), help: "the longer side; 256 unless given"),
      VerbOption("freedesktop", help: "put thumbnails of files where the programs of a desktop look for them"),
      OutputFormat.option, OutputOptions.output,
    ] + OutputOptions.files + OutputOptions.records,
    details: """
      Prints the path of a file in the daemon's cache or, with -o, of the file that was written. A picture that is small enough is not enlarged. Of an animation it is the first frame.
      A path stands for a file, and - for a list on standard input, as with fetch.
      With --freedesktop the size is 128, 256, 512 or 1024, and a thumbnail that is up to date is not made again, unless there is --force.
      """)

  private let arguments: Arguments
  private let output: OutputOptions
  private let side: Int

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    output = try OutputOptions(arguments)
    side = arguments.number("size") ?? 256
    guard arguments.has("freedesktop") else { return }
    if arguments.has("format") { throw UsageProblem("--freedesktop makes PNGs: leave out --format") }
    guard DesktopThumbnail.directories[side] != nil else {
      throw UsageProblem("--size \(side) is no size of thumbnails of a desktop: write 128, 256, 512 or 1024")
    }
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let isForDesktop = arguments.has("freedesktop")
    let directory = isForDesktop ? try DesktopThumbnail.makeDirectory(side, context.environment) : nil
    var plan = try output.plan(count: URLSource.count(arguments), thumbnails: directory, context.console)
    plan.fetch.form = PictureForm(
      box: PictureForm.Box(width: side, height: side), formats: isForDesktop ? [.png] : arguments.formats,
      frames: .first)
    plan.namesFormats = !arguments.has("format") && !isForDesktop
    return try FetchRun(plan, arguments, in: context).finish()
  }
}

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
    let plan = try output.plan(.wait, count: URLSource.count(arguments), context.console)
    return try FetchRun(plan, arguments, in: context).finish()
  }
}

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
    var tally = Tally()
    var plan = FetchPlan(delivery: Delivery(form: .none, destination: .daemon, style: .nothing))
    options.apply(to: &plan)
    plan.isOrdered = false
    plan.mostOpen = arguments.number("jobs") ?? plan.mostOpen
    plan.showsProgress = arguments.has("progress")
    plan.onAnswer = { tally.count($0) }
    let run = try FetchRun(plan, arguments, in: context)
    let exitCode = try run.finish()
    tally.failed += run.unasked
    try context.print(context.asJSON ? tally.json : tally.text)
    return exitCode
  }
}

/// How many pictures were fetched, were there already, or failed.
private struct Tally {
  private var fetched = 0
  private var present = 0
  var failed = 0
  private var bytes = 0

  mutating func count(_ answer: Reply) {
    guard answer.succeeded == true else { return failed += 1 }
    bytes += answer.number("bytes") ?? 0
    if ["memory", "disk"].contains(answer.text("source")) { present += 1 } else { fetched += 1 }
  }

  var text: String { "\(fetched) fetched, \(present) already there, \(failed) failed; \(Quantity.size(bytes))" }

  var json: String {
    let numbers = [("fetched", fetched), ("present", present), ("failed", failed), ("bytes", bytes)]
    return JSONValue.object(numbers.map { JSONValue.Member($0, .integer(Int64($1))) }).encoded()
  }
}

/// `imgctl open`: a picture in a program that shows it.
struct Open: Verb {
  static let description = VerbDescription(
    "open", "show a picture in a program", operands: .one("URL", .picture),
    options: [
      VerbOption(
        "with", nil, .text("PROGRAM"), help: "the program that shows it; default: $IMGD_VIEWER, or else xdg-open")
    ] + RequestOptions.all,
    details: """
      Fetches the picture, and becomes the program, with the path of the daemon's file as its last argument. The file stays for at least 30 seconds (Disk.Lease); a program that has opened it can read it for as long as it likes.
      """)

  private let arguments: Arguments
  private let options: RequestOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    options = try RequestOptions(arguments)
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    var reply: Reply?
    var plan = FetchPlan(delivery: Delivery(form: .path, destination: .daemon, style: .nothing))
    options.apply(to: &plan)
    plan.onAnswer = { reply = $0 }
    let exitCode = try FetchRun(plan, arguments, in: context).finish()
    guard exitCode == .done, let reply, !reply.isNotModified, let path = reply.text("path") else { return exitCode }
    throw become(viewer(context) + [path])
  }

  /// The program and its own arguments.
  private func viewer(_ context: Context) -> [String] {
    let named = arguments.text("with") ?? context.environment["IMGD_VIEWER"] ?? ""
    let words = named.split(separator: " ").map(String.init)
    return words.isEmpty ? ["xdg-open"] : words
  }

  /// Replaces this process; returns only if that fails.
  private func become(_ words: [String]) -> Failure {
    // The list and its texts live until the process is replaced.
    let reason = unsafe withCStrings(words) { list in
      unsafe execvp(words[0], list)
      return SystemFailure("start", words[0]).reason
    }
    return Failure(.failed, "cannot start \(words[0]): \(reason); name another program with --with or IMGD_VIEWER")
  }
}
