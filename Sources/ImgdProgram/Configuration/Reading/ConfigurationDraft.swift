internal import ImgdText

/// A configuration under construction: applies assignments in their order and collects all problems.
struct ConfigurationDraft<Program: ProgramConfiguration> {
  private let defaults: Program
  private var configuration: Program
  private var problems: [String] = []
  /// Remarks about what is not as it should be, but does no harm.
  private(set) var remarks: [String] = []
  /// The place that set a key last, for messages about two keys that contradict each other.
  private var origins: [String: String] = [:]

  init(defaults: Program) {
    self.defaults = defaults
    configuration = defaults
  }

  mutating func addProblem(_ problem: String) { problems.append(problem) }

  /// Applies the contents of a file.
  mutating func apply(path: String, _ bytes: [UInt8]) {
    let file = ConfigurationFile(path: path, bytes: bytes, sections: Program.sections, example: Program.example.section)
    problems += file.problems
    for assignment in file.assignments { apply(assignment) }
  }

  /// Sets a key to a value, or to its default if the value is empty.
  mutating func apply(_ assignment: ConfigurationAssignment) {
    guard let key = Program.key(assignment.section, assignment.key) else {
      let name = assignment.section.rawValue + "." + assignment.key
      if Program.retiredKeys.contains(name) {
        return remarks.append("\(assignment.origin): \(name) has no effect any more; remove it")
      }
      return addProblem("\(assignment.origin): \(unknownKey(assignment.section, assignment.key))")
    }
    origins[key.fullName] = assignment.origin
    if assignment.value.isEmpty { return key.reset(&configuration, defaults) }
    do { try key.assign(assignment.value, &configuration) } catch {
      let wrong = "\(key.fullName)=\(shown(assignment.value))"
      addProblem("\(assignment.origin): \(wrong) \(error.complaint)")
    }
  }

  /// The configuration, if all assignments are valid and do not contradict each other.
  consuming func finished() throws(ConfigurationProblems) -> Program {
    problems += configuration.contradictions { [origins] in origins[$0] ?? "defaults" }
    guard problems.isEmpty else { throw ConfigurationProblems(problems) }
    return configuration
  }

  /// A message about a key that does not exist, with the name that was probably meant.
  private func unknownKey(_ section: ConfigurationSection, _ name: String) -> String {
    let unknown = "\(section.rawValue).\(shown(name)) is not a key"
    if let elsewhere = Program.keys.first(where: { $0.name == name }) {
      return "\(unknown): did you mean \(elsewhere.fullName)?"
    }
    let names = Program.keys(of: section).map(\.name)
    if let nearest = nearestName(to: name, among: names) {
      return "\(unknown): did you mean \(section.rawValue).\(nearest)?"
    }
    return "\(unknown): [\(section.rawValue)] has \(names.joined(separator: ", "))"
  }
}

/// All mistakes in a configuration, one line for each.
package struct ConfigurationProblems: Error, Equatable, CustomStringConvertible {
  /// A file with more mistakes than this is not a configuration file.
  private static let most = 50

  package let lines: [String]
  private let count: Int

  init(_ problems: [String]) {
    count = problems.count
    let more = problems.count - Self.most
    lines = problems.prefix(Self.most) + (more > 0 ? ["and \(more) more mistakes"] : [])
  }

  package var description: String { lines.joined(separator: "\n") }

  /// The number of mistakes and the first of them in one line, for a status and for clients.
  package var summary: String {
    guard lines.count > 1, let first = lines.first else { return description }
    return "\(count) mistakes in the configuration, the first: \(first)"
  }
}
