import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// `imgctl doctor` beside daemons that are well and daemons that are not.
struct DoctorConditionTests {
  private static let program = BuiltProduct.path(of: "imgctl")

  private func doctor(
    _ socket: String, environment: [String] = []
  ) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      Self.program, ["--socket", socket, "doctor"],
      environment: ["PATH=/usr/bin:/bin"] + environment)
  }

  /// The line about a subject, and the remedy below it if there is one.
  private func finding(_ subject: String, _ output: String) -> String {
    let lines = output.split(separator: "\n")
    let rest = lines.drop { $0.split(separator: " ").dropFirst().first.map(String.init) != subject }
    return rest.prefix(1).joined()
      + rest.dropFirst().prefix { $0.hasPrefix(" ") }.map { "\n" + $0 }.joined()
  }

  @Test func `a daemon that is well has no problem`() throws {
    let daemon = try DaemonProcess()
    let (code, output) = try doctor(daemon.socket)
    #expect(code == 0, "\(output)")
    #expect(!output.contains("problem"), "\(output)")
    for subject in ["socket", "permission", "answer", "version", "decoder", "disk", "proxy"] {
      #expect(finding(subject, output).hasPrefix("ok "), "\(subject): \(output)")
    }
    #expect(finding("disk", output).contains(daemon.cacheDirectory))
    // The tests turn the reports of pressure off, which is worth a note.
    #expect(finding("memory", output).hasPrefix("note "))
    #expect(finding("memory", output).contains("→ Memory.Pressure=auto"))
  }

  @Test func `every finding is a line of JSON`() throws {
    let daemon = try DaemonProcess()
    let run = try ChildProcess.run(Self.program, ["--socket", daemon.socket, "doctor", "--json"])
    let lines = try run.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(lines.count >= 9)
    #expect(lines.allSatisfy { $0["check"]?.string != nil && $0["text"]?.string != nil })
    #expect(lines.contains { $0["grade"] == "note" && $0["remedy"]?.string != nil })
  }

  @Test func `a daemon that does not run is a problem, and the start is named`() throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/s"
    let (code, output) = try doctor(path)
    #expect(code == 1)
    #expect(finding("socket", output).hasPrefix("problem "))
    #expect(finding("socket", output).contains("→ start imgd: imgd --socket \(path)"))
    let daemon = try DaemonProcess()
    daemon.kill()
    // Its socket is left behind.
    let dead = try doctor(daemon.socket)
    #expect(dead.code == 1)
    #expect(finding("answer", dead.output).contains("no program listens"), "\(dead.output)")
  }

  @Test(
    .enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0),
    arguments: [
      // Nobody, of no group; the socket of root's group, and of another.
      ("65534", 0, "→ only the user root may use this daemon"),
      ("65534", 60, "→ sudo adduser nobody games, and log in again"),
      // A member of the group who has logged in without it.
      ("5", 60, "→ log in again, or write: newgrp games"),
    ] as [(String, gid_t, String)])
  func `a user who may not connect is told who may`(
    uid: String, group: gid_t, remedy: String
  ) throws {
    let daemon = try DaemonProcess()
    chown(daemon.socket, 0, group)
    chmod(daemon.directory, 0o755)
    let output = try runAs(uid, daemon)
    #expect(finding("permission", output).contains(remedy), "\(output)")
    chmod(daemon.directory, 0o700)
    #expect(try finding("socket", runAs(uid, daemon)).contains("closed to this user"))
  }

  /// The output of doctor as another user, who is in no group but nogroup.
  private func runAs(_ uid: String, _ daemon: DaemonProcess) throws -> String {
    let directory = TemporaryDirectory()
    chmod(directory.path, 0o755)
    let copy = directory.path + "/imgctl"
    _ = try ChildProcess.run("/usr/bin/install", ["-m", "755", Self.program, copy])
    let run = try ChildProcess.run(
      "/usr/bin/setpriv",
      [
        "--reuid", uid, "--regid", "65534", "--clear-groups", copy, "--socket", daemon.socket,
        "doctor",
      ])
    #expect(run.code == 1)
    return run.output
  }

  @Test(.enabled(if: Freeze.isPossible))
  func `a disk that cannot be written to is a problem`() throws {
    let stage = try Stage("Disk.Lease=0s")
    stage.origin.plan("/a", .picture(png()))
    let freeze = try Freeze(stage.daemon.cacheDirectory)
    try stage.fetch("/a")
    let (code, output) = try doctor(stage.daemon.socket)
    freeze.thaw()
    #expect(code == 1)
    #expect(finding("disk", output).hasPrefix("problem "), "\(output)")
    #expect(finding("disk", output).contains("→ see whether"))
  }

  @Test func `a missing decoder is a problem`() throws {
    let directory = TemporaryDirectory()
    let program = directory.path + "/imgd"
    _ = try ChildProcess.run("/bin/cp", [BuiltProduct.path(of: "imgd"), program])
    let daemon = try DaemonProcess(program: program)
    let (code, output) = try doctor(daemon.socket)
    #expect(code == 1)
    #expect(finding("decoder", output).hasPrefix("problem "), "\(output)")
    #expect(finding("decoder", output).contains("imgd-decoder"))
  }

  @Test func `settings that are probably not intended are told`() throws {
    let daemon = try DaemonProcess(settings: ["Disk.Enabled=no", "Network.CAFile=/nonexistent"])
    let (code, output) = try doctor(daemon.socket, environment: ["https_proxy=http://u:secret@p:1"])
    #expect(code == 1)
    #expect(finding("certificates", output).hasPrefix("problem "), "\(output)")
    #expect(finding("proxy", output).contains("$https_proxy is set here"))
    #expect(finding("disk", output).hasPrefix("note "))
    #expect(!output.contains("secret"))
  }
}
