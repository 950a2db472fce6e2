import ImgdConnection
import ImgdSystem
import Testing

@testable import ImgctlCommands

/// The answer of a daemon that found 70 pictures in memory, 10 on disk, 15 in the fleet and 5 nowhere.
private func statistics(state: String, reason: String? = nil) -> String {
  let because = reason.map { #""reason":"\#($0)","# } ?? ""
  return """
    {"ok":true,"memory":{"hits":70,"misses":30},"disk":{"hits":10,"misses":20},\
    "fleet":{"state":"\(state)",\(because)"server":"cache:6379","hits":15,"misses":5,"waits":1,\
    "timeouts":2,"stores":4,"refused":0,"overtaken":1,"invalid":0,"bytes_read":2048,"bytes_stored":4096,\
    "purges":{"sent":3,"heard":9,"pending":2,"waiting":0,"gaps":1}},\
    "latency_us":{"hit":{"count":1,"p50":8.5},"fleet":{"count":20,"p50":500.0,"p90":800.0,"p99":900.0,"max":950.0,\
    "sum":11000.0,"buckets":[0,0,0,0,3,20,20,20,20,20,20,20,20,20,20,20]}},\
    "held":{"fleet":7},"process":{"version":"1","pid":7,"uptime_s":1}}
    """
}

struct FleetTests {
  private static func daemon(_ line: String) throws -> ScriptedDaemon {
    try ScriptedDaemon { _ in [.line(line)] }
  }

  private static func findings(stats: String, server: String) throws -> [Finding] {
    let config = try Reply(
      Array(#"{"config":{"Fleet":{"Server":"\#(server)"}}}"#.utf8), from: "here")
    let stats = try Reply(Array(stats.utf8), from: "here")
    return FleetCheck(Interview.Answers(hello: config, stats: stats, config: config)).findings
  }

  @Test func `the hit ratio counts the fleet`() throws {
    let lines = imgctl(["stats"], try Self.daemon(statistics(state: "ok"))).output
      .split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      lines[1] == "from the cache: 95.0% of 100 look-ups "
        + "(70.0% from memory, 10.0% from disk, 15.0% from the fleet)")
    for row in [
      "hits 15 75.0% of the look-ups here", "state ok", "purges.gaps 1", "bytes_read 2048 2.0K",
      "fleet.p50 500.0",
    ] {
      #expect(lines.contains(row), "\(row)")
    }
  }

  @Test func `every figure of the fleet has a metric`() throws {
    let lines = imgctl(
      ["stats", "--prometheus"], try Self.daemon(statistics(state: "down"))
    ).output.split(separator: "\n").map(String.init)
    for line in [
      "imgd_fleet_hits_total 15", "imgd_fleet_overtaken_total 1",
      "imgd_fleet_read_bytes_total 2048",
      "imgd_fleet_purges_heard_total 9", "imgd_fleet_purges_pending 2",
      #"imgd_fleet_state_info{state="down"} 1"#, #"imgd_held_bytes{part="fleet"} 7"#,
      #"imgd_fleet_lookup_duration_seconds_bucket{le="0.00025"} 3"#,
      "imgd_fleet_lookup_duration_seconds_sum 0.011",
    ] {
      #expect(lines.contains(line), "\(line)")
    }
    #expect(!lines.contains { $0.contains("untyped") })
  }

  @Test func `servers for pictures that are away are named`() throws {
    let servers = """
      "pictures":[{"server":"a:1","state":"ok"},{"server":"b:1","state":"down","reason":"b:1 is gone"},\
      {"server":"c:1","state":"connecting"}],"hits"
      """
    let stats = statistics(state: "ok").replacing(#""hits":15"#, with: servers + ":15")
    let findings = try Self.findings(stats: stats, server: "cache:6379").map(\.text)
    #expect(findings[1...2] == ["b:1 is gone", "the server for pictures c:1 is connecting"])
    let lines = imgctl(["stats", "--prometheus"], try Self.daemon(stats)).output.split(separator: "\n")
    for (name, value) in [("a", 1), ("b", 0), ("c", 0)] {
      #expect(lines.contains { $0 == #"imgd_fleet_pictures_up{server="\#(name):1"} \#(value)"# })
    }
  }

  @Test func `a machine alone has no metrics of a fleet`() throws {
    let output = imgctl(["stats", "--prometheus"], try Self.daemon(someStatistics)).output
    #expect(!output.contains("fleet"))
  }

  @Test(
    arguments: [
      ("ok", nil, [.ok]), ("connecting", nil, [.note]),
      ("read-only", "READONLY", [.problem]), ("down", nil, [.problem]),
      ("down", "Connection refused", [.problem]), ("refused", "maxmemory-policy", [.problem]),
    ] as [(String, String?, [Finding.Grade])])
  func `the doctor judges the server by its state`(
    state: String, reason: String?, grades: [Finding.Grade]
  ) throws {
    let findings = try Self.findings(
      stats: statistics(state: state, reason: reason), server: "cache:6379")
    // Purges that wait, and purges that were missed, are told as well.
    #expect(findings.map(\.grade) == grades + [.note, .note])
    #expect(findings[1].text.hasSuffix(": 2") && findings[2].text.contains("missed once:"))
    if let reason {
      #expect(findings[0].text == reason)
    } else {
      #expect(findings[0].text.hasPrefix("cache:6379"))
    }
    #expect((findings[0].remedy == nil) == (findings[0].grade == .ok))
  }

  @Test(arguments: [
    ("its maxmemory-policy is noeviction", "correct it there: "),
    ("the certificate of h: unable to get local issuer certificate: set Fleet.CAFile=", "correct it: "),
  ])
  func `what is wrong is put right where it is wrong`(reason: String, beginning: String) throws {
    let findings = try Self.findings(stats: statistics(state: "refused", reason: reason), server: "h:1")
    #expect(findings[0].remedy?.hasPrefix(beginning) == true)
  }

  @Test func `why purges wait is told`() throws {
    let stats = statistics(state: "ok").replacing(#""gaps":1"#, with: #""reason":"OOM","gaps":1"#)
    let findings = try Self.findings(stats: stats, server: "cache:6379")
    #expect(findings[1].remedy == "see to the server: OOM")
  }

  @Test func `a machine alone has nothing to be judged`() throws {
    #expect(try Self.findings(stats: someStatistics, server: "") == [])
  }

  @Test func `a server that is set and not used yet is told`() throws {
    let findings = try Self.findings(stats: someStatistics, server: "cache:6379")
    #expect(findings.map(\.grade) == [.note])
    #expect(findings[0].remedy?.hasPrefix("restart imgd") == true)
  }

  @Test(arguments: [
    (#","fleet":"sent""#, "; the other hosts are told\n"),
    (
      #","fleet":"pending""#,
      "; the other hosts will be told when the fleet's server answers\n"
    ),
    ("", "removed from memory: 0 entries, 0 bytes\n"),
  ])
  func `a purge says whether the other hosts know of it`(field: String, words: String) throws {
    let daemon = try Self.daemon(
      #"{"ok":true,"removed":false,"memory":{"entries":0,"bytes":0}\#(field)}"#)
    let run = imgctl(["purge", "--tag", "t"], daemon)
    #expect(run.output.hasSuffix(words), "\(run.output)")
  }

  @Test func `top has a line for the fleet`() throws {
    let reply = try Reply(
      Array(statistics(state: "down", reason: "no answer\\u001b").utf8), from: "test")
    let lines = FactRows.lines(DaemonStatistics(reply: reply, moment: Instant(nanoseconds: 0)))
      .map { $0.drawn(within: 200, Palette(.never, isTerminal: true, environment: [:])) }
    #expect(
      lines.last
        == "fleet            15 hits, 4 stored, purges 3 sent, 9 heard, 2 pending  "
        + #"down: no answer\x1b"#)
  }
}
