import ImgdSystem

/// A configuration under construction: takes assignments one after another and notes every problem.
struct ConfigurationDraft {
  private let defaults: Configuration
  private var configuration: Configuration
  private var problems: [String] = []
  /// Who set a key last, to blame when two keys do not fit together.
  private var origins: [String: String] = [:]

  init(defaults: Configuration) {
    self.defaults = defaults
    configuration = defaults
  }

  mutating func note(_ problem: String) {
    problems.append(problem)
  }

  mutating func apply(_ file: ConfigurationFile) {
    problems += file.problems
    for assignment in file.assignments { apply(assignment) }
  }

  /// Gives a key its value, or its default where the value is empty.
  mutating func apply(_ assignment: ConfigurationAssignment) {
    guard let key = ConfigurationKey.key(assignment.section, assignment.key) else {
      return note("\(assignment.origin): \(unknownKey(assignment.section, assignment.key))")
    }
    origins[key.fullName] = assignment.origin
    if assignment.value.isEmpty { return key.reset(&configuration, defaults) }
    do {
      try key.assign(assignment.value, &configuration)
    } catch {
      let wrong = "\(key.fullName)=\(shown(assignment.value))"
      note("\(assignment.origin): \(wrong) \(error.complaint)")
    }
  }

  /// The configuration, when nothing was wrong with any assignment and they fit together.
  consuming func finished() throws(ConfigurationProblems) -> Configuration {
    checkPreferred()
    guard problems.isEmpty else { throw ConfigurationProblems(problems) }
    return configuration
  }

  private mutating func checkPreferred() {
    let capacity = configuration.memory.capacity
    let preferred = configuration.memory.preferred
    guard preferred > capacity else { return }
    let origin = origins["Memory.Preferred"] ?? origins["Memory.Capacity"] ?? "defaults"
    note(
      "\(origin): Memory.Preferred=\(SizeText.text(preferred)) is more than "
        + "Memory.Capacity=\(SizeText.text(capacity)): set Memory.Preferred to at most "
        + SizeText.text(capacity))
  }
}

/// Everything that is wrong with a configuration, a line each.
package struct ConfigurationProblems: Error, Equatable, CustomStringConvertible {
  /// What has more mistakes is some other file.
  private static let most = 50

  package let lines: [String]

  init(_ problems: [String]) {
    let more = problems.count - Self.most
    lines = problems.prefix(Self.most) + (more > 0 ? ["and \(more) more mistakes"] : [])
  }

  package var description: String { lines.joined(separator: "\n") }
}

/// Says that a key does not exist, and which one was probably meant.
private func unknownKey(_ section: ConfigurationSection, _ name: String) -> String {
  let unknown = "\(section.rawValue).\(shown(name)) is not a key"
  if let elsewhere = ConfigurationKey.all.first(where: { $0.name == name }) {
    return "\(unknown): did you mean \(elsewhere.fullName)?"
  }
  let names = ConfigurationKey.keys(of: section).map(\.name)
  if let nearest = nearestName(to: name, among: names) {
    return "\(unknown): did you mean \(section.rawValue).\(nearest)?"
  }
  return "\(unknown): [\(section.rawValue)] has \(names.joined(separator: ", "))"
}
