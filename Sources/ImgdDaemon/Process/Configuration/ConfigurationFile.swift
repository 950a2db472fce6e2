// The syntax is that of systemd.syntax(7): `[Section]` lines, `Key=Value` lines, comments that begin
// with # or ;, blanks around names and values ignored, and a backslash at the end of a line that
// continues it with the next line that is no comment. The reader works on bytes, a line at a time,
// and never stops at a mistake: it notes it and goes on.

import ImgdSystem

/// One value given to one key, and by whom.
struct ConfigurationAssignment: Equatable {
  /// What a message begins with: file and line, a variable's name, an option.
  let origin: String
  let section: ConfigurationSection
  let key: String
  let value: String
}

/// What the text of a configuration file says, with the lines that say nothing sensible.
struct ConfigurationFile {
  private(set) var assignments: [ConfigurationAssignment] = []
  private(set) var problems: [String] = []

  private enum Place {
    case beforeAnySection
    case inside(ConfigurationSection)
    case insideUnknownSection
  }

  private let path: String
  private var place = Place.beforeAnySection
  private var continued: (line: Int, bytes: [UInt8])?

  init(path: String, bytes: [UInt8]) {
    self.path = path
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      readLine(trimmed(line), number: index + 1)
    }
    finishStatement()
  }

  private mutating func readLine(_ line: ArraySlice<UInt8>, number: Int) {
    if line.first == UInt8(ascii: "#") || line.first == UInt8(ascii: ";") { return }
    let goesOn = line.last == UInt8(ascii: "\\")
    var statement = continued.take() ?? (number, [])
    statement.bytes += goesOn ? line.dropLast() : line
    if goesOn { statement.bytes.append(UInt8(ascii: " ")) }
    continued = statement
    if !goesOn { finishStatement() }
  }

  private mutating func finishStatement() {
    guard let (line, bytes) = continued else { return }
    continued = nil
    let origin = "\(path):\(line)"
    guard let text = String(validating: trimmed(bytes[...]), as: UTF8.self) else {
      problems.append("\(origin): the line is not UTF-8")
      return
    }
    if text.isEmpty { return }
    if text.hasPrefix("[") { readSection(text, origin) } else { readAssignment(text, origin) }
  }

  private mutating func readSection(_ text: String, _ origin: String) {
    place = .insideUnknownSection
    guard text.hasSuffix("]"), text.utf8.count > 2 else {
      problems.append("\(origin): '\(shown(text))' is no section: write one as [Memory]")
      return
    }
    let name = String(text.dropFirst().dropLast())
    guard let section = ConfigurationSection(rawValue: name) else {
      problems.append("\(origin): \(unknownSection(name))")
      return
    }
    place = .inside(section)
  }

  private mutating func readAssignment(_ text: String, _ origin: String) {
    // What stands in a section that does not exist was complained about with the section.
    if case .insideUnknownSection = place { return }
    guard case .inside(let section) = place else {
      problems.append("\(origin): '\(shown(text))' stands before any section: write [Memory] first")
      return
    }
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      problems.append("\(origin): '\(shown(text))' is no assignment: write Key=Value")
      return
    }
    let value = text.utf8[text.utf8.index(after: equals)...]
    assignments.append(
      ConfigurationAssignment(
        origin: origin, section: section, key: blanksTrimmed(text.utf8[..<equals]),
        value: blanksTrimmed(value)))
  }
}

/// Says that a section does not exist, and which one does.
func unknownSection(_ name: String) -> String {
  if let nearest = nearestName(to: name, among: ConfigurationSection.allCases.map(\.rawValue)) {
    return "[\(shown(name))] is not a section: did you mean [\(nearest)]?"
  }
  let names = ConfigurationSection.allCases.map { "[\($0.rawValue)]" }
  return "[\(shown(name))] is not a section: there is \(alternatives(names))"
}

private func isBlank(_ byte: UInt8) -> Bool {
  byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
}

private func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
  let start = bytes.drop(while: isBlank)
  let end = start.lastIndex { !isBlank($0) }
  return end.map { start[...$0] } ?? []
}

private func blanksTrimmed(_ text: Substring.UTF8View) -> String {
  String(decoding: trimmed(Array(text)[...]), as: UTF8.self)
}
