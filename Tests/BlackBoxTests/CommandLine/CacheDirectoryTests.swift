import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The place where the daemon keeps pictures, and everything that may be in the way there.
struct CacheDirectoryTests {
  private static let imgd = BuiltProduct.path(of: "imgd")

  private final class Scratch {
    let path: String
    init() throws { path = try TemporaryDirectory.make() }
    deinit { TemporaryDirectory.remove(path) }
  }

  /// The exit code and output of a daemon that must not start with this directory.
  private func refusal(of cache: String) throws -> (code: CInt, output: String) {
    let scratch = try Scratch()
    return try ChildProcess.run(
      Self.imgd,
      [
        "--config", "/dev/null", "--socket", scratch.path + "/imgd.sock", "--cache-directory",
        cache,
      ])
  }

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
  }

  @Test func `the cache directory is created for owner and group`() throws {
    let daemon = try DaemonProcess()
    #expect(mode(daemon.cacheDirectory) == 0o750)
    #expect(mode(daemon.cacheDirectory + "/1") == 0o750)
  }

  @Test func `no cache directory is created without the disk tier`() throws {
    let daemon = try DaemonProcess(settings: ["Disk.Enabled=no"])
    #expect(mode(daemon.cacheDirectory) == nil)
    let stats = try daemon.connect().ask(#"{"cmd":"stats"}"#)
    #expect(stats["disk"]?["state"]?.string == "off")
  }

  @Test(arguments: [false, true])
  func `pictures outlive the daemon`(itCrashes: Bool) throws {
    let stage = try Stage()
    stage.origin.plan("/a.png", .picture(TestPicture.png(bytes: 3_000)))
    let path = try #require(try stage.fetch("/a.png")["path"]?.string)
    if itCrashes { stage.daemon.kill() }
    try stage.restart()
    let again = try stage.fetch("/a.png")
    #expect(again["source"]?.string == "disk")
    #expect(again["path"]?.string == path)
    #expect(stage.origin.requests("/a.png").count == 1)
  }

  @Test func `a cache directory in use is left to its daemon`() throws {
    let first = try DaemonProcess()
    let (code, output) = try refusal(of: first.cacheDirectory)
    #expect(code == EX_UNAVAILABLE)
    #expect(
      output == "imgd: error: \(first.cacheDirectory) is used by another daemon, process "
        + "\(first.pid): give each a directory of its own\n")
    first.kill()
    _ = try DaemonProcess(cacheDirectory: first.cacheDirectory)
  }

  @Test func `an untrusted cache directory is refused and left unchanged`() throws {
    let scratch = try Scratch()
    try write("precious", to: scratch.path + "/file")
    for (name, mode) in [("directory", 0o750), ("open", 0o770)] as [(String, mode_t)] {
      mkdir(scratch.path + "/" + name, 0o750)
      chmod(scratch.path + "/" + name, mode)
    }
    symlink(scratch.path + "/directory", scratch.path + "/link")
    for (name, reason) in [
      ("file", "is not a directory"), ("link", "is a symbolic link"),
      ("open", "can be written to by others"),
    ] {
      let (code, output) = try refusal(of: scratch.path + "/" + name)
      #expect(code == EX_CONFIG)
      #expect(output.hasPrefix("imgd: error: \(scratch.path)/\(name) \(reason)"), "\(output)")
      #expect(output.split(separator: "\n").count == 1)
    }
    #expect(read(scratch.path + "/file") == "precious")
    #expect(mode(scratch.path + "/open") == 0o770)
    #expect(try ChildProcess.run("/bin/ls", ["-A", scratch.path + "/directory"]).output == "")
  }

  @Test func `pictures are served where no cache directory can be created`() throws {
    // No user can create directories in /proc, not even root.
    let stage = try Stage("Disk.Directory=/proc/imgd")
    stage.origin.plan("/a.png", .picture(TestPicture.png(bytes: 3_000)))
    try stage.play(
      """
      > {"cmd":"fetch","url":"ORIGIN/a.png"}
      < {"ok":true,"source":"network","path":null,"deliver_note":"…"}
      > {"cmd":"stats"}
      < {"ok":true,"disk":{"state":"down","reason":"…","entries":0}}
      """)
    #expect(stage.daemon.log.contains("/proc/imgd"), "\(stage.daemon.log)")
    let doctor = try ChildProcess.run(
      BuiltProduct.path(of: "imgctl"), ["--socket", stage.daemon.socket, "doctor"])
    #expect(doctor.code == 1)
    #expect(
      doctor.output.contains(
        "problem  disk          mkdir /proc/imgd: No such file or directory\n"
          + "                       → name another directory in Disk.Directory="),
      "\(doctor.output)")
  }

  @Test func `a reload changes the limits of the disk tier and not its directory`() throws {
    let stage = try Stage(configuration: "[Disk]\nCapacity=1M\n")
    stage.origin.plan("/a.png", .picture(TestPicture.png(bytes: 3_000)))
    try stage.daemon.rewrite(
      configuration: "[Disk]\nCapacity=2M\nTrimTo=25%\nEnabled=no\n[HTTP]\nStaleIfError=1d\n")
    try stage.play(
      """
      > {"cmd":"reload"}
      < {"ok":true,"changed":["Disk.Enabled","Disk.Capacity","Disk.TrimTo","HTTP.StaleIfError"],"needs_restart":["Disk.Enabled"]}
      > {"cmd":"fetch","url":"ORIGIN/a.png"}
      < {"ok":true,"path":"…"}
      > {"cmd":"stats"}
      < {"ok":true,"disk":{"state":"ok","entries":1,"capacity":2097152,"preferred":524288}}
      """)
  }
}
