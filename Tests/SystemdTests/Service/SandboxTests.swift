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
}
