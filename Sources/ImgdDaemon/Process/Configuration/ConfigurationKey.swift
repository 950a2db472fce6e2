/// The sections of the configuration, with their names in a file.
package enum ConfigurationSection: String, Sendable, CaseIterable {
  case control = "Control"
  case memory = "Memory"
  case disk = "Disk"
  case downloads = "Downloads"
  case http = "HTTP"
  case network = "Network"
  case decode = "Decode"
  case fleet = "Fleet"
}

/// A key of the configuration: its place, the form of its value, and its purpose.
package struct ConfigurationKey: Sendable {
  package let section: ConfigurationSection
  package let name: String
  /// One sentence for the printed file and the manual page.
  package let help: String
  /// Whether a reload applies a new value without a restart.
  package let isLive: Bool

  /// The key's value in a configuration, in the form of a file.
  package let text: @Sendable (Configuration) -> String
  let assign: @Sendable (String, inout Configuration) throws(WrongValue) -> Void
  let reset: @Sendable (inout Configuration, _ defaults: Configuration) -> Void

  /// The key with its section, as in messages and on the command line.
  package var fullName: String { section.rawValue + "." + name }

  init<Value>(
    _ section: ConfigurationSection, _ name: String,
    _ place: any WritableKeyPath<Configuration, Value> & Sendable, _ format: ValueFormat<Value>,
    isLive: Bool = true, _ help: String
  ) {
    self.section = section
    self.name = name
    self.help = help
    self.isLive = isLive
    text = { format.text($0[keyPath: place]) }
    assign = { text, configuration throws(WrongValue) in
      configuration[keyPath: place] = try format.parse(text)
    }
    reset = { configuration, defaults in
      configuration[keyPath: place] = defaults[keyPath: place]
    }
  }

  /// The keys of one section, in the order in which they are printed.
  package static func keys(of section: ConfigurationSection) -> [ConfigurationKey] {
    all.filter { $0.section == section }
  }

  /// The key with exactly this name.
  static func key(_ section: ConfigurationSection, _ name: String) -> ConfigurationKey? {
    all.first { $0.section == section && $0.name == name }
  }
}
