// The syntax is that of systemd.syntax(7): `[Section]` lines, `Key=Value` lines, and comments that begin with # or ;.
// Blanks around names and values are ignored. A backslash at the end of a line continues it with the next line that
// is not a comment. The reader works on bytes, one line at a time; at a mistake it adds a message and continues.

import Glibc
internal import ImgdSystem

/// A value for a key, and the place where it was set.
package struct ConfigurationAssignment: Equatable, Sendable {
  /// The beginning of a message: file and line, the name of a variable, or an option.
  let origin: String
  let section: ConfigurationSection
  /// The name of the section, where it is one of several.
  var name: String?
  let key: String
  let value: String
}

/// The beginning of a section that has a name, and the place of the line.
struct SectionOpening: Equatable {
  let origin: String
  let section: ConfigurationSection
  let name: String
}

/// The assignments of a configuration file, and messages about its mistakes.
struct ConfigurationFile {
  private(set) var assignments: [ConfigurationAssignment] = []
  private(set) var openings: [SectionOpening] = []
  private(set) var problems: [String] = []

  private enum Place {
    case beforeAnySection
    case inside(ConfigurationSection, name: String?)
    case insideUnknownSection
    /// Its lines are for another program to read.
    case insideForeignSection
  }

  private let path: String
  private let sections: [ConfigurationSection]
  private let example: String
  private var place = Place.beforeAnySection
  private var continued: (line: Int, bytes: [UInt8])?

  /// Reads a file for a program with these sections; messages show one of them as an example.
  init(path: String, bytes: [UInt8], sections: [ConfigurationSection], example: ConfigurationSection) {
    self.path = path
    self.sections = sections
    self.example = "[\(example.rawValue)]"
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() { readLine(trimmed(line), number: index + 1) }
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
    let statement = trimmed(bytes[...])
    if case .insideForeignSection = place, statement.first != UInt8(ascii: "[") { return }
    guard let text = String(validating: statement, as: UTF8.self) else {
      problems.append("\(origin): the line is not UTF-8")
      return
    }
    if text.isEmpty { return }
    if text.hasPrefix("[") { readSection(text, origin) } else { readAssignment(text, origin) }
  }

  private mutating func readSection(_ text: String, _ origin: String) {
    place = .insideUnknownSection
    guard text.hasSuffix("]"), text.utf8.count > 2 else {
      problems.append("\(origin): '\(shown(text))' is not a section: write \(example), for example")
      return
    }
    let title = String(text.dropFirst().dropLast())
    guard let (section, name) = ConfigurationSection.parse(title) else {
      problems.append("\(origin): \(ConfigurationSection.unknown(title))")
      return
    }
    guard sections.contains(section) else {
      place = .insideForeignSection
      return
    }
    place = .inside(section, name: name)
    if let name { openings.append(SectionOpening(origin: origin, section: section, name: name)) }
  }

  private mutating func readAssignment(_ text: String, _ origin: String) {
    // The message about the unknown section covers all lines in it.
    if case .insideUnknownSection = place { return }
    guard case .inside(let section, let name) = place else {
      problems.append("\(origin): '\(shown(text))' comes before any section: write \(example), for example, above it")
      return
    }
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      problems.append("\(origin): '\(shown(text))' is not an assignment: write Key=Value")
      return
    }
    let value = text.utf8[text.utf8.index(after: equals)...]
    assignments.append(
      ConfigurationAssignment(
        origin: origin, section: section, name: name, key: blanksTrimmed(text.utf8[..<equals]),
        value: blanksTrimmed(value)))
  }
}

private func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> { bytes.trimmed(of: " \t\r") }

private func blanksTrimmed(_ text: Substring.UTF8View) -> String {
  String(decoding: trimmed(Array(text)[...]), as: UTF8.self)
}

/// A longer file is not a configuration file.
private let longestFile = 1 << 20

/// The contents of a file; nil if it does not exist.
func readWholeFile(_ path: String) throws(SystemFailure) -> [UInt8]? {
  do throws(SystemFailure) {
    let bytes = try FileDescriptor(opening: path, O_RDONLY).rest(longestFile + 1, of: path)
    guard bytes.count <= longestFile else { throw SystemFailure("read", path, errno: EFBIG) }
    return bytes
  } catch {
    if error.errno == ENOENT || error.errno == ENOTDIR { return nil }
    throw error
  }
}

/// The names in a directory that end in a suffix, in byte order, hidden ones left out; none without a directory.
func namesInDirectory(_ path: String, suffix: String) throws(SystemFailure) -> [String] {
  guard let directory = unsafe opendir(path) else {
    if errno == ENOENT || errno == ENOTDIR { return [] }
    throw SystemFailure("opendir", path)
  }
  defer { unsafe closedir(directory) }
  var names: [String] = []
  // The entry is valid until the next call, and its name ends in a zero.
  while let entry = unsafe readdir(directory) {
    let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
      unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
    }
    if name.hasSuffix(suffix), !name.hasPrefix(".") { names.append(name) }
  }
  return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}
