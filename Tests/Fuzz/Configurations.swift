@testable import ImgdDaemon
@testable import ImgdGateway
@testable import ImgdProgram
@testable import ImgdSystem
@testable import ImgdText
@testable import ImgdTransfer

extension FuzzTarget {
  /// Files of an operator: a configuration that is taken can be printed and read again, and every mistake is a line; and
  /// the small files that keys name.
  static let configuration = FuzzTarget(
    "configuration",
    of: [
      "ImgdProgram/Configuration", "ImgdDaemon/Process/Configuration/DaemonFormats.swift",
      "ImgdDaemon/Process/Configuration/OriginKeys.swift", "ImgdDaemon/Process/Configuration/FleetFormats.swift",
      "ImgdDaemon/Process/Configuration/HeaderFile.swift", "ImgdTransfer/Signing/CredentialsFile.swift",
      "ImgdGateway/Process/GatewayConfiguration.swift", "ImgdGateway/Requests/SigningKeys.swift",
    ]
  ) { bytes in
    var choices = Choices(bytes)
    let kind = choices.byte()
    let rest = Array(choices.rest)
    switch kind % 4 {
    case 0: checkConfiguration(rest, over: Configuration())
    case 1: checkConfiguration(rest, over: GatewayConfiguration())
    case 2: checkSettings(&choices)
    default: checkSmallFiles(rest)
    }
  }

  private static func checkConfiguration<Program: ProgramConfiguration>(_ bytes: [UInt8], over defaults: Program) {
    var draft = ConfigurationDraft(defaults: defaults)
    draft.apply(path: "f", bytes)
    do throws(ConfigurationProblems) {
      let read = try draft.finished()
      let printed = read.printed()
      var again = ConfigurationDraft(defaults: defaults)
      again.apply(path: "g", Array(printed.utf8))
      let second: Program
      do throws(ConfigurationProblems) { second = try again.finished() } catch {
        fatalError("what is printed is read: \(error)")
      }
      expect(second == read, "a configuration survives being printed and read")
      expect(read.changes(to: second).isEmpty, "and nothing of it has changed")
    } catch {
      expect(!error.lines.isEmpty, "a refusal has a reason")
      expect(error.lines.allSatisfy { line in !line.utf8.contains { $0 < 0x20 } }, "a mistake is one line")
    }
  }

  private static func checkSettings(_ choices: inout Choices) {
    for text in choices.lines() {
      if let setting = try? CommandLineSetting(text, for: Configuration.self), let assignment = setting.assignment {
        var draft = ConfigurationDraft(defaults: Configuration())
        draft.apply(assignment)
        _ = try? draft.finished()
      }
      // The first byte chooses a key.
      let key = Configuration.keys[Int(text.utf8.first ?? 0) % Configuration.keys.count]
      for text in [text, String(text.unicodeScalars.dropFirst())] {
        var configuration = Configuration()
        guard (try? key.assign(text, &configuration)) != nil else { continue }
        let written = key.text(configuration)
        var again = Configuration()
        if written.isEmpty { continue }
        guard (try? key.assign(written, &again)) != nil else {
          fatalError("the value of \(key.fullName) can be read again: \(written)")
        }
        expect(key.text(again) == written, "\(key.fullName)=\(written) has one spelling, not \(key.text(again))")
      }
    }
  }

  private static func checkSmallFiles(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let credentials = try? CredentialsFile.credentials(in: text, named: "f") {
      expect(!credentials.accessKey.isEmpty && !credentials.secret.isEmpty, "credentials are whole")
      expect(credentials.secret.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "a secret is visible")
    }
    if let fields = try? HeaderFile.fields(in: bytes, named: "f") {
      expect(!fields.contains { $0.value.utf8.contains { $0 < 0x20 && $0 != 0x09 } }, "a value is one line")
      expect(Set(fields.map { $0.name.lowercased() }).count == fields.count, "each field has a name of its own")
    }
    if let keys = try? SigningKeys(lines: bytes) {
      expect(keys.verifies(keys.sign(text), of: text), "a key verifies what it has signed")
      expect(!keys.verifies(keys.sign(text), of: text + "x"), "and nothing else")
    }
    if let token = try? PurgeToken(bytes) {
      let line = String(decoding: bytes.trimmed(of: " \t\r\n"), as: UTF8.self)
      expect(token.isIn(["Bearer \(line)"]) && !token.isIn(["Bearer \(line)x"]), "a token is itself alone")
    }
  }
}

extension [UInt8] {
  fileprivate func trimmed(of blanks: String) -> ArraySlice<UInt8> {
    var rest = drop { blanks.utf8.contains($0) }
    while let last = rest.last, blanks.utf8.contains(last) { rest.removeLast() }
    return rest
  }
}
