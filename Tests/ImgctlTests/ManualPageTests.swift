import Testing

@testable import ImgctlCommands

/// imgctl(1), as far as a program can compare it with imgctl.
private struct ManualPage {
  private let lines: [[Substring]]

  init() throws {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    let bytes = TextFile.content(
      of: root.joined(separator: "/") + "/docs/man/imgctl.1", longest: 1 << 20)
    lines = try #require(bytes).split(separator: "\n").map { $0.split(separator: " ") }
  }

  /// The lines of a section.
  private func section(_ name: String) -> ArraySlice<[Substring]> {
    let start = lines.firstIndex {
      $0.starts(with: [".Sh"]) && $0.dropFirst().joined(separator: " ") == name
    }
    return start.map { lines[($0 + 1)...].prefix { $0[0] != ".Sh" } } ?? []
  }

  /// The commands in the order of the page, each with the options that its paragraph names; those of every command
  /// stand under an empty name.
  var options: [(command: String, options: Set<String>)] {
    var found: [(command: String, options: Set<String>)] = [("", [])]
    var depth = 0
    for line in section("DESCRIPTION") {
      if line[0] == ".Bl" { depth += 1 }
      if line[0] == ".El" { depth -= 1 }
      if depth == 1, line.starts(with: [".It", "Cm"]) { found.append((String(line[2]), [])) }
      found[found.count - 1].options.formUnion(Self.options(in: line))
    }
    return found
  }

  /// The options after each `Fl` of a line, such as `Fl o , -output Ar file`.
  private static func options(in line: [Substring]) -> [String] {
    var names: [String] = []
    var isFlag = false
    for word in line {
      if word == ".Fl" || word == "Fl" {
        isFlag = true
      } else if isFlag, word != ",", word != ";", word != "." {
        // Any other macro ends the names.
        isFlag = word.first?.isUppercase != true || word.count == 1
        if isFlag { names.append("-" + word) }
      }
    }
    return names
  }

  var exitCodes: [Int32] {
    section("EXIT STATUS").compactMap { line in
      line.starts(with: [".It"]) && line.count == 2 ? Int32(line[1]) : nil
    }
  }
}

struct ManualPageTests {
  @Test func `the manual page has every command, in the order of help`() throws {
    let commands = try ManualPage().options.map(\.command).dropFirst()
    #expect(Array(commands) == Verbs.names)
  }

  @Test func `the manual page names the options of each command, and no others`() throws {
    for (command, options) in try ManualPage().options {
      let verb = Verbs.all.first { $0.description.name == command }
      let known = Set((verb?.description.options ?? []).flatMap(\.spellings))
      let general = Set(Invocation.general.flatMap(\.spellings))
      if command.isEmpty {
        #expect(options == general)
      } else {
        #expect(known.subtracting(options) == [], "\(command) has them")
        #expect(options.subtracting(known).subtracting(general) == [], "\(command) lacks them")
      }
    }
  }

  @Test func `the manual page has every exit code`() throws {
    #expect(try ManualPage().exitCodes == ExitCode.allCases.map(\.rawValue))
  }
}
