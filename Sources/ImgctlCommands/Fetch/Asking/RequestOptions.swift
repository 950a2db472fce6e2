import ImgdSystem
import ImgdWire

/// The options that a request for a picture has, whichever command sends it.
struct RequestOptions {
  /// The options of every command that fetches.
  static let all =
    FormOptions.all + [
      VerbOption(
        "cache", nil, .choice("MODE", CacheMode.allCases.map { $0.rawValue }),
        help: "how the cache is used: default, reload, no-cache, force-cache, only-if-cached, peek or no-store"),
      VerbOption(
        "store", nil, .choice("TIERS", StorePolicy.allCases.map { $0.rawValue }),
        help: "the tiers that may keep the picture: all, memory, disk or none"),
      VerbOption("ttl", nil, .duration, help: "how long the picture counts as fresh, such as 7d"),
      VerbOption("identifier", nil, .text("ID"), help: "an additional part of the cache key"),
      VerbOption(
        "priority", nil, .choice("PRIORITY", Priority.allCases.map { $0.rawValue }), help: "low, normal or high"),
      VerbOption("tag", nil, .text("TAG"), repeats: true, help: "label the fetch for cancel and purge"),
      VerbOption("timeout", nil, .duration, help: "give up after this time, such as 30s"),
      VerbOption("max-bytes", nil, .size, help: "refuse pictures larger than this, such as 10M"),
      VerbOption("header", "H", .text("'NAME: VALUE'"), repeats: true, help: "send a header to the origin"),
    ]

  /// The form in which the pictures are wanted.
  let form: PictureForm
  private let arguments: Arguments
  private let headers: [RequestHeader]
  /// Used unless `--priority` is given.
  private let usualPriority: Priority?

  init(_ arguments: Arguments, usualPriority: Priority? = nil, named: OutputFormat? = nil) throws(UsageProblem) {
    self.arguments = arguments
    self.usualPriority = usualPriority
    form = try FormOptions(arguments, named: named).form
    headers = try Self.headers(arguments.texts("header"))
    try Self.check(arguments, "timeout", .milliseconds(1), WireLimits.timeoutMilliseconds, 1000)
    try Self.check(arguments, "ttl", .zero, WireLimits.seconds, 1)
  }

  /// The time after which the daemon gives up, if one was named.
  var timeout: Duration? { arguments.duration("timeout") }

  /// Applies these options to all pictures of a run.
  func apply(to plan: inout FetchPlan) {
    apply(to: &plan.fetch)
    plan.timeout = timeout
  }

  /// Applies these options to one picture.
  func apply(to fetch: inout FetchRequest) {
    fetch.cache = arguments.word("cache") ?? fetch.cache
    fetch.store = arguments.word("store") ?? fetch.store
    fetch.identifier = arguments.text("identifier")
    fetch.priority = arguments.word("priority") ?? usualPriority ?? fetch.priority
    fetch.extras.ttl = arguments.duration("ttl").map { Int($0.components.seconds) }
    fetch.extras.timeoutMilliseconds = timeout.map { Int($0.milliseconds) }
    fetch.extras.maxBytes = arguments.size("max-bytes")
    fetch.extras.tags = arguments.texts("tag")
    fetch.extras.headers = headers
    fetch.form = form
  }

  /// Refuses a duration that the protocol cannot express.
  private static func check(
    _ arguments: Arguments, _ option: String, _ shortest: Duration, _ range: ClosedRange<Int>, _ unitsPerSecond: Int
  ) throws(UsageProblem) {
    guard let text = arguments.text(option), let duration = arguments.duration(option) else { return }
    let longest = Duration.seconds(range.upperBound / unitsPerSecond)
    guard duration >= shortest else {
      throw UsageProblem("--\(option) \(printable(text)) is too short: write at least \(DurationText.text(shortest))")
    }
    guard duration <= longest else {
      throw UsageProblem("--\(option) \(printable(text)) is too long: write at most \(DurationText.text(longest))")
    }
  }

  private static func headers(_ texts: [String]) throws(UsageProblem) -> [RequestHeader] {
    var headers: [RequestHeader] = []
    var names: Set<String> = []
    for text in texts {
      let header = try header(text)
      guard names.insert(header.name.lowercased()).inserted else {
        throw UsageProblem("--header \(printable(header.name)) is given twice: write one, with both values")
      }
      headers.append(header)
    }
    return headers
  }

  private static func header(_ text: String) throws(UsageProblem) -> RequestHeader {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = parts.first, !name.isEmpty, !name.contains(" ") else {
      throw UsageProblem("--header '\(printable(text))' is not a header: write 'Name: value'")
    }
    let value = String(parts[1].drop { $0 == " " })
    switch RequestHeader.problem(name: String(name), value: value) {
    case .noName: throw UsageProblem("--header '\(printable(String(name)))' is not a header's name")
    case .ofDaemon: throw UsageProblem("--header \(name) is set by the daemon alone: leave it out")
    case .controlCharacter: throw UsageProblem("--header \(name) has a control character in its value")
    case nil: return RequestHeader(name: String(name), value: value)
    }
  }
}
