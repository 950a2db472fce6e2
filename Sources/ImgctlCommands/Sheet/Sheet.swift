import Glibc
import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl sheet`: a contact sheet of what is cached.
struct Sheet: Verb {
  static let description = VerbDescription(
    "sheet", "make a page with small pictures of what is in the cache",
    options: [
      VerbOption("output", "o", .file("FILE"), help: "the HTML file; - is standard output"),
      VerbOption("force", "f", help: "replace the file if it exists"),
      VerbOption(
        "tier", nil, .choice("TIER", Tier.allCases.map { $0.rawValue }), help: "memory or disk; default: both"),
      VerbOption("prefix", nil, .text("TEXT", .url), help: "only entries whose URL begins with this text"),
      VerbOption("limit", "n", .number("N", 1...10_000), help: "at most this many pictures; default: 200"),
      VerbOption(
        "size", "s", .number("PIXELS", 16...1024), help: "the longest side of the small pictures; default: 160"),
    ],
    details: """
      The page is one HTML file without scripts, with the pictures inside. Nothing is fetched: pictures that have gone while the page was made are left out. The daemon makes them small, which takes a decoder, and counts each as used.
      """)

  private let output: String?
  private let replaces: Bool
  private let tiers: [Tier]
  private let prefix: String?
  private let limit: Int
  private let size: Int

  init(_ arguments: Arguments) {
    output = arguments.text("output").flatMap { $0 == "-" ? nil : $0 }
    replaces = arguments.has("force")
    tiers = arguments.word("tier").map { [$0] } ?? Tier.allCases
    prefix = arguments.text("prefix")
    limit = arguments.number("limit") ?? 200
    size = arguments.number("size") ?? 160
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    try checkTarget(context)
    let connection = try context.connect()
    let entries = try listed(over: connection, in: context)
    var thumbnails = Thumbnails(of: entries, size: size, connection, context)
    let pictures = try thumbnails.all()
    let page = SheetPage(of: context.socket, size: size)
    try write(page.text(of: pictures, at: WallClock.seconds), context)
    report(pictures.count, of: entries.count, context)
    return .done
  }

  /// The entries of the tiers, each picture once.
  private func listed(over connection: ControlConnection, in context: Context) throws(Failure) -> [Reply] {
    var known: Set<[String?]> = []
    var entries: [Reply] = []
    for tier in tiers where entries.count < limit {
      // Entries in memory are on disk as well, so the disk tier is asked for more than are still missing.
      let listing = EntryListing(tier: tier, prefix: prefix, limit: limit + entries.count)
      try listing.read(over: connection, in: context) { entry throws(Failure) in
        let isNew = known.insert([entry.text("url"), entry.text("identifier")]).inserted
        if isNew, entries.count < limit { entries.append(entry) }
      }
    }
    return entries
  }

  private func checkTarget(_ context: Context) throws(Failure) {
    guard let output else {
      guard !context.console.terminals.output else {
        throw Failure(.wrongUsage, "standard output is a terminal: write -o FILE.html")
      }
      return
    }
    // Checked before the work begins; a later change is noticed when the file is written.
    if !replaces, OutputFile.isTaken(output) { throw Self.failure(.exists(output)) }
  }

  private func write(_ page: String, _ context: Context) throws(Failure) {
    guard let output else { return try context.print(page) }
    // With signals blocked, no temporary file is left behind. Writing to a pipe or a device may take its time, and can
    // be interrupted.
    if !OutputFile.isSpecial(output) { SignalWatch.block([SIGINT, SIGTERM, SIGHUP]) }
    let file = try Self.file(of: page)
    do throws(OutputFile.Problem) { _ = try OutputFile.write(file, to: output, replaces ? .replace : .refuse) } catch {
      throw Self.failure(error)
    }
  }

  private static func file(of page: String) throws(Failure) -> FileDescriptor {
    do throws(SystemFailure) {
      return try Payload(Array(page.utf8) + [UInt8(ascii: "\n")]).shareable().openReadOnly()
    } catch { throw Failure(error) }
  }

  private static func failure(_ problem: OutputFile.Problem) -> Failure {
    guard case .exists(let path) = problem else { return Failure(.failed, problem.description) }
    return Failure(.fileExists, "\(path) exists: write --force to replace it")
  }

  private func report(_ shown: Int, of listed: Int, _ context: Context) {
    guard !context.manner.isQuiet else { return }
    let count = "\(shown) \(shown == 1 ? "picture" : "pictures")"
    let place = output.map { " in " + $0 } ?? ""
    let missing = listed - shown
    context.console.remark(count + place + (missing > 0 ? "; \(missing) left out, which could not be had" : ""))
  }
}
