import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The gateway as a command: its output and its exit code.
struct GatewayCommandTests {
  private static let gateway = BuiltProduct.path(of: "imgd-http")

  private func perform(_ arguments: String...) throws -> (code: CInt, output: String) {
    try ChildProcess.run(Self.gateway, arguments)
  }

  @Test func `help and version are printed`() throws {
    let help = try perform("--help")
    #expect(help.code == 0 && help.output.hasPrefix("Usage: imgd-http "))
    let version = try perform("-V")
    #expect(version.code == 0 && version.output.hasPrefix("imgd-http "))
  }

  @Test func `wrong arguments are usage errors`() throws {
    let (code, output) = try perform("--lisen=x")
    #expect(code == EX_USAGE)
    #expect(
      output == """
        imgd-http: error: unknown option --lisen: did you mean --listen?
        imgd-http: --help lists the options

        """)
  }

  @Test func `both programs read a file, and each is silent about the other's mistakes`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let file = directory + "/imgd.conf"
    try write("[HTTP-Gateway]\nRate=often\n[Memory]\nCapacity=much\n", to: file)
    let gateway = try perform("-c", file, "--check-config")
    #expect(gateway.code == EX_CONFIG)
    #expect(
      gateway.output
        == "imgd-http: error: \(file):2: HTTP-Gateway.Rate=often is not a number: write 0 to 1000000\n"
    )
    let daemon = try ChildProcess.run(
      BuiltProduct.path(of: "imgd"), ["-c", file, "--check-config"])
    #expect(daemon.code == EX_CONFIG && daemon.output.hasPrefix("imgd: error: \(file):4: "))
    #expect(!daemon.output.contains("Rate"))
  }

  @Test func `the configuration that it prints it reads`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let printed = try perform(
      "-c", "/dev/null", "--set", "HTTP-Gateway.Presets=thumb:300x200:cover", "--print-config")
    #expect(printed.code == 0 && printed.output.hasPrefix("[HTTP-Gateway]\n"))
    try write(printed.output, to: directory + "/f")
    #expect(try perform("-c", directory + "/f", "--print-config") == printed)
  }

  @Test func `a place that other machines reach is a configuration error`() throws {
    let (code, output) = try perform("-c", "/dev/null", "--listen", "0.0.0.0:8080")
    #expect(code == EX_CONFIG)
    #expect(output.contains("would be open to other machines"), "\(output)")
  }

  @Test(arguments: ["imgd", "imgd-http"])
  func `a log of JSON has an object a line, on standard output`(program: String) throws {
    let (code, output) = try ChildProcess.run(
      "/bin/sh", ["-c", "IMGD_LOG=json \"$0\" --set 'A\"b.c=1' 2>/dev/null", BuiltProduct.path(of: program)])
    #expect(code == EX_CONFIG)
    let line = try JSONValue(parsing: output)
    #expect(line["level"] == "error" && line["event"] == "start")
    #expect(line["program"]?.string == program && line["time"]?.string?.hasSuffix("Z") == true)
    #expect(line["message"]?.string?.hasPrefix("--set: [A\"b] is not a section") == true)
    let other = try ChildProcess.run("/bin/sh", ["-c", "IMGD_LOG=xml exec \"$0\"", BuiltProduct.path(of: program)])
    #expect(other.code == EX_USAGE && other.output.contains("IMGD_LOG=xml is no form of a log: write text or json"))
  }

  @Test func `a key that cannot be read is found before the start`() throws {
    let (code, output) = try perform(
      "-c", "/dev/null", "--check-config", "--set", "HTTP-Gateway.KeyFile=/nowhere/key")
    #expect(code == EX_CONFIG && output.contains("KeyFile=/nowhere/key cannot be read"))
  }

  @Test func `a directory that is not there is a socket that cannot be made`() throws {
    let (code, output) = try perform("-c", "/dev/null", "--listen", "/nowhere/at/all/http.sock")
    #expect(code == EX_CANTCREAT, "\(output)")
  }
}
