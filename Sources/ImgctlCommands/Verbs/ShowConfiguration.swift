import ImgdConnection
import ImgdSystem
import ImgdWire
import ImgdText

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
    let answer = try context.ask(.config)
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
    let words = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let section = Self.match(words[0], sections.fields)
    if let section, let keys = sections.object(section) {
      if words.count == 1 { return asJSON ? keys.json : Self.file(sections, [section]) }
      if let key = Self.match(words[1], keys.fields), let value = keys.text(key) {
        return asJSON ? JSONValue.string(value).encoded() : printable(value)
      }
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
    let keys = sections.fields.flatMap { section in (sections.object(section)?.fields ?? []).map { section + "." + $0 }
    }
    let unsectioned = keys.filter { $0.lowercased().hasSuffix("." + name.lowercased()) }
    let near =
      unsectioned.isEmpty ? nearestName(to: name, among: sections.fields + keys).map { [$0] } ?? [] : unsectioned
    let hint =
      near.isEmpty
      ? "the sections are \(sections.fields.joined(separator: ", "))" : "did you mean \(alternatives(near))?"
    return "the configuration has no '\(name)': \(hint)"
  }
}
