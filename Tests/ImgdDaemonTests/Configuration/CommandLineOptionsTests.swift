import ImgdSystem
import Testing

@testable import ImgdProgram
@testable import ImgdDaemon

struct CommandLineOptionsTests {
  @Test(
    arguments: [
      ([], CommandLineOptions.Action.run), (["--check-config"], .checkConfiguration),
      (["--print-config"], .printConfiguration), (["--version"], .version), (["-V"], .version),
      (["--help"], .help), (["-h"], .help), (["--help", "--check-config"], .help),
      (["--check-config", "--print-config"], .printConfiguration),
      (["--check-config", "--version"], .version),
    ] as [([String], CommandLineOptions.Action)])
  func `each action has an option`(arguments: [String], action: CommandLineOptions.Action) throws {
    #expect(try CommandLineOptions.parse(arguments).action == action)
  }

  @Test func `the configuration file is taken from the option`() throws {
    #expect(try CommandLineOptions.parse(["--config", "f"]).configurationFile == "f")
    #expect(try CommandLineOptions.parse(["-cf"]).configurationFile == "f")
    #expect(try CommandLineOptions.parse([]).configurationFile == nil)
  }

  @Test func `settings keep their order and their equals signs`() throws {
    let options = try CommandLineOptions.parse(
      ["--set", "Downloads.UserAgent=a=b.c", "--set=Memory.Capacity="])
    #expect(options.settings.compactMap(\.assignment).map(\.key) == ["UserAgent", "Capacity"])
    #expect(options.settings.compactMap(\.assignment).map(\.value) == ["a=b.c", ""])
  }

  @Test(arguments: [
    (["x"], "unexpected argument 'x': imgd takes only options"),
    (["--config"], "--config needs a value"), (["--config="], "--config needs a file"),
    (["--socket="], "--socket needs a path"),
    (["--cache-directory="], "--cache-directory needs a path"),
    (["--sokcet=x"], "unknown option --sokcet: did you mean --socket?"),
    (["--check-config=1"], "--check-config takes no value, but '1' was given"),
    (
      ["--set", "Memory"],
      "--set 'Memory' is not an assignment: write --set Section.Key=VALUE, "
        + "such as --set Memory.Capacity=200M"
    ),
  ])
  func `wrong arguments are explained in one sentence`(arguments: [String], sentence: String) {
    #expect(throws: UsageProblem(sentence)) { try CommandLineOptions.parse(arguments) }
  }

  @Test(arguments: ["", "=", ".", ".=", "Capacity=1", "Memory=1.5", ".Capacity=1"])
  func `a setting needs section, key and value`(text: String) {
    #expect(throws: UsageProblem.self) { try CommandLineOptions.parse(["--set", text]) }
  }

  @Test func `the help names every option`() {
    for name in [
      "config", "socket", "cache-directory", "set", "check-config", "print-config", "version",
      "help",
    ] {
      #expect(CommandLineOptions.help.contains("--" + name))
    }
  }
}
