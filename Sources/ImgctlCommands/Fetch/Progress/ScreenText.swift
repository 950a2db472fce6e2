/// Text as wide as a terminal shows it.
enum ScreenText {
  /// The columns that a text takes at most: characters of the scripts that are shown wide count twice.
  static func width(_ text: String) -> Int {
    text.unicodeScalars.reduce(0) { $0 + width($1) }
  }

  /// The beginning of a text, as much as fits.
  static func cut(_ text: String, _ columns: Int) -> String {
    guard width(text) > columns else { return text }
    return prefix(text.unicodeScalars, columns - 1) + "…"
  }

  /// A text without its middle, if it is too wide: a URL is known by its host and its last part.
  static func shortened(_ text: String, _ columns: Int) -> String {
    guard width(text) > columns else { return text }
    let room = max(0, columns - 1)
    let end = prefix(text.unicodeScalars.reversed(), room - room / 2)
    return prefix(text.unicodeScalars, room / 2) + "…" + String(end.unicodeScalars.reversed())
  }

  private static func prefix(_ scalars: some Sequence<Unicode.Scalar>, _ columns: Int) -> String {
    var text = String.UnicodeScalarView()
    var room = columns
    for scalar in scalars {
      room -= width(scalar)
      guard room >= 0 else { break }
      text.append(scalar)
    }
    return String(text)
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    scalar.value >= 0x1100 && scalar != "…" ? 2 : 1
  }
}

extension String {
  fileprivate init(_ scalars: ReversedCollection<String.UnicodeScalarView>) {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    self = String(text)
  }
}
