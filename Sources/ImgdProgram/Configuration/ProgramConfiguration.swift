// The settings of one program, as values that the rest of the program uses directly. A struct lists the settings and
// their defaults. One table (`keys`) has a row for each key: how a value is written in a file, which values are
// valid, and the help text. Reading, printing and comparing all use this table, so every key that can be read can
// also be printed, in a form that can be read again.
//
// Values come from four places, and a later place overrides an earlier one: the defaults, the file with its drop-ins,
// the environment, the command line (`ConfigurationPlaces`). Each place is a list of assignments. All of them are
// read to the end and every problem is collected; a configuration results only if there are no problems. So a file
// with three mistakes causes three messages, and a reload of a file with mistakes changes nothing.

internal import ImgdText

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

/// A key of the configuration: its place, the form of its value, and its purpose.
package struct ConfigurationKey<Program>: Sendable {
  package let section: ConfigurationSection
  package let name: String
  /// One sentence for the printed file and the manual page.
  package let help: String
  /// Whether a reload applies a new value without a restart.
  package let isLive: Bool

  /// The key's value in a configuration, in the form of a file.
  package let text: @Sendable (Program) -> String
  /// Sets the key to a value in the form of a file.
  package let assign: @Sendable (String, inout Program) throws(WrongValue) -> Void
  /// Gives the key the value that it has among the defaults.
  package let reset: @Sendable (inout Program, _ defaults: Program) -> Void

  /// The key with its section, as in messages and on the command line.
  package var fullName: String { section.rawValue + "." + name }

  package init<Value>(
    _ section: ConfigurationSection, _ name: String, _ place: any WritableKeyPath<Program, Value> & Sendable,
    _ format: ValueFormat<Value>, isLive: Bool = true, _ help: String
  ) {
    self.section = section
    self.name = name
    self.help = help
    self.isLive = isLive
    text = { format.text($0[keyPath: place]) }
    assign = { text, configuration throws(WrongValue) in configuration[keyPath: place] = try format.parse(text) }
    reset = { configuration, defaults in configuration[keyPath: place] = defaults[keyPath: place] }
  }
}

/// The sections of `imgd.conf`, with their names in the file. Each program reads its own sections and skips those of
/// the other: mistakes there are the other's to report.
package enum ConfigurationSection: String, Sendable, CaseIterable {
  case control = "Control"
  case memory = "Memory"
  case disk = "Disk"
  case downloads = "Downloads"
  case http = "HTTP"
  case network = "Network"
  case decode = "Decode"
  case fleet = "Fleet"
  case gateway = "HTTP-Gateway"

  var reader: String { self == .gateway ? "imgd-http" : "imgd" }

  /// The beginning of the variables that set its keys: `IMGD_HTTP_GATEWAY_`.
  var variablePrefix: String {
    let letters = rawValue.uppercased().map { $0 == "-" ? "_" : $0 }
    return "IMGD_" + String(letters) + "_"
  }

  static func unknown(_ name: String) -> String {
    if let nearest = nearestName(to: name, among: allCases.map(\.rawValue)) {
      return "[\(shown(name))] is not a section: did you mean [\(nearest)]?"
    }
    let names = allCases.map { "[\($0.rawValue)]" }
    return "[\(shown(name))] is not a section: write \(alternatives(names))"
  }
}
