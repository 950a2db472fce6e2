import ImgdSystem
import ImgdWire

/// The options of a command in their order, and its operands.
struct VerbArguments {
  var options: [(name: String, value: String)] = []
  var operands: [String] = []

  func refuseOperands(_ verb: Verb) throws(UsageProblem) {
    guard let first = operands.first else { return }
    throw UsageProblem("\(verb.rawValue) takes no arguments: leave out '\(printable(first))'")
  }

  func onlyJSON(_ verb: Verb) throws(UsageProblem) -> Bool {
    try refuseOperands(verb)
    return !options.isEmpty
  }
}

extension Verb {
  /// The options of this command alone.
  var options: [CommandLineOption] {
    switch self {
    case .fetch:
      ["json", "progress"].map { CommandLineOption($0) }
        + ["cache", "identifier", "priority", "tag", "timeout", "max-bytes", "header"]
        .map { CommandLineOption($0, takesValue: true) }
        + [CommandLineOption("output", letter: "o", takesValue: true)]
    case .cancel:
      ["slot", "tag"].map { CommandLineOption($0, takesValue: true) } + [CommandLineOption("all")]
    case .purge:
      (PurgeFilters.textFields + ["older-than", "unused-for"])
        .map { CommandLineOption($0, takesValue: true) }
        + ["expired", "soft"].map { CommandLineOption($0) }
        + [CommandLineOption("all", letter: "y")]
    case .stats, .list: [CommandLineOption("json")]
    case .reload, .ping, .help: []
    }
  }
}

extension FetchArguments {
  init(_ arguments: VerbArguments) throws(UsageProblem) {
    urls = arguments.operands
    guard !urls.isEmpty else {
      throw UsageProblem("fetch needs a URL, or - for URLs from standard input")
    }
    for (name, value) in arguments.options { try take(name, value) }
    if output == "-", json {
      throw UsageProblem(
        "--json and -o - both write to standard output: name a file for the picture")
    }
  }

  private mutating func take(_ name: String, _ value: String) throws(UsageProblem) {
    switch name {
    case "json": json = true
    case "progress": progress = true
    case "output": output = try nonEmpty(value, "-o needs a file, a directory or -")
    case "cache": cache = try choice(value, "--cache", CacheMode.allCases.map(\.rawValue))
    case "priority": priority = try choice(value, "--priority", Priority.allCases.map(\.rawValue))
    case "identifier": identifier = value
    case "tag": tags.append(value)
    case "timeout": timeout = try positiveDuration(value, "--timeout")
    case "max-bytes": maxBytes = try size(value, "--max-bytes")
    default: headers.append(try header(value))
    }
  }

  private func header(_ text: String) throws(UsageProblem) -> Header {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = parts.first, !name.isEmpty, !name.contains(" ") else {
      throw UsageProblem("--header '\(printable(text))' is not a header: write 'Name: value'")
    }
    return Header(name: String(name), value: String(parts[1].drop { $0 == " " }))
  }
}

extension CancelTarget {
  init(_ arguments: VerbArguments) throws(UsageProblem) {
    var targets = arguments.operands.map(CancelTarget.receipt)
    for (name, value) in arguments.options {
      switch name {
      case "slot": targets.append(.slot(value))
      case "tag": targets.append(.tag(value))
      default: targets.append(.all)
      }
    }
    guard targets.count == 1, let only = targets.first else {
      throw UsageProblem("cancel needs one of RECEIPT, --slot, --tag or --all")
    }
    self = only
  }
}

extension PurgeFilters {
  static let textFields = ["url", "identifier", "prefix", "host", "tag", "tier"]

  init(_ arguments: VerbArguments) throws(UsageProblem) {
    try arguments.refuseOperands(.purge)
    for (name, value) in arguments.options { try take(name, value) }
    if isEmpty, !everything {
      throw UsageProblem("purge needs a filter, or --all to remove every entry")
    }
  }

  private mutating func take(_ name: String, _ value: String) throws(UsageProblem) {
    switch name {
    case "older-than": olderThan = try duration(value, "--older-than")
    case "unused-for": unusedFor = try duration(value, "--unused-for")
    case "expired": expired = true
    case "soft": soft = true
    case "all": everything = true
    case "tier":
      texts.append(
        Text(
          field: name,
          value: try choice(value, "--tier", PurgeRequest.Scope.allCases.map(\.rawValue))))
    default: texts.append(Text(field: name, value: value))
    }
  }
}

private func nonEmpty(_ value: String, _ problem: String) throws(UsageProblem) -> String {
  guard !value.isEmpty else { throw UsageProblem(problem) }
  return value
}

private func choice(
  _ value: String, _ option: String, _ choices: [String]
) throws(UsageProblem) -> String {
  guard choices.contains(value) else {
    throw UsageProblem(
      "\(option) \(printable(value)) is not valid: write \(alternatives(choices))")
  }
  return value
}

private func duration(_ value: String, _ option: String) throws(UsageProblem) -> Duration {
  guard let duration = DurationText.duration(value) else {
    throw UsageProblem(
      "\(option) \(printable(value)) is not a duration: write seconds, or one such as 30s or 7d")
  }
  return duration
}

private func positiveDuration(_ value: String, _ option: String) throws(UsageProblem) -> Duration {
  let duration = try duration(value, option)
  guard duration >= .milliseconds(1) else {
    throw UsageProblem("\(option) \(printable(value)) is too short: write at least 1ms")
  }
  return duration
}

private func size(_ value: String, _ option: String) throws(UsageProblem) -> Int {
  guard let size = SizeText.bytes(value), size > 0 else {
    throw UsageProblem(
      "\(option) \(printable(value)) is not a size: write bytes or a number with K, M or G")
  }
  return size
}
