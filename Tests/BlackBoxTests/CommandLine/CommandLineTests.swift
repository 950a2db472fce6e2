import Glibc
import ImgdTestSupport
import Testing

/// The daemon as a command: its output and its exit code.
struct CommandLineTests {
  static let imgd = BuiltProduct.path(of: "imgd")

  @Test(arguments: [
    ["--nonsense"], ["-z"], ["extra"], ["--socket"], ["--socket="], ["--set", "Memory"],
    ["--set", "Capacity=1M"], ["--check-config=yes"], ["--c"], ["--config"],
  ])
  func `wrong arguments are usage errors`(_ arguments: [String]) throws {
    let (code, output) = try ChildProcess.run(Self.imgd, arguments)
    #expect(code == EX_USAGE)
    #expect(output.hasPrefix("imgd: error: "))
    #expect(output.contains("--help"))
    #expect(output.split(separator: "\n").filter { $0.contains("error:") }.count == 1)
  }

  @Test func `an unknown option is one line, with where the options are listed`() throws {
    let (_, output) = try ChildProcess.run(Self.imgd, ["--nonsense"])
    #expect(output == "imgd: error: unknown option --nonsense: --help lists the options\n")
  }

  @Test func `a mistyped option is answered with the right one`() throws {
    let (code, output) = try ChildProcess.run(Self.imgd, ["--sockte", "/tmp/x"])
    #expect(code == EX_USAGE)
    #expect(output.contains("did you mean --socket?"))
  }

  @Test func `help and version are printed`() throws {
    let help = try ChildProcess.run(Self.imgd, ["--help"])
    #expect(help.code == 0)
    #expect(help.output.hasPrefix("Usage: imgd "))
    for option in ["--config", "--socket", "--set", "--check-config", "--print-config"] {
      #expect(help.output.contains(option))
    }
    let version = try ChildProcess.run(Self.imgd, ["--version"])
    #expect(version.code == 0)
    #expect(version.output.hasPrefix("imgd "))
    #expect(version.output.split(separator: "\n").count == 1)
    #expect(try ChildProcess.run(Self.imgd, ["-h"]).output == help.output)
    #expect(try ChildProcess.run(Self.imgd, ["-V"]).output == version.output)
  }

  @Test(arguments: [
    ("Memory.Capacity=lots", "Memory.Capacity=lots"),
    ("Memory.Capacty=1M", "did you mean Memory.Capacity?"),
    ("Memroy.Capacity=1M", "did you mean [Memory]?"),
    ("Memory.Preferred=200M", "at most"),
    ("Downloads.MaxActive=0", "Downloads.MaxActive=0"),
    ("Downloads.Order=random", "fifo"),
    ("Downloads.Timeout=-1s", "Downloads.Timeout=-1s"),
    ("Network.Deny=10.0.0.0/33", "Network.Deny=10.0.0.0/33"),
    ("Control.Socket=relative", "Control.Socket=relative"),
  ])
  func `a wrong setting is a configuration error`(setting: String, hint: String) throws {
    for mode in [["--check-config"], ["--print-config"], []] {
      let (code, output) = try ChildProcess.run(
        Self.imgd, ["--config", "/dev/null", "--set", setting] + mode)
      #expect(code == EX_CONFIG)
      #expect(output.contains(hint), "\(output)")
    }
  }

  @Test func `a wrong file is reported with every line and its correction`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let path = directory + "/imgd.conf"
    try write(
      """
      # comment
      [Memory]
      Capacity=many
      Capasity=1M
      [Nonsense]
      [Downloads]
      just words

      """, to: path)
    let (code, output) = try ChildProcess.run(Self.imgd, ["--config", path, "--check-config"])
    #expect(code == EX_CONFIG)
    for expected in [
      "\(path):3: Memory.Capacity=many", "\(path):4: Memory.Capasity is not a key: did you mean",
      "\(path):5: [Nonsense] is not a section", "\(path):7: ",
    ] { #expect(output.contains(expected), "\(output)") }
  }

  @Test func `a missing file is a configuration error`() throws {
    let (code, output) = try ChildProcess.run(
      Self.imgd, ["--config", "/nonexistent/imgd.conf", "--check-config"])
    #expect(code == EX_CONFIG)
    #expect(output.contains("/nonexistent/imgd.conf"))
  }

  @Test(arguments: [("imgd.conf", "Private=direct"), ("private-deny.conf", "Private=deny")])
  func `a configuration that is installed can be used`(name: String, setting: String) throws {
    let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
    let (code, output) = try ChildProcess.run(
      Self.imgd, ["--config", root + "/systemd/" + name, "--print-config"])
    #expect(code == 0)
    #expect(output.contains("\n\(setting)\n"))
  }

  @Test func `a printed configuration is read back the same`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let path = directory + "/imgd.conf"
    let settings = [
      "--set", "Memory.Capacity=123M", "--set", "Downloads.Order=lifo",
      "--set", "Network.Deny=10.0.0.0/8 fd00::/8", "--set", "Downloads.Timeout=1min 5s",
      "--set", "Memory.MaxEntry=10%", "--set", "Downloads.UserAgent=a b # c",
    ]
    let first = try ChildProcess.run(
      Self.imgd, ["--config", "/dev/null", "--print-config"] + settings)
    #expect(first.code == 0)
    try write(first.output, to: path)
    let check = try ChildProcess.run(Self.imgd, ["--config", path, "--check-config"])
    #expect(check.code == 0, "\(check.output)")
    let second = try ChildProcess.run(Self.imgd, ["--config", path, "--print-config"])
    #expect(second.output == first.output)
    #expect(second.output.contains("Capacity=123M"))
  }

  @Test func `the command line overrides the environment, which overrides the file`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let path = directory + "/imgd.conf"
    try write("[Downloads]\nMaxActive=1\nMaxPerHost=1\nRetries=7\n", to: path)
    let (code, output) = try ChildProcess.run(
      Self.imgd, ["--config", path, "--print-config", "--set", "Downloads.MaxActive=3"],
      environment: ["IMGD_DOWNLOADS_MAXACTIVE=2", "IMGD_DOWNLOADS_MAXPERHOST=2"])
    #expect(code == 0)
    for line in ["MaxActive=3", "MaxPerHost=2", "Retries=7"] { #expect(output.contains(line)) }
  }

  @Test func `a wrong variable is named`() throws {
    let (code, output) = try ChildProcess.run(
      Self.imgd, ["--config", "/dev/null", "--check-config"],
      environment: ["IMGD_MEMORY_CAPACITY=lots"])
    #expect(code == EX_CONFIG)
    #expect(output.contains("IMGD_MEMORY_CAPACITY: Memory.Capacity=lots"))
  }
}
