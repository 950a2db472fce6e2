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
  /// All keys of sections that are there once, section by section.
  static var keys: [ConfigurationKey<Self>] { get }
  /// The kinds of sections that have names, of which there may be several.
  static var namedSections: [NamedSections<Self>] { get }
  /// Keys of an earlier release, with their sections: a file may still have them, and they set nothing.
  static var retiredKeys: Set<String> { get }
  /// A section and an assignment that messages show as an example.
  static var example: (section: ConfigurationSection, assignment: String) { get }
  /// Variables that set a key besides the variable with the key's own name, which wins.
  static var shortVariables: [(variable: String, section: ConfigurationSection, key: String)] { get }

  /// Mistakes that lie in several values together; `origin` returns the place that has set a key, or that has a section
  /// with a name.
  func contradictions(origin: (_ key: String) -> String) -> [String]
}

extension ProgramConfiguration {
  package static var retiredKeys: Set<String> { [] }
  package static var namedSections: [NamedSections<Self>] { [] }

  /// The sections that the program reads, in the order in which they are printed.
  package static var sections: [ConfigurationSection] {
    ConfigurationSection.allCases.filter { section in
      keys.contains { $0.section == section } || named(section) != nil
    }
  }

  /// The keys of a section that is there once, in the order in which they are printed.
  static func keys(of section: ConfigurationSection) -> [ConfigurationKey<Self>] {
    keys.filter { $0.section == section }
  }

  static func named(_ section: ConfigurationSection) -> NamedSections<Self>? {
    namedSections.first { $0.section == section }
  }

  /// Every section of this configuration with its keys, in the order in which they are printed.
  package var sections: [(title: String, keys: [ConfigurationKey<Self>])] {
    Self.sections.flatMap { section in
      guard let named = Self.named(section) else { return [(section.rawValue, Self.keys(of: section))] }
      return named.names(self).map { (section.title(of: $0), named.keys($0)) }
    }
  }

  /// Every key with its value as text, section by section.
  package var entries: [(section: String, key: String, value: String)] {
    sections.flatMap { section in section.keys.map { (section.title, $0.name, $0.text(self)) } }
  }

  /// A configuration file with these values and an explanation of every key.
  package func printed() -> String {
    sections.map { "[\($0.title)]\n" + $0.keys.map(printed).joined() }.joined(separator: "\n")
  }

  private func printed(_ key: ConfigurationKey<Self>) -> String {
    let restart = key.isLive ? "" : " A new value needs a restart."
    return "# \(key.help)\(restart)\n\(key.name)=\(key.text(self))\n"
  }

  /// The keys that have a different value in `other`, and the sections with names that only one of both has.
  package func changes(to other: Self) -> [ConfigurationChange] {
    var changes = changes(of: Self.keys, to: other)
    for named in Self.namedSections {
      let (own, others) = (Set(named.names(self)), Set(named.names(other)))
      for name in own.union(others).sorted() {
        if own.contains(name), others.contains(name) {
          changes += self.changes(of: named.keys(name), to: other)
        } else {
          changes.append(ConfigurationChange(key: named.section.title(of: name), isLive: true))
        }
      }
    }
    return changes
  }

  private func changes(of keys: [ConfigurationKey<Self>], to other: Self) -> [ConfigurationChange] {
    keys.filter { $0.text(self) != $0.text(other) }.map { ConfigurationChange(key: $0.fullName, isLive: $0.isLive) }
  }
}

/// A key with different values in two configurations, or a section with a name that one of them lacks.
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
  /// The section as a file has it between brackets.
  let title: String
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
  package var fullName: String { title + "." + name }

  package init<Value>(
    _ section: ConfigurationSection, _ name: String, _ place: any WritableKeyPath<Program, Value> & Sendable,
    _ format: ValueFormat<Value>, isLive: Bool = true, _ help: String
  ) {
    self.section = section
    title = section.rawValue
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
  /// One for each pattern of origins: `[Origin *.example.org]`.
  case origin = "Origin"
  case gateway = "HTTP-Gateway"

  var reader: String { self == .gateway ? "imgd-http" : "imgd" }

  /// The beginning of the variables that set its keys: `IMGD_HTTP_GATEWAY_`.
  var variablePrefix: String {
    let letters = rawValue.uppercased().map { $0 == "-" ? "_" : $0 }
    return "IMGD_" + String(letters) + "_"
  }

  /// What stands between the brackets of a section with a name.
  func title(of name: String) -> String { rawValue + " " + name }

  /// Reads what stands between the brackets: a section, and its name where it is one of several; nil for neither.
  static func parse(_ title: String) -> (section: ConfigurationSection, name: String?)? {
    if let section = ConfigurationSection(rawValue: title) { return (section, nil) }
    let prefix = origin.rawValue + " "
    guard title.hasPrefix(prefix) else { return nil }
    return (.origin, String(title.dropFirst(prefix.count).drop { $0 == " " || $0 == "\t" }))
  }

  /// The section as a message shows it.
  private var example: String { self == .origin ? "[Origin example.org]" : "[\(rawValue)]" }

  static func unknown(_ title: String) -> String {
    let word = String(title.prefix { $0 != " " })
    let nearest = nearestName(to: word, among: allCases.map(\.rawValue)).flatMap(ConfigurationSection.init(rawValue:))
    if let nearest { return "[\(shown(title))] is not a section: did you mean \(nearest.example)?" }
    return "[\(shown(title))] is not a section: write \(alternatives(allCases.map(\.example)))"
  }
}
