import ImgdTestSupport
import ImgdWire
import Testing

/// What only newer versions of systemd can do.
@Suite(.machine, .newerSystemd) struct NewerSystemdTests {
  private let stage: ServiceStage
  private var machine: Machine { stage.machine }

  init() throws {
    stage = try ServiceStage(
      configuration: "[Memory]\nCapacity=10M\nPreferred=5M\n", below: Layer.newerSystemd)
    // As imgd(8) tells people to.
    try machine.perform(
      """
      install -D -m 644 /usr/local/share/doc/imgd/254.conf /etc/systemd/system/imgd.service.d/254.conf
      systemctl daemon-reload
      """)
  }

  @Test func `it is another version`() throws {
    let own = try ChildProcess.run("/usr/bin/systemctl", ["--version"]).output
    #expect(try machine.perform("systemctl --version") + "\n" != own)
  }

  @Test func `reload is one signal, and waits until the new configuration holds`() throws {
    try stage.start()
    #expect(try machine.property("Type") == "notify-reload")
    try stage.configure("[Memory]\nCapacity=2M\nPreferred=1M\n")
    try machine.perform("systemctl reload imgd.service")
    #expect(try stage.stats("memory", "capacity") == 2 << 20)
    #expect(try machine.state() == "active")
  }

  @Test func `a file with a mistake leaves the service as it was`() throws {
    try stage.start()
    try stage.configure("[Memory]\nCapacity=much\n")
    try machine.run("systemctl reload imgd.service")
    #expect(try machine.state() == "active")
    #expect(try stage.stats("memory", "capacity") == 10 << 20)
  }

  @Test func `systemd names the source of memory pressure`() throws {
    try stage.start()
    let stats = try stage.connect().ask(#"{"cmd":"stats"}"#)
    #expect(stats["pressure"]?["source"]?.string == "service-manager")
  }

  @Test func `systemd-analyze has no complaint about the units`() throws {
    #expect(try machine.perform("systemd-analyze verify imgd.service imgd.socket") == "")
  }
}
