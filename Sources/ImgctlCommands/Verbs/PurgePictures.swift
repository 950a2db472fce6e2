import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl purge`: removes pictures from the cache.
struct PurgePictures: Verb {
  static let description = VerbDescription(
    "purge", "remove pictures from the cache", operands: .any("URL", .url),
    options: [
      VerbOption(
        "url", nil, .text("URL", .url), repeats: true, help: "entries with this URL, with all identifiers and variants"),
      VerbOption("identifier", nil, .text("ID"), repeats: true, help: "entries with this identifier"),
      VerbOption("prefix", nil, .text("TEXT", .url), repeats: true, help: "entries whose URL begins with this text"),
      VerbOption("host", nil, .text("HOST"), repeats: true, help: "entries of this host and its subdomains"),
      VerbOption("tag", nil, .text("TAG"), repeats: true, help: "entries with this tag, or with --host also group"),
      VerbOption("older-than", nil, .duration, help: "entries stored at least this long ago, such as 7d"),
      VerbOption("unused-for", nil, .duration, help: "entries not used for at least this long"),
      VerbOption("expired", help: "entries that are no longer fresh"),
      VerbOption(
        "tier", nil, .choice("TIER", PurgeRequest.Scope.allCases.map { $0.rawValue }),
        help: "memory, disk or all, the default"),
      VerbOption("soft", help: "mark the entries as stale instead of removing them"),
      VerbOption("all", help: "every entry; asks first on a terminal"), VerbOption("yes", "y", help: "do not ask"),
      .json,
    ],
    details: """
      Removes the entries that match all filters, and prints how many there were. A URL is the same as --url URL. One of the filters may be repeated: then there is a purge for each of its values.
      """)

  private static let repeated = ["url", "identifier", "prefix", "host", "tag"]

  /// A request for each value of the repeated filter, or one without a value.
  private let purges: [(value: String?, request: PurgeRequest)]
  private let needsConsent: Bool

  init(_ arguments: Arguments) throws(UsageProblem) {
    let several = Self.repeated.filter { Self.values(of: $0, arguments).count > 1 }
    guard several.count <= 1 else {
      throw UsageProblem("purge repeats one filter at a time: --\(several[0]) or --\(several[1]), not both")
    }
    let isNamed = Self.repeated.contains { !Self.values(of: $0, arguments).isEmpty }
    let isFiltered = isNamed || ["older-than", "unused-for", "expired"].contains { arguments.has($0) }
    if isFiltered, arguments.has("all") {
      throw UsageProblem("--all removes every entry: leave it out, or the filters")
    }
    guard isFiltered || arguments.has("all") || arguments.has("tier") else {
      throw UsageProblem("purge needs a filter, or --all to remove every entry")
    }
    try Self.checkMatching(arguments)
    if let filter = several.first {
      purges = Self.values(of: filter, arguments).map { (value: $0, request: Self.request(arguments, (filter, $0))) }
    } else {
      purges = [(nil, Self.request(arguments, nil))]
    }
    needsConsent = !isFiltered && !arguments.has("yes")
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    guard try isAllowed(context) else { return .failed }
    let connection = try context.connect()
    for (value, request) in purges {
      // The daemon answers a purge when the index on disk is written, however long that takes.
      let answer = try context.ask(.purge(request), over: connection, within: nil)
      let heading = value.map { printable($0) + ": " } ?? ""
      try context.print(answer) { heading + Self.text($0, isSoft: request.soft) }
    }
    return .done
  }

  private func isAllowed(_ context: Context) throws(Failure) -> Bool {
    guard needsConsent else { return true }
    let place =
      switch purges[0].request.tier {
      case .memory: "the memory"
      case .disk: "the disk"
      case .all: "the cache"
      }
    let question = "Remove every picture from \(place) of imgd at \(printable(context.socket))?"
    do throws(SystemFailure) {
      // In a script there is nobody to ask, and its author has written --all.
      return try context.console.confirms(question) ?? true
    } catch { throw Failure(error) }
  }

  /// The values of a filter; a URL may stand without its option.
  private static func values(of filter: String, _ arguments: Arguments) -> [String] {
    arguments.texts(filter) + (filter == "url" ? arguments.operands : [])
  }

  /// Refuses filters that no entry can match: removing nothing would look like success.
  private static func checkMatching(_ arguments: Arguments) throws(UsageProblem) {
    if values(of: "url", arguments).isEmpty, arguments.texts("identifier").contains("") {
      throw UsageProblem("--identifier \(PurgeRequest.problemOfEmptyIdentifier)")
    }
    for host in arguments.texts("host") {
      if let problem = PurgeRequest.problem(ofHost: host) { throw UsageProblem("--host \(printable(problem))") }
    }
    for prefix in arguments.texts("prefix") {
      if let problem = PurgeRequest.problem(ofPrefix: prefix) { throw UsageProblem("--prefix \(printable(problem))") }
    }
  }

  private static func request(_ arguments: Arguments, _ chosen: (filter: String, value: String)?) -> PurgeRequest {
    func value(of filter: String) -> String? {
      chosen?.filter == filter ? chosen?.value : values(of: filter, arguments).last
    }
    var purge = PurgeRequest()
    purge.url = value(of: "url")
    purge.identifier = value(of: "identifier")
    purge.prefix = value(of: "prefix")
    purge.host = value(of: "host")
    purge.tag = value(of: "tag")
    purge.tier = arguments.word("tier") ?? .all
    purge.olderThan = arguments.duration("older-than").map(seconds)
    purge.unusedFor = arguments.duration("unused-for").map(seconds)
    purge.expired = arguments.has("expired")
    purge.soft = arguments.has("soft")
    return purge
  }

  /// Whole seconds, rounded up, so that no entry younger than the given age is purged.
  private static func seconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    return Int(seconds) + (attoseconds > 0 ? 1 : 0)
  }

  /// How much a purge removed from each tier, and whether the other hosts of a fleet know about it.
  private static func text(_ reply: Reply, isSoft: Bool) -> String {
    let tiers = ["memory", "disk"].compactMap { tier in
      if reply.text(tier) == "pending" { return "\(tier): as soon as it can be written" }
      return reply.object(tier).map { counts in
        let entries = counts.number("entries") ?? 0
        let word = entries == 1 ? "entry" : "entries"
        return "\(tier): \(entries) \(word), \(Quantity.size(counts.number("bytes") ?? 0))"
      }
    }
    let others =
      switch reply.text("fleet") {
      case "sent": "; the other hosts are told"
      case "pending": "; the other hosts will be told when the fleet's server answers"
      default: ""
      }
    return (isSoft ? "marked as stale in " : "removed from ") + tiers.joined(separator: "; ") + others
  }
}
