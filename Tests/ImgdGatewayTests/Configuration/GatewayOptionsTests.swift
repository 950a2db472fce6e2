import ImgdSystem
import Testing

@testable import ImgdGateway

struct GatewayOptionsTests {
  @Test(
    arguments: [
      ([], GatewayOptions.Action.run), (["--check-config"], .checkConfiguration),
      (["--print-config"], .printConfiguration), (["-V"], .version), (["-h"], .help),
      (["--help", "--check-config"], .help),
    ] as [([String], GatewayOptions.Action)])
  func `each action has an option`(arguments: [String], action: GatewayOptions.Action) throws {
    #expect(try GatewayOptions.parse(arguments).action == action)
  }

  @Test func `the socket option is that of the daemon`() throws {
    #expect(try GatewayOptions.parse(["--socket", "/s"]).socket == "/s")
    #expect(try GatewayOptions.parse([]).socket == nil)
  }

  @Test(arguments: [
    (["x"], "unexpected argument 'x': imgd-http takes only options"),
    (["--socket="], "--socket needs a path"), (["--config="], "--config needs a file"),
    (["--listen="], "--listen needs a path or localhost:PORT"),
    (["--lisen=x"], "unknown option --lisen: did you mean --listen?"),
    (
      ["--set", "Allow"],
      "--set 'Allow' is not an assignment: write --set Section.Key=VALUE, "
        + "such as --set HTTP-Gateway.Allow=example.org"
    ),
  ])
  func `wrong arguments are explained in one sentence`(arguments: [String], sentence: String) {
    #expect(throws: UsageProblem(sentence)) { try GatewayOptions.parse(arguments) }
  }

  @Test func `the help names every option`() {
    for name in [
      "config", "socket", "listen", "set", "check-config", "print-config", "version", "help",
    ] {
      #expect(GatewayOptions.help.contains("--" + name))
    }
  }
}
