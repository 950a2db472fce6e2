import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The machine itself: what all other tests of it rely on.
@Suite(.machine) struct MachineTests {
  @Test func `a command's exit code and output come out`() throws {
    let machine = try Machine()
    let (status, output) = try machine.run("echo $$; echo to stderr >&2; exit 7")
    #expect(status == 7)
    #expect(output.hasSuffix("to stderr\n"))
    #expect(try machine.run("sleep 60", within: 1).status == 124)
  }

  @Test func `an origin out here answers inside`() throws {
    let machine = try Machine()
    let origin = try machine.origin()
    origin.plan("/a", .body(Array("hello".utf8)))
    #expect(try machine.perform("curl -s \(origin.url("/a"))") == "hello")
    #expect(try ChildProcess.run("/usr/bin/curl", ["-s", origin.url("/a")]).code == 7)
  }

  @Test func `the daemon runs, and can be talked to`() throws {
    let machine = try Machine(layers: [Layer.imgd])
    try machine.perform("systemctl start imgd")
    try machine.waitUntil("it listens") { (try? machine.connect()) != nil }
    #expect(try machine.connect().ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true))
    let process = try machine.process(of: "imgd.service")
    #expect(read("/proc/\(process)/comm") == "imgd\n")
    #expect(try !machine.journal().isEmpty)
  }

  @Test func `a thread that is held stands still until it is released`() throws {
    let machine = try Machine(layers: [Layer.imgd])
    try machine.perform("systemctl start imgd")
    try machine.waitUntil("it listens") { (try? machine.connect()) != nil }
    let client = try machine.connect()
    let hold = try ThreadHold("imgd", of: try machine.process())
    client.patience = .milliseconds(300)
    #expect(throws: TestFailure.self) { try client.ask(#"{"cmd":"ping"}"#) }
    hold.letGo()
    client.patience = Patience.limit
    #expect(try client.receive()["ok"] == .bool(true))
  }

  @Test func `nothing is left of it`() throws {
    var machine: Machine? = try Machine()
    let number = try #require(machine?.number)
    let groups = read("/proc/\(number)/cgroup") ?? ""
    let name = try #require(groups.split(separator: "\n").first { $0.hasPrefix("0::") })
      .split(separator: "/")[1]
    let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
    #expect(roots.contains { access("\($0)/\(name)", F_OK) == 0 })
    machine = nil
    #expect(!roots.contains { access("\($0)/\(name)", F_OK) == 0 })
    #expect(kill(number, 0) != 0)
    let places = TemporaryDirectory.names(in: "/tmp").filter { $0.hasPrefix("imgd-machine-") }
    #expect(!places.contains { read("/tmp/\($0)/init") == "\(number)\n" })
  }
}
