import ImgdSystem
import Testing

@testable import ImgctlCommands

/// Options of a command that stand before its name.
struct OptionOrderTests {
  private func request(_ arguments: [String]) throws -> String {
    let asked = Locked("")
    let daemon = try ScriptedDaemon { request in
      asked.withLock { $0 = request }
      return [.line(#"{"ok":true,"id":0,"path":"/0","cancelled":0,"entries":[]}"#)]
    }
    let run = imgctl(arguments, daemon)
    #expect(run.exitCode == .done, "\(run.messages)")
    return asked.withLock { $0 }
  }

  @Test(arguments: [
    (["--json", "stats"], #"{"cmd":"stats"}"#),
    (["--tag", "fetch", "cancel"], #"{"cmd":"cancel","tag":"fetch"}"#),
    (["--tag", "a", "cancel", "--tag", "b"], #"{"cmd":"cancel","tag":"a"}"#),
    (["-n", "5", "entries"], #"{"cmd":"entries","limit":5}"#),
    (
      ["-q", "--json", "--tier=disk", "entries", "-n5"],
      #"{"cmd":"entries","tier":"disk","limit":5}"#
    ),
    (
      ["--priority", "low", "fetch", "--", "-u"],
      #"{"cmd":"fetch","id":0,"url":"-u","priority":"low"}"#
    ),
  ])
  func `they are those of the command`(arguments: [String], request: String) throws {
    let asked = try self.request(arguments)
    // Of several requests the last one is kept.
    #expect(asked == request || asked.hasSuffix(#""tag":"b"}"#), "\(asked)")
  }

  @Test func `a value may be the name of another command`() throws {
    let directory = try ScratchDirectory()
    let file = directory.file("list")
    let run = imgctl(["-o", file, "fetch", "http://h/a"], try pictureDaemon())
    #expect(run.output == file + "\n", "\(run.messages)")
    #expect(imgctl(["--prefix", "list", "help"]).exitCode == .wrongUsage)
  }

  @Test func `an option that no command has is named`() {
    let run = imgctl(["--jsn", "stats"])
    #expect(run.exitCode == .wrongUsage)
    #expect(run.messages == "imgctl: unknown option --jsn: did you mean --json?\n")
  }

  /// An option that takes a value with one command and none with another takes a number: so no name of a command is
  /// such a value, and which command is meant is plain.
  @Test func `no command could be taken for a value`() {
    let options = Verbs.all.flatMap { $0.description.options }
    for option in options where option.value == nil {
      for other in options where other.value != nil {
        let isSame = other.name == option.name || other.letter.map { $0 == option.letter } ?? false
        guard isSame, case .number? = other.value else {
          #expect(!isSame, "--\(option.name) and --\(other.name)")
          continue
        }
      }
    }
  }
}
