import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// `imgctl` as people and scripts use it, against a daemon and an origin.
struct ImgctlTests {
  private static let program = BuiltProduct.path(of: "imgctl")

  private let origin: OriginServer
  private let daemon: DaemonProcess
  private let directory: Scratch

  init() throws {
    origin = try OriginServer()
    daemon = try DaemonProcess(settings: ["Downloads.Retries=0", "Disk.Capacity=150M"])
    directory = try Scratch()
    origin.plan("/a.png", .picture(Self.picture))
  }

  private static let picture = TestPicture.png(bytes: 3_000, seed: 1)

  final class Scratch: Sendable {
    let path: String
    init() throws { path = try TemporaryDirectory.make() }
    deinit { TemporaryDirectory.remove(path) }
  }

  private func imgctl(_ arguments: String...) throws -> (code: CInt, output: String) {
    try ChildProcess.run(Self.program, ["--socket", daemon.socket] + arguments)
  }

  private func shell(_ script: String) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      "/bin/sh", ["-c", script],
      environment: ["IMGD_SOCKET=\(daemon.socket)", "PATH=/usr/bin:/bin", "imgctl=\(Self.program)"])
  }

  // MARK: fetch

  @Test func `a picture is a file of the daemon's`() throws {
    let (code, output) = try imgctl("fetch", origin.url("/a.png"))
    #expect(code == 0)
    let path = String(output.dropLast())
    #expect(path.hasPrefix(daemon.cacheDirectory + "/"))
    #expect(path.hasSuffix(".png"))
    #expect(readBytes(path) == Self.picture)
    #expect(try imgctl("fetch", origin.url("/a.png")).output == output)
    #expect(origin.requests("/a.png").count == 1)
  }

  @Test func `a picture without a file has no line, and is written all the same`() throws {
    let url = origin.url("/a.png")
    for hint in [["--cache", "no-store"], ["-H", "Authorization: Bearer x"]] {
      let nowhere = try shell(
        "p=$($imgctl fetch '\(url)' '\(hint[0])' '\(hint[1])' 2>/dev/null); echo \"$?[$p]\"")
      #expect(nowhere.output == "12[]\n")
      let file = directory.path + "/" + hint[0]
      let written = try ChildProcess.run(
        Self.program, ["--socket", daemon.socket, "fetch", url, "-o", file] + hint)
      #expect(written.code == 0, "\(written.output)")
      #expect(readBytes(file) == Self.picture)
    }
    let described = try imgctl("fetch", url, "--cache", "no-store", "--as", "none")
    #expect(described.output == "\(url): png 16x16 3000 bytes (network)\n")
  }

  @Test func `a picture on disk is copied to its target`() throws {
    let path = directory.path + "/out.png"
    _ = try imgctl("fetch", origin.url("/a.png"))
    try daemon.restart()
    #expect(try imgctl("fetch", origin.url("/a.png"), "-o", path).code == 0)
    #expect(readBytes(path) == Self.picture)
    try daemon.restart()
    let piped = try shell("$imgctl fetch \(origin.url("/a.png")) -o - | cmp - \(path)")
    #expect(piped.code == 0, "\(piped.output)")
    #expect(origin.requests("/a.png").count == 1)
  }

  @Test func `a purge of one tier keeps the other`() throws {
    let url = origin.url("/a.png")
    _ = try imgctl("fetch", url)
    let disk = try imgctl("purge", "--tier", "disk").output
    #expect(disk.hasPrefix("removed from memory: 0 entries, 0 bytes; disk: 1 entry, "), "\(disk)")
    let memory = try imgctl("purge", "--tier", "memory").output
    #expect(memory.hasPrefix("removed from memory: 1 entry, "), "\(memory)")
    #expect(memory.hasSuffix("; disk: 0 entries, 0 bytes\n"), "\(memory)")
    #expect(try imgctl("fetch", url, "--cache", "only-if-cached").code == 6)
  }

  @Test func `the table of counters contains the disk tier`() throws {
    _ = try imgctl("fetch", origin.url("/a.png"))
    let table = try imgctl("stats").output.split(separator: "\n")
    let part = table.drop { $0 != "disk" }.dropFirst().prefix { $0.hasPrefix("  ") }
    let rows = part.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    for row in ["entries 1", "insertions 1", "write_errors 0", "corrupt 0", "state ok"] {
      #expect(rows.contains(row), "\(rows)")
    }
    #expect(part.contains { $0.contains("capacity") && $0.hasSuffix("  150M") }, "\(part)")
  }

  @Test func `a picture is written into a file`() throws {
    let path = directory.path + "/out.png"
    try write("old", to: path)
    #expect(try imgctl("fetch", origin.url("/a.png"), "-o", path).code == 11)
    #expect(read(path) == "old")
    let (code, output) = try imgctl("fetch", origin.url("/a.png"), "-o", path, "--force")
    #expect(code == 0)
    #expect(output == path + "\n")
    #expect(readBytes(path) == Self.picture)
  }

  @Test func `pictures are written into a directory`() throws {
    origin.plan("/sub/a.png", .picture(TestPicture.png(bytes: 2_000)))
    origin.plan("/b?size=2", .picture(TestPicture.jpeg(bytes: 2_000), type: "image/jpeg"))
    let (code, output) = try imgctl(
      "fetch", origin.url("/a.png"), origin.url("/sub/a.png"), origin.url("/b?size=2"), "-o",
      directory.path)
    #expect(code == 0)
    let paths = output.split(separator: "\n").map(String.init)
    #expect(Set(paths).count == 3)
    for path in paths {
      #expect(path.hasPrefix(directory.path + "/"))
      #expect(access(path, R_OK) == 0)
    }
    #expect(paths.filter { $0.hasSuffix(".jpg") || $0.hasSuffix(".jpeg") }.count == 1)
  }

  @Test func `a picture is written to standard output`() throws {
    let (code, output) = try shell("$imgctl fetch \(origin.url("/a.png")) -o - | sha1sum; ")
    #expect(code == 0)
    try write(Self.picture, to: directory.path + "/expected")
    #expect(output == (try shell("sha1sum < \(directory.path)/expected").output))
  }

  @Test func `a target that is not a file is written into and not replaced`() throws {
    let pipe = directory.path + "/pipe"
    mkfifo(pipe, 0o600)
    let (code, output) = try shell(
      "sha1sum < \(pipe) & $imgctl fetch \(origin.url("/a.png")) -o \(pipe) > /dev/null; "
        + "code=$?; [ -p \(pipe) ] || echo replaced > \(pipe).note; wait; exit $code")
    #expect(code == 0)
    #expect(read(pipe + ".note") == nil)
    try write(Self.picture, to: directory.path + "/expected")
    #expect(output == (try shell("sha1sum < \(directory.path)/expected").output))
  }

  @Test func `the daemon's answers are printed as JSON`() throws {
    let (code, output) = try imgctl("fetch", origin.url("/a.png"), "--json")
    #expect(code == 0)
    let line = try JSONValue(parsing: String(output.dropLast()))
    #expect(line["ok"]?.bool == true)
    #expect(line["bytes"]?.integer == 3_000)
    #expect(line["url"]?.string == origin.url("/a.png") && line["id"] == nil)
  }

  @Test func `several URLs and a list on standard input are fetched`() throws {
    for number in 0..<300 {
      origin.plan("/n\(number).png", .picture(TestPicture.png(bytes: 500, seed: UInt64(number))))
    }
    let list = (0..<300).map { origin.url("/n\($0).png") }.joined(separator: "\r\n")
    try write("# pictures\n\n" + list + "\n", to: directory.path + "/list")
    let (code, output) = try shell("$imgctl fetch - --json < \(directory.path)/list")
    #expect(code == 0)
    #expect(output.split(separator: "\n").count == 300)
    let two = try imgctl("fetch", origin.url("/a.png"), origin.url("/n1.png"))
    #expect(two.code == 0)
    #expect(two.output.split(separator: "\n").count == 2)
  }

  @Test func `options reach the origin`() throws {
    origin.plan("/echo", .echo)
    let (code, _) = try imgctl(
      "fetch", origin.url("/echo"), "--header", "X-Test: yes", "--identifier", "i", "--tag", "t",
      "--priority", "high", "--timeout", "5s", "--max-bytes", "1M", "--cache", "reload")
    #expect(code == 8)
    #expect(origin.requests("/echo").first?.header("x-test") == "yes")
  }

  // MARK: Exit codes

  @Test func `each failure has an exit code of its own`() throws {
    origin.plan("/html.png", .picture(Array("<html>".utf8)))
    origin.plan("/hangs", .silence)
    origin.plan("/nowhere", .status(404))
    let url = origin.url("/a.png")
    for (arguments, code) in [
      (["fetch", origin.url("/nowhere")], 9),
      (["fetch", "nonsense"], 10), (["fetch", "http://127.0.0.1:1/a.png"], 75),
      (["fetch"], 2), ([], 2), (["fetsh", url], 2), (["fetch", url, "--nonsense"], 2),
      (["fetch", url, "--timeout", "soon"], 2), (["purge"], 2), (["cancel"], 2),
      (["ping", "me"], 2), (["fetch", url, url, "-o", directory.path + "/one"], 2),
      (["fetch", origin.url("/hangs"), "--timeout", "100ms"], 5),
      (["fetch", url, "--cache", "only-if-cached"], 6),
      (["fetch", "file:///etc/passwd"], 7),
      (["fetch", "http://169.254.169.254/"], 7),
      (["fetch", origin.url("/html.png")], 8),
      (["fetch", url], 0),
      (["fetch", url, origin.url("/html.png")], 8),
      (["fetch", origin.url("/nowhere"), origin.url("/html.png")], 1),
      (["fetch", url, "-o", "/nonexistent/file"], 1),
    ] as [([String], CInt)] {
      let outcome = try ChildProcess.run(Self.program, ["--socket", daemon.socket] + arguments)
      #expect(outcome.code == code, "\(arguments): \(outcome.output)")
      if code != 0 { #expect(outcome.output.contains("imgctl: "), "\(arguments)") }
    }
  }

  @Test func `a missing daemon is unreachable`() throws {
    for socket in [directory.path + "/none", "/dev/null"] {
      let (code, output) = try ChildProcess.run(Self.program, ["--socket", socket, "ping"])
      #expect(code == 3)
      #expect(output.contains(socket))
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can become somebody else"))
  func `a user without access is told so`() throws {
    chmod(daemon.socket, 0o600)
    chmod(daemon.directory, 0o755)
    let copy = directory.path + "/imgctl"
    chmod(directory.path, 0o755)
    _ = try shell("cp \(Self.program) \(copy) && chmod 755 \(copy)")
    let (code, output) = try ChildProcess.run(
      "/usr/bin/setpriv",
      [
        "--reuid", "65534", "--regid", "65534", "--clear-groups", copy, "--socket", daemon.socket,
        "ping",
      ])
    #expect(code == 4, "\(output)")
  }

  @Test func `Control-C ends the command and its fetch`() throws {
    origin.plan("/hangs", .silence)
    let pid = try ChildProcess.spawn(
      Self.program, ["--socket", daemon.socket, "fetch", origin.url("/hangs")])
    origin.waitForRequests("/hangs")
    kill(pid, SIGINT)
    #expect(ChildProcess.wait(pid) == 130)
    #expect(origin.waitForOpenConnections(0))
  }

  @Test func `a daemon that closes the connection is unreachable`() throws {
    origin.plan("/hangs", .silence)
    let pid = try ChildProcess.spawn(
      Self.program, ["--socket", daemon.socket, "fetch", origin.url("/hangs")])
    origin.waitForRequests("/hangs")
    daemon.signal(SIGKILL)
    #expect(ChildProcess.wait(pid) == 3)
  }

  // MARK: The other verbs

  @Test func `ping, stats and list are answered`() throws {
    let ping = try imgctl("ping")
    #expect(ping.code == 0)
    #expect(ping.output.contains(daemon.socket))
    #expect(try imgctl("stats").output.contains("memory"))
    let stats = try imgctl("stats", "--json")
    #expect(try JSONValue(parsing: String(stats.output.dropLast()))["memory"] != nil)
    origin.plan("/hangs", .silence)
    let client = try daemon.connect()
    try client.send(#"{"cmd":"fetch","url":"\#(origin.url("/hangs"))"}"#)
    origin.waitForRequests("/hangs")
    #expect(try imgctl("list").output.contains("/hangs"))
    let list = try imgctl("list", "--json")
    #expect(try JSONValue(parsing: String(list.output.dropLast())).jobCount == 1)
  }

  @Test func `cancel ends fetches`() throws {
    origin.plan("/hangs", .silence)
    let client = try daemon.connect()
    let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
    for target in [[receipt], ["--tag", "t"], ["--all"]] {
      try client.send(
        #"{"cmd":"fetch","url":"\#(origin.url("/hangs"))","receipt":"\#(receipt)","tags":["t"]}"#)
      _ = try client.ask(#"{"cmd":"ping"}"#)
      let (code, output) = try ChildProcess.run(
        Self.program, ["--socket", daemon.socket, "cancel"] + target)
      #expect(code == 0)
      #expect(["running\n", "queued\n", "cancelled 1\n"].contains(output), "\(output)")
      #expect(try client.receive().failureCode == "cancelled")
    }
    #expect(try imgctl("cancel", receipt).output == "finished\n")
    #expect(try imgctl("cancel", "not-a-receipt").code == 2)
  }

  @Test func `purge removes`() throws {
    _ = try imgctl("fetch", origin.url("/a.png"))
    #expect(try imgctl("purge", "--host", "elsewhere.example").output.contains("0 entries"))
    #expect(try imgctl("purge", "--soft", "--all").output.contains("marked as stale"))
    let (code, output) = try imgctl("purge", "--url", origin.url("/a.png"))
    #expect(code == 0)
    #expect(output.hasPrefix("removed from memory: 1 entry"))
    #expect(try imgctl("purge", "--tier", "disk", "--all").output.contains("disk: 0 entries"))
  }

  @Test func `reload reports the changed keys`() throws {
    let stage = try Stage(configuration: "[Memory]\nCapacity=80M\n")
    let imgctl = {
      try ChildProcess.run(Self.program, ["--socket", stage.daemon.socket, "reload"])
    }
    #expect(try imgctl() == (0, "no value has changed\n"))
    try stage.daemon.rewrite(
      configuration: "[Memory]\nCapacity=70M\nPreferred=50M\n[Disk]\nEnabled=no\n")
    #expect(
      try imgctl() == (
        0, "changed: Memory.Capacity, Memory.Preferred\nneeds a restart: Disk.Enabled\n"
      ))
    #expect(try imgctl() == (0, "needs a restart: Disk.Enabled\n"))
    try stage.daemon.rewrite(configuration: "[Memory]\nCapacity=plenty\nPreferred=more\n")
    let (code, output) = try imgctl()
    #expect(code == 1)
    let file = stage.daemon.directory + "/imgd.conf"
    let lines = output.split(separator: "\n")
    #expect(lines.count == 3, "\(output)")
    #expect(lines[0].hasPrefix("imgctl: \(file):2: Memory.Capacity=plenty is not a size"))
    #expect(lines[1].hasPrefix("imgctl: \(file):3: Memory.Preferred=more is neither a size"))
    #expect(lines[2] == "imgctl: nothing was changed: see the 2 lines above")
    #expect(
      try stage.play("> {\"cmd\":\"config\"}\n< {\"ok\":true}")[0]["config"]?["Memory"]?["Capacity"]
        == .string("70M"))
  }

  @Test func `help and version need no daemon`() throws {
    for arguments in [
      ["--help"], ["help"], ["help", "fetch"], ["fetch", "--help"], ["--version"],
    ] {
      let (code, output) = try ChildProcess.run(
        Self.program, ["--socket", "/nonexistent"] + arguments)
      #expect(code == 0)
      #expect(output.hasPrefix("Usage: imgctl") || output.hasPrefix("imgctl "))
    }
  }
}
