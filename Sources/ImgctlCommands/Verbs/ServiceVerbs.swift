import ImgdConnection
import ImgdSystem
import ImgdText
import ImgdWire

/// `imgctl ping`: checks that the daemon answers.
struct Ping: Verb {
  static let description = VerbDescription(
    "ping", "check that the daemon answers", options: [.json], details: "Prints how long the answer took.")

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let start = Instant.current
    let answer = try context.ask(.ping, over: context.connect())
    let microseconds = (Instant.current - start).nanoseconds / 1000
    try context.print(answer) { _ in "imgd at \(printable(context.socket)) answered after \(microseconds) µs" }
    return .done
  }
}

/// `imgctl version`: the versions of imgctl and of the daemon.
struct Version: Verb {
  static let description = VerbDescription(
    "version", "print the versions of imgctl and of the daemon", options: [.json])

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    if !context.asJSON { _ = try Self.printOwn(in: context) }
    let answer = try context.ask(.hello, over: context.connect())
    try context.print(answer) { reply in
      let version = printable(reply.text("version") ?? "?")
      return "imgd \(version), protocol \(reply.number("protocol") ?? 0), at \(printable(context.socket))"
    }
    return .done
  }

  /// `imgctl --version`: the version of imgctl alone, which needs no daemon.
  static func printOwn(in context: Context) throws(Failure) -> ExitCode {
    try context.print("imgctl \(Release.version)")
    return .done
  }
}

/// `imgctl reload`: makes the daemon read its configuration again.
struct Reload: Verb {
  static let description = VerbDescription(
    "reload", "make the daemon read its configuration again", options: [.json],
    details: """
      Prints the keys that have changed. If the configuration has a mistake, nothing changes, and imgctl prints the mistake.
      """)

  init(_ arguments: Arguments) {}

  /// A daemon that stops needs no other configuration, and the next one reads its own: a reload that meets
  /// a stop has not failed.
  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let answer = try context.answer(to: .reload, over: context.connect(), within: Context.patience)
    if ReplyCode(rawValue: answer.reply.errorCode ?? "") == .shuttingDown {
      try context.print(answer) { _ in "imgd is stopping; it reads its configuration when it starts" }
      return .done
    }
    guard answer.reply.succeeded == true else {
      let mistakes = answer.reply.object("error")?.object("details")?.texts("mistakes") ?? []
      guard mistakes.count > 1 else { throw Failure(refusal: answer.reply) }
      for mistake in mistakes { context.console.complain(mistake) }
      throw Failure(answer.reply.exitCode, "nothing was changed: see the \(mistakes.count) lines above")
    }
    try context.print(answer, Self.text)
    return .done
  }

  /// The keys that a reload has changed, and those that need a restart.
  private static func text(_ reply: Reply) -> String {
    let waiting = (reply.texts("needs_restart") ?? []).map { printable($0) }
    let inForce = (reply.texts("changed") ?? []).map { printable($0) }.filter { !waiting.contains($0) }
    var lines: [String] = []
    if !inForce.isEmpty { lines.append("changed: " + inForce.joined(separator: ", ")) }
    if !waiting.isEmpty { lines.append("needs a restart: " + waiting.joined(separator: ", ")) }
    return lines.isEmpty ? "no value has changed" : lines.joined(separator: "\n")
  }
}

/// `imgctl config`: the configuration in force.
struct ShowConfiguration: Verb {
  static let description = VerbDescription(
    "config", "show the daemon's configuration", operands: .optional("SECTION.KEY", .setting), options: [.json],
    details: """
      Prints the configuration in force, as a file would have it; of a section its part, and of a key its value alone. It comes from the files, the environment and the command line that the daemon was started with.
      """)

  private let name: String?

  init(_ arguments: Arguments) { name = arguments.operands.first }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let answer = try context.ask(.config, over: context.connect())
    guard let sections = answer.reply.object("config") else {
      throw Failure(.failed, "the daemon's answer has no configuration")
    }
    guard let name else {
      try context.print(answer) { _ in Self.file(sections, sections.fields) }
      return .done
    }
    try context.print(try part(name, of: sections, asJSON: context.asJSON))
    return .done
  }

  private func part(_ name: String, of sections: Reply, asJSON: Bool) throws(Failure) -> String {
    if let section = Self.match(name, sections.fields), let keys = sections.object(section) {
      return asJSON ? keys.json : Self.file(sections, [section])
    }
    // The name of a section may have dots, that of a key has none.
    let words = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if let section = Self.match(words.dropLast().joined(separator: "."), sections.fields),
      let keys = sections.object(section), let key = Self.match(words[words.count - 1], keys.fields),
      let value = keys.text(key)
    {
      return asJSON ? JSONValue.string(value).encoded() : printable(value)
    }
    throw Failure(.failed, Self.complaint(about: name, sections))
  }

  /// The name that a word matches, whatever the case.
  private static func match(_ word: String, _ names: [String]) -> String? {
    names.first { $0.lowercased() == word.lowercased() }
  }

  private static func file(_ sections: Reply, _ names: [String]) -> String {
    names.compactMap { name in
      sections.object(name).map { keys in
        let lines = keys.fields.map { printable("\($0)=\(keys.text($0) ?? "")") }
        return (["[\(printable(name))]"] + lines).joined(separator: "\n")
      }
    }.joined(separator: "\n\n")
  }

  /// Suggests the names that are written alike, and keys whose section was left out.
  private static func complaint(about name: String, _ sections: Reply) -> String {
    let keys = sections.fields.flatMap { name in (sections.object(name)?.fields ?? []).map { name + "." + $0 } }
    var near = keys.filter { $0.lowercased().hasSuffix("." + name.lowercased()) }
    if near.isEmpty, let name = nearestName(to: name, among: sections.fields + keys) { near = [name] }
    let known = "the sections are \(sections.fields.joined(separator: ", "))"
    return "the configuration has no '\(name)': \(near.isEmpty ? known : "did you mean \(alternatives(near))?")"
  }
}
