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
