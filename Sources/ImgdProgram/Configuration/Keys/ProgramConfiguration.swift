// The settings of one program, as values that the rest of the program uses directly.
//
// A struct lists the settings and their defaults. One table (`keys`) has a row for each key: how a value
// is written in a file, which values are valid, and the help text. Reading, printing and comparing all use
// this table, so every key that can be read can also be printed, in a form that can be read again.
//
// Values come from four places, and a later place overrides an earlier one: the defaults, the file with
// its drop-ins, the environment, the command line (`ConfigurationPlaces`). Each place is a list of
// assignments. All of them are read to the end and every problem is collected; a configuration results
// only if there are no problems. So a file with three mistakes causes three messages, and a reload of a
// file with mistakes changes nothing.

/// All settings of one program, with valid values.
package protocol ProgramConfiguration: Sendable, Equatable {
  /// All keys, section by section.
  static var keys: [ConfigurationKey<Self>] { get }
  /// Keys of an earlier release, with their sections: a file may still have them, and they set nothing.
  static var retiredKeys: Set<String> { get }
  /// A section and an assignment that messages show as an example.
  static var example: (section: ConfigurationSection, assignment: String) { get }
  /// Variables that set a key besides the variable with the key's own name, which wins.
  static var shortVariables: [(variable: String, section: ConfigurationSection, key: String)] { get }

  /// Mistakes that lie in several values together; `origin` returns the place that has set a key.
  func contradictions(origin: (_ key: String) -> String) -> [String]
}

extension ProgramConfiguration {
  package static var retiredKeys: Set<String> { [] }

  /// The sections that the program reads, in the order in which they are printed.
  package static var sections: [ConfigurationSection] {
    ConfigurationSection.allCases.filter { section in keys.contains { $0.section == section } }
  }

  /// The keys of one section, in the order in which they are printed.
  package static func keys(of section: ConfigurationSection) -> [ConfigurationKey<Self>] {
    keys.filter { $0.section == section }
  }

  /// The key with exactly this name.
  static func key(_ section: ConfigurationSection, _ name: String) -> ConfigurationKey<Self>? {
    keys.first { $0.section == section && $0.name == name }
  }

  /// Every key with its value as text, section by section.
  package var entries: [(section: String, key: String, value: String)] {
    Self.keys.map { ($0.section.rawValue, $0.name, $0.text(self)) }
  }

  /// A configuration file with these values and an explanation of every key.
  package func printed() -> String {
    let sections = Self.sections.map { section in
      "[\(section.rawValue)]\n" + Self.keys(of: section).map(printed).joined()
    }
    return sections.joined(separator: "\n")
  }

  private func printed(_ key: ConfigurationKey<Self>) -> String {
    let restart = key.isLive ? "" : " A new value needs a restart."
    return "# \(key.help)\(restart)\n\(key.name)=\(key.text(self))\n"
  }

  /// The keys that have a different value in `other`.
  package func changes(to other: Self) -> [ConfigurationChange] {
    Self.keys.filter { $0.text(self) != $0.text(other) }.map {
      ConfigurationChange(key: $0.fullName, isLive: $0.isLive)
    }
  }
}

/// A key with different values in two configurations.
package struct ConfigurationChange: Equatable, Sendable {
  package let key: String
  /// Whether a reload applies the new value; otherwise the program needs a restart.
  package let isLive: Bool

  package init(key: String, isLive: Bool) {
    self.key = key
    self.isLive = isLive
  }
}
