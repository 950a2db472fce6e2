import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// The list of hosts in a real server.
@Suite(.eachServer) struct ListedHostTests {
  private func now(_ server: RedisServer) throws -> Int {
    try Int(server.command("TIME").list?.first?.text ?? "").map { $0 * 1_000 } ?? 0
  }

  private func line(at time: Int, _ further: String = "") -> String { "at=\(time)\nversion=1\nmachine=x\n" + further }

  @Test func `hosts see each other, and go when they stop`() throws {
    let server = try RedisServer()
    let one = try FleetBench(on: server)
    var other: FleetBench? = try FleetBench(on: server)
    one.order(.announce(.sample("one")))
    _ = try one.listed()
    other?.order(.announce(.sample("two")))
    #expect(try other?.listed().hosts.map(\.line.machine).sorted() == ["one", "two"])
    let report = try one.listed()
    #expect(report.hosts.first { $0.line.machine == "one" }?.name == report.own)
    other = nil
    // Its last command and the next question come on two connections.
    #expect(try becomes { try one.listed().hosts.map(\.line.machine) == ["one"] })
  }

  @Test func `lines of hosts that have gone are deleted, and no more is read than is of use`() throws {
    let server = try RedisServer()
    let time = try now(server)
    let lines = [
      ("1", line(at: time - 3_700_000)), ("2", line(at: time - 3_500_000)), ("3", line(at: time + 3_700_000)),
      ("4", "nonsense"), ("5", line(at: time, String(repeating: "x=y\n", count: 300))),
      ("a name that is long", line(at: time)),
    ]
    for (name, line) in lines { try server.command("HSET", "imgd:hosts", name, line) }
    #expect(try FleetBench(on: server).listed().hosts.map(\.name) == ["2"])
    #expect(try server.command("HLEN", "imgd:hosts") == .number(3))
  }

  @Test func `a host that begins clears away what is too old, though nobody looks`() throws {
    let server = try RedisServer()
    try server.command("HSET", "imgd:hosts", "1", line(at: 5))
    let bench = try FleetBench(on: server)
    bench.order(.announce(.sample()))
    try server.wait("line") {
      try server.command("HLEN", "imgd:hosts") == .number(1)
        && server.command("HEXISTS", "imgd:hosts", "1") == .number(0)
    }
  }

  @Test func `of a flood of hosts some are read, and the connection stays`() throws {
    let server = try RedisServer()
    let time = try now(server)
    let flood =
      "for n = 1, 5000 do redis.call('HSET', KEYS[1], string.format('%x', n), ARGV[1] .. string.rep('y', 900)) end"
    try server.command("EVAL", flood, "1", "imgd:hosts", line(at: time, "x="))
    let bench = try FleetBench(on: server) { $0.maxObject = 1 << 10 }
    #expect(try bench.listed().hosts.count == 1_024)
    #expect(!bench.all.contains { if case .state = $0 { true } else { false } })
  }

  @Test(arguments: [["+hset"], ["+hgetall", "+hdel"], []])
  func `a user without the rights to the list may use everything else`(rights: [String]) throws {
    let server = try RedisServer()
    let words = [
      "ACL", "SETUSER", "fleet", "on", "nopass", "~imgd:*", "&imgd:*", "+@all", "-hset", "-hgetall", "-hdel",
    ]
    try server.command((words + rights).map { Array($0.utf8) })
    let bench = try FleetBench(on: server) { $0.user = "fleet" }
    bench.order(.announce(.sample()))
    if rights.contains("+hgetall") {
      #expect(try bench.listed().hosts.isEmpty)
    } else {
      let problem = #expect(throws: HostList.Problem.self) { try bench.listed() }
      #expect(problem?.reason.contains("+hset +hgetall +hdel") == true, "\(String(describing: problem))")
    }
    #expect(try bench.claim(TestedPicture().digest) > 0)
    #expect(!bench.all.contains { if case .state = $0 { true } else { false } })
  }

  @Test func `a key that is something else does not matter to anything but the list`() throws {
    let server = try RedisServer()
    try server.command("SET", "imgd:hosts", "mine")
    let bench = try FleetBench(on: server)
    bench.order(.announce(.sample()))
    #expect(throws: HostList.Problem.self) { try bench.listed() }
    #expect(try bench.claim(TestedPicture().digest) > 0)
  }
}
