import ImgdTestSupport
import ImgdWire
import Testing

/// What the unit keeps the service from, and what it must leave to it.
@Suite(.machine) struct SandboxTests {
  @Test func `a cache elsewhere takes what the message and the manual say`() throws {
    let stage = try ServiceStage(configuration: "[Disk]\nDirectory=/srv/pictures\n")
    stage.origin.plan("/a", .picture(png()))
    try stage.machine.perform("rm -rf /srv/pictures")
    try stage.start()
    #expect(try stage.fetch("/a")["path"]?.string == nil)
    try stage.machine.waitForJournal("ReadWritePaths=, see imgd(8)")

    try stage.machine.perform("install -d -o imgd -g imgd -m 750 /srv/pictures")
    try stage.machine.extend(with: "[Service]\nReadWritePaths=/srv/pictures\n")
    try stage.machine.perform("systemctl restart imgd.service")
    let path = try #require(try stage.fetch("/a")["path"]?.string)
    #expect(path.hasPrefix("/srv/pictures/"))
    try stage.machine.perform("useradd --no-create-home --groups imgd ann")
    try stage.machine.perform("su ann -s /bin/sh -c 'cat \(path)' >/dev/null")
  }

  @Test(.sandboxedDecoder) func `a decoder of imgd's own can shut itself off`() throws {
    let stage = try ServiceStage(
      unit: """
        [Service]
        Type=oneshot
        Restart=no
        ExecStart=
        ExecStart=/usr/libexec/imgd-decoder

        """)
    try stage.machine.perform("install \(SandboxedDecoder.path) /usr/libexec/imgd-decoder")
    try stage.start()
    #expect(try stage.machine.property("Result") == "success")
  }
}

/// A program that does what a decoder will do before it reads a picture.
private enum SandboxedDecoder {
  static let path = Project.path(".build/sandboxed-decoder")

  /// Why it cannot do so on this machine, even without a unit around it; nil when it can.
  static let obstacle: String? = {
    let source = Project.path("Tests/SystemdTests/sandboxed-decoder.c")
    do {
      let made = try ChildProcess.run("/usr/bin/env", ["clang", "-o", path, source])
      guard made.code == 0 else { return made.output }
      let outside = try ChildProcess.run(path, [])
      return outside.code == 0 ? nil : outside.output
    } catch {
      return "\(error)"
    }
  }()
}

extension Trait where Self == ConditionTrait {
  /// Skipped, with the reason, where no process can shut itself off.
  fileprivate static var sandboxedDecoder: Self {
    .enabled(
      if: SandboxedDecoder.obstacle == nil, Comment(rawValue: SandboxedDecoder.obstacle ?? ""))
  }
}
