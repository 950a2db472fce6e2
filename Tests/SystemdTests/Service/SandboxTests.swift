import Glibc
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
    let doctor = try stage.machine.run("imgctl doctor")
    #expect(doctor.status == 1)
    #expect(doctor.output.contains("mkdir /srv/pictures: Read-only file system\n"), "\(doctor)")
    #expect(doctor.output.contains("ReadWritePaths=, see imgd(8)\n"), "\(doctor)")

    try stage.machine.perform("install -d -o imgd -g imgd -m 750 /srv/pictures")
    try stage.machine.extend(with: "[Service]\nReadWritePaths=/srv/pictures\n")
    try stage.machine.perform("systemctl restart imgd.service")
    let path = try #require(try stage.fetch("/a")["path"]?.string)
    #expect(path.hasPrefix("/srv/pictures/"))
    try stage.machine.perform("useradd --no-create-home --groups imgd ann")
    try stage.machine.perform("su ann -s /bin/sh -c 'cat \(path)' >/dev/null")
  }

  @Test func `a cache that was removed under the service is there again without anybody's help`()
    throws
  {
    let stage = try ServiceStage()
    stage.origin.plan("/a", .picture(png()))
    stage.origin.plan("/b", .picture(png(1_000)))
    try stage.start()
    let first = try #require(try stage.fetch("/a")["path"]?.string)
    try stage.machine.perform("rm -rf /var/cache/imgd")
    // The answers before it has noticed have no path, and are answers.
    try stage.machine.waitUntil("the tier works again") {
      _ = try? stage.fetch("/b")
      return (try? stage.connect().ask(#"{"cmd":"stats"}"#))?["disk"]?["state"]?.string == "ok"
        && access(stage.machine.path("/var/cache/imgd/1"), F_OK) == 0
    }
    let path = try #require(try stage.fetch("/a")["path"]?.string)
    #expect(path != first && path.hasPrefix("/var/cache/imgd/"))
    #expect(try stage.machine.property("NRestarts") == "1")
    #expect(try stage.machine.state() == "active")
    #expect(try stage.machine.run("imgctl doctor").output.contains("ok       disk"))
  }
}
