/// A key with different values in two configurations.
package struct ConfigurationChange: Equatable, Sendable {
  package let key: String
  /// Whether a reload applies the new value; otherwise the daemon needs a restart.
  package let isLive: Bool
}

extension Configuration {
  /// Every key with its value as text, section by section.
  package var entries: [(section: String, key: String, value: String)] {
    ConfigurationKey.all.map { ($0.section.rawValue, $0.name, $0.text(self)) }
  }

  /// A configuration file with these values and an explanation of every key.
  package func printed() -> String {
    let sections = ConfigurationSection.allCases.map { section in
      "[\(section.rawValue)]\n" + ConfigurationKey.keys(of: section).map(printed).joined()
    }
    return sections.joined(separator: "\n")
  }

  private func printed(_ key: ConfigurationKey) -> String {
    let restart = key.isLive ? "" : " A new value needs a restart."
    return "# \(key.help)\(restart)\n\(key.name)=\(key.text(self))\n"
  }

  /// The keys that have a different value in `other`.
  package func changes(to other: Configuration) -> [ConfigurationChange] {
    ConfigurationKey.all.filter { $0.text(self) != $0.text(other) }
      .map { ConfigurationChange(key: $0.fullName, isLive: $0.isLive) }
  }
}
