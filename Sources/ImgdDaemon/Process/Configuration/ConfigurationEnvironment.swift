/// The variables that set keys: `IMGD_MEMORY_CAPACITY` is Memory.Capacity.
struct ConfigurationEnvironment {
  private let environment: [String: String]

  init(_ environment: [String: String]) {
    self.environment = environment
  }

  /// Applies the variables in the order of their names, so that the order of messages is always the same.
  func apply(to draft: inout ConfigurationDraft) {
    // Clients use this variable too. If IMGD_CONTROL_SOCKET is also set, that one wins.
    if let socket = environment["IMGD_SOCKET"] {
      draft.apply(assignment(.control, "Socket", socket, variable: "IMGD_SOCKET"))
    }
    for (variable, value) in environment.sorted(by: { $0.key < $1.key }) {
      guard let (section, key) = target(of: variable) else { continue }
      draft.apply(assignment(section, key, value, variable: variable))
    }
  }

  private func assignment(
    _ section: ConfigurationSection, _ key: String, _ value: String, variable: String
  ) -> ConfigurationAssignment {
    ConfigurationAssignment(origin: variable, section: section, key: key, value: value)
  }

  /// The section and the key that a variable sets; an unknown key keeps its spelling. Nil if the variable
  /// does not belong to a section.
  private func target(of variable: String) -> (ConfigurationSection, String)? {
    for section in ConfigurationSection.allCases {
      let prefix = "IMGD_" + section.rawValue.uppercased() + "_"
      guard variable.hasPrefix(prefix) else { continue }
      let name = String(variable.dropFirst(prefix.count))
      let key = ConfigurationKey.keys(of: section).first { $0.name.uppercased() == name }
      return (section, key?.name ?? name)
    }
    return nil
  }
}
