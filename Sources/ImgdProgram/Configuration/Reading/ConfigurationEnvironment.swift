/// The variables that set keys: `IMGD_MEMORY_CAPACITY` is Memory.Capacity.
struct ConfigurationEnvironment {
  private let environment: [String: String]

  init(_ environment: [String: String]) { self.environment = environment }

  /// Applies the variables in the order of their names, so that the order of messages is always the same.
  func apply<Program>(to draft: inout ConfigurationDraft<Program>) {
    for short in Program.shortVariables {
      guard let value = environment[short.variable] else { continue }
      draft.apply(ConfigurationAssignment(origin: short.variable, section: short.section, key: short.key, value: value))
    }
    for (variable, value) in environment.sorted(by: { $0.key < $1.key }) {
      guard let (section, name) = target(of: variable), Program.sections.contains(section) else { continue }
      let key = Program.keys(of: section).first { $0.name.uppercased() == name }
      draft.apply(ConfigurationAssignment(origin: variable, section: section, key: key?.name ?? name, value: value))
    }
  }

  /// The section and the name that a variable is for; nil if it does not belong to a section. The
  /// longest beginning decides: `IMGD_HTTP_GATEWAY_RATE` is not a key of `[HTTP]`.
  private func target(of variable: String) -> (ConfigurationSection, name: String)? {
    let section = ConfigurationSection.allCases.filter { variable.hasPrefix($0.variablePrefix) }.max {
      $0.variablePrefix.utf8.count < $1.variablePrefix.utf8.count
    }
    return section.map { ($0, String(variable.dropFirst($0.variablePrefix.count))) }
  }
}
