import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A user's own service, beside the machine's: root has one like anybody else.
@Suite(.machine) struct UserUnitTests {
  static let users = ["root", "imgd-visitor"]

  private func makeStage(_ user: String) throws -> UserStage {
    let user = try UserStage(user)
    user.origin.plan("/a", .picture(TestPicture.png(bytes: 20_000, seed: 1)))
    try user.perform("systemctl --user --quiet enable --now imgd.socket")
    return user
  }

  private func modes(_ machine: Machine, _ paths: String...) throws -> [String] {
    try machine.perform("stat -c %a:%U \(paths.joined(separator: " "))")
      .split(separator: "\n").map(String.init)
  }

  @Test(arguments: users)
  func `the first fetch starts it, and what it has is the user's alone`(name: String) throws {
    let user = try makeStage(name)
    #expect(try user.state() == "inactive")
    let path = try #require(try user.fetch("/a")["path"]?.string)
    #expect(try user.state() == "active")
    #expect(try user.property("WatchdogUSec") == "30s")
    #expect(path.hasPrefix("\(user.home)/.cache/imgd/"), "\(path)")
    let found = try modes(
      user.machine, "\(user.runtime)/imgd", user.socket, "\(user.home)/.cache/imgd")
    #expect(found == ["700:\(name)", "600:\(name)", "700:\(name)"])
    // Nor does a group let anybody in: with some users that is one for all of them.
    let member = "setpriv --reuid=nobody --regid=$(id -g \(name)) --clear-groups cat \(path)"
    #expect(try user.machine.run(member).status == 1)
    let stranger = "setpriv --reuid=nobody --clear-groups imgctl --socket \(user.socket) ping"
    #expect(try user.machine.run(stranger).status == 4)
    // Nothing of the machine's has been started, or made.
    #expect(try user.machine.state() == "inactive")
    #expect(try user.machine.state(of: "imgd.socket") == "inactive")
    #expect(try user.machine.run("ls -d /var/cache/imgd /run/imgd/*").output.contains("No such"))
  }

  @Test(arguments: users)
  func `it and the machine's know nothing of each other`(name: String) throws {
    let user = try makeStage(name)
    let machine = user.machine
    try machine.write("[Memory]\nCapacity=70M\n", to: "/etc/imgd/imgd.conf")
    try machine.write("[Memory]\nCapacity=80M\n", to: "\(user.home)/.config/imgd/imgd.conf")
    #expect(try user.fetch("/a")["source"] == .string("network"))
    try user.stage.start()
    #expect(try user.stage.fetch("/a")["source"] == .string("network"))
    #expect(try user.stage.stats("memory", "capacity") == 70 << 20)
    #expect(try user.stats("memory", "capacity")?.integer == 80 << 20)
    #expect(try user.stats("process", "pid")?.integer != Int64(try machine.property("MainPID")))
    let served = try machine.property("MainPID")
    try user.perform("systemctl --user restart imgd.service")
    try user.perform("systemctl --user stop imgd.socket imgd.service")
    #expect(try machine.property("MainPID") == served)
    #expect(try user.stage.fetch("/a")["source"] == .string("memory"))
    // Without one of their own, root and the group talk to the machine's.
    let answer = try machine.perform(
      "XDG_RUNTIME_DIR=\(user.runtime) imgctl fetch --json \(user.origin.url("/a"))")
    #expect(try JSONValue(parsing: answer)["source"] == .string("memory"))
  }

  @Test(arguments: users)
  func `a reload, a restart and a stop are what they are for the machine's`(name: String) throws {
    let user = try makeStage(name)
    #expect(try user.fetch("/a")["source"] == .string("network"))
    try user.machine.write("[Memory]\nCapacity=80M\n", to: "\(user.home)/.config/imgd/imgd.conf")
    try user.perform("systemctl --user reload imgd.service")
    #expect(try user.stats("memory", "capacity")?.integer == 80 << 20)
    try user.machine.write("[Memory]\nCapacity=much\n", to: "\(user.home)/.config/imgd/imgd.conf")
    #expect(try user.run("systemctl --user reload imgd.service").status != 0)
    #expect(try user.state() == "active")
    #expect(try user.stats("memory", "capacity")?.integer == 80 << 20)
    try user.machine.perform("rm \(user.home)/.config/imgd/imgd.conf")

    try user.perform("systemctl --user restart imgd.service")
    #expect(try user.property("NFileDescriptorStore") == "0")
    #expect(try user.fetch("/a")["source"] == .string("memory"))

    try user.perform("systemctl --user stop imgd.service")
    #expect(try user.property("Result") == "success")
    #expect(try user.fetch("/a")["source"] == .string("disk"))
    try user.perform("systemctl --user disable --now imgd.socket")
    try user.perform("systemctl --user stop imgd.service")
    #expect(access(user.machine.path(user.socket), F_OK) != 0)
    #expect(try user.run("imgctl ping").status == 3)
  }

  @Test(arguments: users)
  func `it frees memory under pressure, and logs that`(name: String) throws {
    let user = try makeStage(name)
    _ = try user.fetch("/a")
    // The group of a user's unit belongs to the user, so the best source is open to it.
    #expect(try user.stats("pressure", "source") == .string("cgroup"))
    try user.perform("systemctl --user kill --signal=USR1 imgd.service")
    try user.machine.waitUntil("it gives way") {
      try user.stats("memory", "entries")?.integer == 0
    }
    let entries = try user.machine.journal("IMGD_EVENT=pressure _SYSTEMD_USER_UNIT=imgd.service")
    #expect(entries.contains { $0["IMGD_BYTES"] != nil }, "\(entries)")
  }

  @Test(.landlock, arguments: users)
  func `pictures are decoded in a sandbox that lacks nothing, and a stop leaves no decoder`(
    name: String
  ) throws {
    let user = try makeStage(name)
    let client = try TestClient(socket: user.machine.path(user.socket))
    try client.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","deliver":"pixels"}
      < {"ok":true,"fds":[{"kind":"pixels"}]}
      """#, origin: user.origin.url(""))
    #expect(try user.stats("decode", "sandbox") == .string("full"))
    try user.perform("pgrep -x imgd-decoder")
    try user.perform("systemctl --user stop imgd.service")
    #expect(try user.property("Result") == "success")
    #expect(try user.run("pgrep -x imgd-decoder").output == "")
  }

  @Test(arguments: users)
  func `one that hangs is killed and started again`(name: String) throws {
    let user = try makeStage(name)
    try user.machine.write(
      "[Service]\nWatchdogSec=2\nRestartSec=100ms\n",
      to: "/etc/systemd/user/imgd.service.d/50-test.conf")
    try user.perform("systemctl --user daemon-reload")
    _ = try user.fetch("/a")
    let hold = try ThreadHold("imgd-disk", of: try user.process())
    try user.machine.waitUntil("it was started again") {
      try user.property("NRestarts") == "1"
    }
    hold.letGo()
    #expect(try user.fetch("/a")["source"] == .string("disk"))
  }
}
