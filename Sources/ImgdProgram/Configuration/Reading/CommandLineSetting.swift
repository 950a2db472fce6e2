package import ImgdSystem

/// The value of one key from `--set`, or from an option of its own. The key may not exist; `problem` is
/// a mistake that was found while the option was read.
package struct CommandLineSetting: Equatable {
  package let assignment: ConfigurationAssignment?
  package let problem: String?

  /// The value of an option that stands for one key.
  package init(_ option: String, _ section: ConfigurationSection, _ key: String, _ value: String) {
    assignment = ConfigurationAssignment(origin: option, section: section, key: key, value: value)
    problem = nil
  }

  /// Reads the argument of `--set`, for a program: `Section.Key=VALUE`.
  package init<Program: ProgramConfiguration>(_ text: String, for program: Program.Type) throws(UsageProblem) {
    guard let equals = text.firstIndex(of: "="), let dot = text[..<equals].firstIndex(of: "."), dot != text.startIndex
    else {
      let (section, assignment) = Program.example
      throw UsageProblem(
        "--set '\(shown(text))' is not an assignment: write --set Section.Key=VALUE, "
          + "such as --set \(section.rawValue).\(assignment)")
    }
    let name = String(text[..<dot])
    guard let section = ConfigurationSection(rawValue: name) else {
      self.init(problem: "--set: \(ConfigurationSection.unknown(name))")
      return
    }
    guard Program.sections.contains(section) else {
      self.init(problem: "--set: [\(name)] is a section of \(section.reader)")
      return
    }
    let key = String(text[text.index(after: dot)..<equals])
    let value = String(text[text.index(after: equals)...])
    self.init("--set", section, key, value)
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
