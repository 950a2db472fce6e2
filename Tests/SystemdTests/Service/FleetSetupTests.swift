import ImgdTestSupport
import ImgdWire
import Testing

/// A fleet as docs/fleet.md sets one up, with the unit that Debian has for the server.
@Suite(.machine) struct FleetSetupTests {
  private let stage: ServiceStage
  private var machine: Machine { stage.machine }

  init() throws {
    stage = try ServiceStage()
    stage.origin.plan("/a", .picture(TestPicture.png(width: 64, height: 48)))
  }

  /// The commands of the first block of shell in a section of the document.
  private static func commands(in section: String) throws -> [String] {
    let page = try #require(read(Project.path("docs/fleet.md")))
    let text = try #require(page.split(separator: "\n## \(section)\n").dropFirst().first)
    let block = try #require(text.split(separator: "```sh\n").dropFirst().first)
    return try #require(block.split(separator: "```").first).split(separator: "\n").map(String.init)
  }

  /// Types commands as root, who needs no sudo, where imgd is installed below /usr/local.
  private func type(_ commands: [String]) throws {
    for command in commands where !command.contains("apt install") {
      let here = command.replacing("/usr/share/imgd", with: "/usr/local/share/imgd")
        .replacing(" && sudo imgctl doctor", with: "").replacing("10.0.0.7", with: "127.0.0.1")
      try machine.perform("sudo() { \"$@\"; }; \(here)")
    }
  }

  /// Edits the configuration as sed does, and starts the daemon anew.
  private func configure(_ change: String) throws {
    try machine.perform("sed -i '\(change)' /etc/imgd/imgd.conf.d/fleet.conf")
    try machine.perform("systemctl restart imgd.service")
  }

  /// Waits until the daemon may use the server: it connects after it is ready.
  private func waitUntilUsable() throws {
    try machine.perform(
      """
      until imgctl stats --json | grep -qF '"fleet":{"state":"ok"'; do sleep 0.05; done
      """, within: 20)
  }

  @Test func `five commands make a fleet`() throws {
    try type(Self.commands(in: "Five commands"))
    try waitUntilUsable()
    let doctor = try machine.run("imgctl doctor").output
    #expect(doctor.contains("ok       fleet         unix:/run/redis-imgd/redis.sock"), "\(doctor)")
    try stage.fetch("/a")
    try machine.perform("imgctl purge --tier memory --all; imgctl purge --tier disk --all")
    #expect(try stage.fetch("/a")["source"] == .string("fleet"))
    #expect(try machine.journal("--unit=imgd.service --priority=warning").isEmpty)
  }

  @Test func `more hosts come with a password`() throws {
    try type(Self.commands(in: "Five commands"))
    try type(Self.commands(in: "More hosts"))
    try waitUntilUsable()
    // This host as another one would be, by the network.
    try configure("s/^Server=.*/Server=127.0.0.1:6380/")
    try waitUntilUsable()
    let refused = try machine.run("redis-cli -p 6380 --user imgd --pass wrong PING").output
    #expect(refused.contains("NOAUTH"), "\(refused)")
  }

  @Test func `the password may be the service's alone`() throws {
    try type(Self.commands(in: "Five commands"))
    try type(Self.commands(in: "More hosts"))
    try machine.write(
      "[Service]\nLoadCredential=fleet:/etc/imgd/fleet.password\n",
      to: "/etc/systemd/system/imgd.service.d/fleet.conf")
    try machine.perform(
      "chown root: /etc/imgd/fleet.password; chmod 600 /etc/imgd/fleet.password; systemctl daemon-reload")
    try configure("s|^PasswordFile=.*|PasswordFile=/run/credentials/imgd.service/fleet|")
    try waitUntilUsable()
  }
}
