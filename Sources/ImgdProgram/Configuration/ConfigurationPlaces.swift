package import ImgdSystem
internal import ImgdText

/// The places of a configuration: files, environment and command line.
package struct ConfigurationPlaces {
  private let file: String?
  private let isFileRequired: Bool
  private let environment: [String: String]
  private let settings: [CommandLineSetting]

  /// `named` is a file that must exist, in place of the usual one.
  package init(named: String?, usual: String?, environment: [String: String], settings: [CommandLineSetting]) {
    file = named ?? usual
    isFileRequired = named != nil
    self.environment = environment
    self.settings = settings
  }

  /// The usual file, its drop-in directory and the files in that, as far as they are there; none if a file was
  /// named, since that is not what a service reads.
  package var files: [String] {
    guard let file, !isFileRequired else { return [] }
    let names = (try? namesInDirectory(file + ".d", suffix: ".conf")) ?? []
    return [file, file + ".d"] + names.map { "\(file).d/\($0)" }
  }

  /// Reads all places; each overrides the one before. The error has the mistakes of all places; with any mistake
  /// there is no configuration. `complete` adds what other files have, and returns what is wrong there; it is told
  /// which place has set a key. `warn` gets a line for each assignment that has no effect.
  package func read<Program: ProgramConfiguration>(
    over defaults: Program,
    completing complete: (inout Program, _ origin: (_ key: String) -> String) -> [String] = { _, _ in [] },
    warn: (String) -> Void
  ) throws(ConfigurationProblems) -> Program {
    var draft = ConfigurationDraft(defaults: defaults)
    if let file { read(file, into: &draft) }
    applyEnvironment(to: &draft)
    for setting in settings {
      if let problem = setting.problem { draft.problems.append(problem) }
      if let assignment = setting.assignment { draft.apply(assignment) }
    }
    draft.remarks.forEach(warn)
    return try draft.finished(completing: complete)
  }

  /// Reads a file, and then the files in its drop-in directory, in the byte order of their names.
  private func read<Program>(_ path: String, into draft: inout ConfigurationDraft<Program>) {
    do throws(SystemFailure) {
      if let bytes = try readWholeFile(path) {
        draft.apply(path: path, bytes)
      } else if isFileRequired {
        draft.problems.append("\(path): the file does not exist")
      }
      for dropIn in try namesInDirectory(path + ".d", suffix: ".conf").map({ "\(path).d/\($0)" }) {
        do throws(SystemFailure) {
          // A file that was removed after the directory was read is no mistake.
          if let bytes = try readWholeFile(dropIn) { draft.apply(path: dropIn, bytes) }
        } catch { draft.problems.append(error.description) }
      }
    } catch { draft.problems.append(error.description) }
  }

  /// Applies the variables that set keys, such as `IMGD_MEMORY_CAPACITY` for Memory.Capacity, in the order of their
  /// names, so that the order of messages is always the same.
  private func applyEnvironment<Program>(to draft: inout ConfigurationDraft<Program>) {
    for short in Program.shortVariables {
      guard let value = environment[short.variable] else { continue }
      draft.apply(ConfigurationAssignment(origin: short.variable, section: short.section, key: short.key, value: value))
    }
    for (variable, value) in environment.sorted(by: { $0.key < $1.key }) {
      guard let (section, name) = target(of: variable), Program.sections.contains(section) else { continue }
      let key = Program.keys.first { $0.section == section && $0.name.uppercased() == name }
      draft.apply(ConfigurationAssignment(origin: variable, section: section, key: key?.name ?? name, value: value))
    }
  }

  /// The section and the name that a variable is for; nil if it does not belong to a section. The
  /// longest beginning decides: `IMGD_HTTP_GATEWAY_RATE` is not a key of `[HTTP]`.
  private func target(of variable: String) -> (ConfigurationSection, name: String)? {
    let sections = ConfigurationSection.allCases.filter { variable.hasPrefix($0.variablePrefix) }
    let section = sections.max { $0.variablePrefix.utf8.count < $1.variablePrefix.utf8.count }
    return section.map { ($0, String(variable.dropFirst($0.variablePrefix.count))) }
  }
}

/// The value of one key from `--set`, or from an option of its own. The key may not exist; `problem` is
/// a mistake that was found while the option was read.
package struct CommandLineSetting: Equatable {
  package let assignment: ConfigurationAssignment?
  package let problem: String?

  /// The value of an option that stands for one key.
  package init(_ option: String, _ section: ConfigurationSection, _ key: String, _ value: String) {
    self.init(ConfigurationAssignment(origin: option, section: section, key: key, value: value))
  }

  private init(_ assignment: ConfigurationAssignment) {
    self.assignment = assignment
    problem = nil
  }

  /// Reads the argument of `--set`, for a program: `Section.Key=VALUE`.
  package init<Program: ProgramConfiguration>(_ text: String, for program: Program.Type) throws(UsageProblem) {
    // The name of a section may have dots, that of a key has none.
    guard let equals = text.firstIndex(of: "="), let dot = text[..<equals].lastIndex(of: "."), dot != text.startIndex
    else {
      let (section, assignment) = Program.example
      throw UsageProblem(
        "--set '\(shown(text))' is not an assignment: write --set Section.Key=VALUE, "
          + "such as --set \(section.rawValue).\(assignment)")
    }
    let title = String(text[..<dot])
    guard let (section, name) = ConfigurationSection.parse(title) else {
      self.init(problem: "--set: \(ConfigurationSection.unknown(title))")
      return
    }
    guard Program.sections.contains(section) else {
      self.init(problem: "--set: [\(title)] is a section of \(section.reader)")
      return
    }
    self.init(
      ConfigurationAssignment(
        origin: "--set", section: section, name: name, key: String(text[text.index(after: dot)..<equals]),
        value: String(text[text.index(after: equals)...])))
  }

  private init(problem: String) {
    assignment = nil
    self.problem = problem
  }
}

/// The value of an option, which must not be empty; `what` says in a message what the value names.
package func operand(_ value: String?, of option: String, _ what: String) throws(UsageProblem) -> String {
  guard let value, !value.isEmpty else { throw UsageProblem("\(option) needs \(what)") }
  return value
}

/// A configuration under construction: applies assignments in their order and collects all problems.
struct ConfigurationDraft<Program: ProgramConfiguration> {
  private let defaults: Program
  private var configuration: Program
  var problems: [String] = []
  /// Remarks about what is not as it should be, but does no harm.
  private(set) var remarks: [String] = []
  /// The names of sections that were refused.
  private var refused: Set<String> = []
  /// The place that set a key last, and the first one of a section with a name, for messages about what contradicts
  /// each other.
  private var origins: [String: String] = [:]

  init(defaults: Program) {
    self.defaults = defaults
    configuration = defaults
  }

  mutating func apply(path: String, _ bytes: [UInt8]) {
    let file = ConfigurationFile(path: path, bytes: bytes, sections: Program.sections, example: Program.example.section)
    problems += file.problems
    for opening in file.openings { _ = open(opening) }
    for assignment in file.assignments { apply(assignment) }
  }

  /// Adds a section with a name, where there is none yet; returns the name in its one form, or nil for a wrong one.
  private mutating func open(_ opening: SectionOpening) -> String? {
    guard let named = Program.named(opening.section) else { return nil }
    do {
      let name = try named.open(opening.name, &configuration)
      let title = opening.section.title(of: name)
      if origins[title] == nil { origins[title] = opening.origin }
      return name
    } catch {
      let title = shown(opening.section.title(of: opening.name))
      let problem = "\(opening.origin): [\(title)] \(printable(error.complaint))"
      // Each key below a wrong line would be the same mistake once more.
      if refused.insert(opening.name).inserted { problems.append(problem) }
      return nil
    }
  }

  /// The keys among which an assignment's own has to be; nil where its section is a mistake.
  private mutating func keys(for assignment: ConfigurationAssignment) -> [ConfigurationKey<Program>]? {
    guard let named = Program.named(assignment.section) else { return Program.keys(of: assignment.section) }
    guard let name = assignment.name else {
      let place = "[\(assignment.section.title(of: "example.org"))]"
      problems.append(
        "\(assignment.origin): [\(assignment.section.rawValue)] needs a name: write \(place), for example, in a file")
      return nil
    }
    let opening = SectionOpening(origin: assignment.origin, section: assignment.section, name: name)
    return open(opening).map(named.keys)
  }

  /// Sets a key to a value, or to its default if the value is empty.
  mutating func apply(_ assignment: ConfigurationAssignment) {
    guard let keys = keys(for: assignment) else { return }
    guard let key = keys.first(where: { $0.name == assignment.key }) else {
      let name = assignment.section.rawValue + "." + assignment.key
      if Program.retiredKeys.contains(name) {
        return remarks.append("\(assignment.origin): \(name) has no effect any more; remove it")
      }
      return problems.append("\(assignment.origin): \(unknownKey(assignment, among: keys))")
    }
    origins[key.fullName] = assignment.origin
    if assignment.value.isEmpty { return key.reset(&configuration, defaults) }
    do { try key.assign(assignment.value, &configuration) } catch {
      let wrong = "\(key.fullName)=\(shown(assignment.value))"
      problems.append("\(assignment.origin): \(wrong) \(printable(error.complaint))")
    }
  }

  consuming func finished(
    completing complete: (inout Program, _ origin: (_ key: String) -> String) -> [String] = { _, _ in [] }
  ) throws(ConfigurationProblems) -> Program {
    let place = { [origins] (key: String) in origins[key] ?? "defaults" }
    problems += configuration.contradictions(origin: place)
    problems += complete(&configuration, place)
    guard problems.isEmpty else { throw ConfigurationProblems(problems) }
    return configuration
  }

  private func unknownKey(_ assignment: ConfigurationAssignment, among keys: [ConfigurationKey<Program>]) -> String {
    let title = keys.first?.title ?? assignment.section.rawValue
    let unknown = "\(title).\(shown(assignment.key)) is not a key"
    let names = keys.map(\.name)
    if let elsewhere = Program.keys.first(where: { $0.name == assignment.key }) {
      return "\(unknown): did you mean \(elsewhere.fullName)?"
    }
    if let nearest = nearestName(to: assignment.key, among: names) {
      return "\(unknown): did you mean \(title).\(nearest)?"
    }
    return "\(unknown): [\(title)] has \(names.joined(separator: ", "))"
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
