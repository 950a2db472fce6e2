import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// `imgctl fetch` and its kin with files, lists and a daemon that is restarted.
struct FetchFileTests {
  private static let program = BuiltProduct.path(of: "imgctl")
  private static let picture = TestPicture.png(bytes: 3_000, seed: 1)

  private let origin: OriginServer
  private let daemon: DaemonProcess
  private let directory = TemporaryDirectory()

  init() throws {
    origin = try OriginServer()
    daemon = try DaemonProcess(settings: ["Downloads.Retries=0", "Downloads.Timeout=10min"])
    origin.plan("/a.png", .picture(Self.picture))
  }

  private func imgctl(_ arguments: String...) throws -> (code: CInt, output: String) {
    try ChildProcess.run(Self.program, ["--socket", daemon.socket] + arguments)
  }

  private func shell(_ script: String) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      "/bin/bash", ["-c", script],
      environment: [
        "IMGD_SOCKET=\(daemon.socket)", "PATH=/usr/bin:/bin", "imgctl=\(Self.program)",
        "O=\(origin.url(""))", "D=\(directory.path)",
      ])
  }

  /// Each line is written when the one before has been fetched.
  @Test func `a pipe is fetched line by line`() throws {
    for number in 1...3 { origin.plan("/a.png?\(number)", .picture(Self.picture)) }
    try #expect(
      shell(
        """
        mkfifo $D/list $D/paths
        $imgctl fetch -i $D/list -l >$D/paths & exec 4<$D/paths 3>$D/list
        for number in 1 2 3; do
          echo "$O/a.png?$number" >&3; read -r -u 4 path url || exit
          test -e "$path" && echo "${url##*/}"
        done
        exec 3>&-; wait $!
        """) == (0, "a.png?1\na.png?2\na.png?3\n"))
  }

  @Test func `a user without the right to write is told so`() throws {
    guard geteuid() == 0 else { return }
    let own = directory.path + "/own"
    mkdir(own, 0o755)
    chmod(directory.path, 0o755)
    chmod(daemon.socket, 0o666)
    chmod(daemon.directory, 0o755)
    let (code, output) = try shell(
      """
      cp $imgctl $D/imgctl; chmod 755 $D/imgctl
      exec setpriv --reuid 65534 --regid 65534 --clear-groups $D/imgctl fetch $O/a.png -o $D/own
      """)
    #expect(code == 1 && output.hasSuffix("create \(own)/a.png: Permission denied\n"), "\(output)")
  }

  /// Only root could keep the owner of somebody else's file.
  @Test func `the file of another user is not replaced`() throws {
    guard geteuid() == 0 else { return }
    chmod(directory.path, 0o777)
    chmod(daemon.socket, 0o666)
    chmod(daemon.directory, 0o755)
    let (code, output) = try shell(
      """
      cp $imgctl $D/imgctl; chmod 755 $D/imgctl; echo old >$D/x; chmod 666 $D/x
      exec setpriv --reuid 65534 --regid 65534 --clear-groups $D/imgctl fetch $O/a.png -fo $D/x
      """)
    #expect(code == 1 && output.contains("/x belongs to another user"), "\(output)")
    #expect(read(directory.path + "/x") == "old\n")
    #expect(TemporaryDirectory.names(in: directory.path).sorted() == ["imgctl", "x"])
  }

  @Test func `an interrupt leaves no temporary file`() throws {
    origin.plan("/silent.png", .silence)
    let pid = try ChildProcess.spawn(
      Self.program,
      [
        "--socket", daemon.socket, "fetch", origin.url("/a.png"), origin.url("/silent.png"), "-o",
        directory.path,
      ])
    origin.waitForRequests("/silent.png")
    kill(pid, SIGHUP)
    // While it writes its output, the signal ends it at once.
    #expect([143, -SIGHUP].contains(ChildProcess.wait(pid)))
    #expect(
      TemporaryDirectory.names(in: directory.path).allSatisfy { $0 == "a.png" })
  }

  /// Nobody reads the pipe: only a signal that is not held back ends the program.
  @Test func `an interrupt ends a program that waits for a reader`() throws {
    mkfifo(directory.path + "/pipe", 0o600)
    let pid = try ChildProcess.spawn(
      Self.program,
      ["--socket", daemon.socket, "fetch", origin.url("/a.png"), "-o", directory.path + "/pipe"])
    origin.waitForRequests("/a.png")
    kill(pid, SIGINT)
    #expect(ChildProcess.wait(pid) == 130)
  }

  @Test func `a list survives a restart of the daemon`() throws {
    let gate = Gate()
    origin.plan("/late.png", .held(at: gate, then: .picture(Self.picture)))
    let output = directory.path + "/output"
    let pid = try ChildProcess.spawn(
      Self.program,
      ["--socket", daemon.socket, "fetch", "-l", origin.url("/a.png"), origin.url("/late.png")],
      output: output)
    #expect(gate.waitUntilReached())
    daemon.kill()
    try daemon.start()
    gate.open()
    #expect(ChildProcess.wait(pid) == 0, "\(read(output) ?? "")")
    // What it says of the restart may come before or between them.
    let lines = (read(output) ?? "").split(separator: "\n").filter { $0.contains("\t") }
    #expect(
      lines.map { $0.split(separator: "\t").last }
        == ["/a.png", "/late.png"].map { Substring(origin.url($0)) })
  }

  @Test func `no more are asked for at a time than is wanted`() throws {
    let gate = Gate()
    for number in 1...5 {
      origin.plan("/held\(number).png", .held(at: gate, then: .picture(Self.picture)))
    }
    let urls = (1...5).map { origin.url("/held\($0).png") }
    let pid = try ChildProcess.spawn(
      Self.program, ["--socket", daemon.socket, "fetch", "-j", "2"] + urls)
    #expect(gate.waitUntilReached(2))
    // All requests that may be sent at once are in one write.
    #expect(try daemon.connect().ask(#"{"cmd":"list"}"#).jobCount == 2)
    gate.open()
    #expect(ChildProcess.wait(pid) == 0)
  }

  @Test func `pictures are shown by a program`() throws {
    let expected = try imgctl("fetch", origin.url("/a.png")).output
    let url = origin.url("/a.png")
    #expect(
      try imgctl("open", url, "--with", "echo -n shown").output == "shown " + expected.dropLast())
    let viewer = try shell("IMGD_VIEWER='ls -1' $imgctl open $O/a.png")
    #expect(viewer == (0, expected))
    let missing = try imgctl("open", url, "--with", "nonesuch-viewer")
    #expect(missing.code == 1 && missing.output.contains("cannot start nonesuch-viewer: No such"))
    #expect(try imgctl("open", origin.url("/404"), "--with", "echo").code == 9)
    let none = try imgctl("open", url, "--with", "echo", "--cache", "no-store")
    #expect(none.code == 12 && none.output.contains("in no file"), "\(none)")
  }

  @Test func `the kin of fetch do their work`() throws {
    origin.plan("/large.png", .picture(TestPicture.png(bytes: 3_000, seed: 3)))
    #expect(
      try imgctl("prefetch", origin.url("/a.png"), origin.url("/large.png"))
        == (0, "2 fetched, 0 already there, 0 failed; 5.8K\n"))
    #expect(
      try imgctl("prefetch", origin.url("/a.png"), origin.url("/404")).output
        .hasSuffix("0 fetched, 1 already there, 1 failed; 2.9K\n"))
    let cat = try shell("$imgctl cat $O/a.png $O/large.png | wc -c")
    #expect(cat.output == "6000\n")
    let small = try imgctl("thumbnail", origin.url("/a.png"), "-s", "8", "--json")
    let line = try JSONValue(parsing: small.output)
    #expect(line["width"]?.integer == 8 && line["height"]?.integer == 8, "\(small.output)")
    let receipt = try imgctl("fetch", "--no-wait", origin.url("/a.png")).output.dropLast()
    #expect(receipt.utf8.count == 36)
    #expect(
      try imgctl("wait", String(receipt)).output == imgctl("fetch", origin.url("/a.png")).output)
    let unknown = try imgctl("wait", "00000000-0000-4000-8000-000000000000")
    #expect(unknown.code == 1 && unknown.output.contains("(unknown_receipt)"))
  }

  @Test func `pixels are written as rows`() throws {
    let (code, output) = try imgctl(
      "fetch", "--as", "pixels", origin.url("/a.png"), "-o", directory.path + "/x", "--json")
    let pixels = try JSONValue(parsing: output)["fds"]?[0]
    #expect(code == 0 && pixels?["stride"]?.integer == 64)
    #expect(readBytes(directory.path + "/x")?.count == 16 * 64)
  }
}
