// Sections of which a configuration may have several, each with a name: `[Origin example.org]`.
//
// Their values are a dictionary in the program's configuration. One table has a row for each key, as for other sections;
// with a name it becomes keys of the whole configuration, and everything that is done with keys is done with these.

/// The name of such a section, in the one form that stands for all its spellings.
package protocol SectionName: Hashable, Sendable {
  init(_ text: String) throws(WrongValue)
  var text: String { get }
}

/// A kind of section that has names.
package struct NamedSections<Program>: Sendable {
  /// A file with more is a mistake.
  private static var most: Int { 1_000 }

  let section: ConfigurationSection
  /// The names that a configuration has, in the order of their bytes.
  let names: @Sendable (Program) -> [String]
  /// The keys of the section with a name.
  let keys: @Sendable (_ name: String) -> [ConfigurationKey<Program>]
  /// Adds a section where there is none with that name, and returns the name in its one form.
  let open: @Sendable (String, inout Program) throws(WrongValue) -> String

  /// `usual` is what a section has whose keys are not set.
  package init<Name: SectionName, Values: Sendable>(
    _ section: ConfigurationSection, _ place: any WritableKeyPath<Program, [Name: Values]> & Sendable, usual: Values,
    _ keys: [ConfigurationKey<Values>]
  ) {
    self.section = section
    names = { program in
      program[keyPath: place].keys.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
    self.keys = { name in
      guard let name = try? Name(name) else { return [] }
      return keys.map { ConfigurationKey($0, of: name, place, usual: usual) }
    }
    open = { text, program throws(WrongValue) in
      let name = try Name(text)
      if program[keyPath: place][name] == nil {
        guard program[keyPath: place].count < Self.most else {
          throw WrongValue("is one too many: write at most \(Self.most) sections of this kind")
        }
        program[keyPath: place][name] = usual
      }
      return name.text
    }
  }
}

extension ConfigurationKey {
  /// A key of the section with a name, as a key of the whole configuration.
  fileprivate init<Name: SectionName, Values: Sendable>(
    _ key: ConfigurationKey<Values>, of name: Name, _ place: any WritableKeyPath<Program, [Name: Values]> & Sendable,
    usual: Values
  ) {
    section = key.section
    title = key.section.title(of: name.text)
    self.name = key.name
    help = key.help
    isLive = key.isLive
    text = { key.text($0[keyPath: place][name] ?? usual) }
    assign = { text, program throws(WrongValue) in
      var values = program[keyPath: place][name] ?? usual
      try key.assign(text, &values)
      program[keyPath: place][name] = values
    }
    reset = { program, defaults in
      var values = program[keyPath: place][name] ?? usual
      key.reset(&values, defaults[keyPath: place][name] ?? usual)
      program[keyPath: place][name] = values
    }
  }
}
