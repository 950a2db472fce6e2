import ImgdSystem

/// The options that say in which form pictures come, where they go, and what is printed.
struct OutputOptions {
  static let output = VerbOption(
    "output", "o", .file("FILE|DIR|-"),
    help: "write the picture to a file, to a directory under a name from its URL (DIR/ is made), or to standard output")
  static let form = VerbOption(
    "as", nil, .choice("FORM", DeliveredForm.allCases.map { $0.rawValue }),
    help:
      "print the path of a file (path), or write the picture's bytes or its pixels (RGBA), or only describe it (none)")
  static let files = [
    VerbOption("force", "f", help: "replace files that exist; write pictures to a terminal"),
    VerbOption("no-clobber", "n", help: "keep files that exist, without a complaint"),
  ]
  static let records = [
    VerbOption("list", "l", help: "print PATH, a tab and URL for each picture"),
    VerbOption("print0", "0", help: "end what is printed with NUL instead of a newline"),
    VerbOption("unordered", help: "print what has come, not in the order asked"),
    VerbOption("progress", help: "show progress in lines, or as events with --json"),
    .json,
  ]
  static let jobs = VerbOption(
    "jobs", "j", .number("N", 1...10_000),
    help: "fetches under way at a time; \(FetchPlan.usualJobs) unless it is given")

  let form: DeliveredForm
  let output: String?
  private let arguments: Arguments
  private let isForced: Bool
  private let isForDesktop: Bool
  private let keepsFiles: Bool
  private let style: RecordStyle

  init(_ arguments: Arguments, of command: FetchPlan.Command = .fetch) throws(UsageProblem) {
    output = arguments.text("output")
    isForDesktop = arguments.has("freedesktop")
    form = arguments.text("as").flatMap(DeliveredForm.init) ?? (output == nil && !isForDesktop ? .path : .bytes)
    self.arguments = arguments
    isForced = arguments.has("force")
    keepsFiles = arguments.has("no-clobber")
    let text = RecordStyle.text(isListed: arguments.has("list"), end: arguments.has("print0") ? 0 : 10)
    style = arguments.has("json") ? .json(subject: command.subject) : text
    try checkOutput()
    try checkRecords()
  }

  private func checkOutput() throws(UsageProblem) {
    if output != nil, !form.hasDescriptor { throw UsageProblem("--as \(form.rawValue) writes no file: leave out -o") }
    if isForDesktop, output != nil { throw UsageProblem("--freedesktop says where the files go: leave out -o") }
    if isForced, keepsFiles { throw UsageProblem("--force and --no-clobber exclude each other") }
    if isForced, !form.hasDescriptor { throw UsageProblem("--force needs -o") }
    if keepsFiles, output == nil || output == "-" {
      throw UsageProblem("--no-clobber needs -o with a file or a directory")
    }
  }

  private func checkRecords() throws(UsageProblem) {
    let isStream = form.hasDescriptor && (output ?? "-") == "-" && !isForDesktop
    for option in ["json", "list", "print0"] where isStream && arguments.has(option) {
      let place = output == nil ? "--as \(form.rawValue)" : "-o -"
      throw UsageProblem("--\(option) and \(place) both write to standard output: name a file for the picture")
    }
    for option in ["list", "print0"] where style.isJSON && arguments.has(option) {
      throw UsageProblem("--json and --\(option) exclude each other")
    }
    if form == .none, arguments.has("list") { throw UsageProblem("--list prints paths, and --as none asks for none") }
  }

  /// The plan for a command that was given `count` URLs; nil where their number is not known. `thumbnails` is the
  /// directory of the desktop's, where they are asked for.
  func plan(
    _ command: FetchPlan.Command = .fetch, count: Int?, thumbnails: String? = nil, _ console: Console
  ) throws(Failure) -> FetchPlan {
    var destination = thumbnails.map { Destination.thumbnails($0) } ?? .daemon
    if form.hasDescriptor, thumbnails == nil { destination = try Destination(output ?? "-", count: count) }
    if destination == .standardOutput, console.terminals.output, !isForced {
      throw Failure(
        .wrongUsage, "standard output is a terminal: name a file with -o, or write --force to send it the picture")
    }
    let collision: OutputFile.Collision = isForced ? .replace : keepsFiles ? .keep : .refuse
    let delivery = Delivery(form: form, destination: destination, collision: collision, style: style)
    var plan = FetchPlan(command: command, delivery: delivery)
    plan.isOrdered = !arguments.has("unordered")
    plan.showsProgress = arguments.has("progress")
    return plan
  }
}

/// The place where one invocation puts its pictures.
enum Destination: Equatable {
  /// The pictures stay in the daemon's cache.
  case daemon
  case standardOutput
  case file(String)
  case directory(String)
  /// A directory of thumbnails that all programs of the desktop share.
  case thumbnails(String)

  /// Reads the value of `-o`, and makes the directory if the name ends with a slash; `count` is the number of URLs, if
  /// it is known.
  init(_ output: String, count: Int?) throws(Failure) {
    if output == "-" {
      self = .standardOutput
    } else if output.hasSuffix("/") {
      do throws(SystemFailure) { try NewDirectories.make(output) } catch { throw Failure(error) }
      self = .directory(output)
    } else if NewDirectories.isDirectory(output) {
      self = .directory(output)
    } else {
      guard count ?? 1 <= 1 else { throw Self.takesOne(output, count.map(String.init)) }
      self = .file(output)
    }
  }

  /// The file for one picture; nil if the pictures do not go into files.
  func path(name: FileName, pathExtension: String) -> String? {
    switch self {
    case .daemon, .standardOutput, .thumbnails: return nil
    case .file(let path): return path
    case .directory(let directory):
      let slash = directory.hasSuffix("/") ? "" : "/"
      switch name {
      case .given(let name) where PictureName.kind(ofFile: name) != nil: return directory + slash + name
      case .given(let name), .made(let name): return directory + slash + name + "." + pathExtension
      }
    }
  }

  /// The failure when several pictures are to go into one file.
  static func takesOne(_ output: String, _ count: String?) -> Failure {
    let urls = count.map { "\($0) URLs" } ?? "several URLs"
    return Failure(.wrongUsage, "-o \(output) takes one picture: for \(urls) name a directory: \(output)/")
  }
}
