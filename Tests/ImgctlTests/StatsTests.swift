@testable import ImgdConnection
import ImgdSystem
import Testing

@testable import ImgctlCommands

/// The answer of a daemon that found 70 pictures in memory, 20 on disk and 10 nowhere.
let someStatistics = """
  {"ok":true,"memory":{"bytes":2048,"capacity":4096,"entries":1,"hits":70,"misses":30},\
  "disk":{"bytes":0,"capacity":1,"hits":20,"misses":10,"write_errors":3,"state":"read-only"},\
  "downloads":{"active":2,"queued":7,"max_active":4,"completed":5,"bytes_received":1000},\
  "network":{"offline":true,"outages":2,"interrupted":1},"queue":{"requests":9},"decode":{"workers":2,"active":1,"queued":0,"sandbox":"partial"},\
  "clients":{"connected":3},"latency_us":{"hit":{"count":2,"p50":8.5,"p90":9.0,"p99":9.0,"max":12.5,"sum":21.0,\
  "buckets":[1,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]}},\
  "pressure":{"source":"cgroup","events":1,"last":"1970-01-02T00:00:01Z"},\
  "process":{"version":"1.2\\u001b","pid":7,"uptime_s":3700},"new":{"thing":{"twice":4096}}}
  """

/// A section with a host of its own, and a host with a hostile name.
let someOrigins = #"""
  {"ok":true,"origins":[\#
  {"host":"a.example","section":"*.example","requests":8,"hits":5,"coalesced":1,"downloads":2,"errors":1,\#
  "bytes_received":2048,"first_byte_us":{"count":2,"p50":1500.0,"p99":2000000.0},"active":1,"queued":3,"held":"asked",\#
  "wait_ms":13500,"since_s":9},\#
  {"host":"b\"c\n","section":null,"requests":9,"hits":0,"coalesced":0,"downloads":9,"errors":9,"bytes_received":0,\#
  "active":0,"queued":0,"refusal":{"status":403,"times":9,"age_s":4},"since_s":9},\#
  {"section":"*.example","requests":10,"hits":5,"coalesced":1,"downloads":4,"errors":1,"bytes_received":4096,\#
  "active":1,"queued":3,"since_s":9,"problem":"HeaderFile=/f cannot be read: Permission denied"},\#
  {"section":"z.example","requests":0,"hits":0,"coalesced":0,"downloads":0,"errors":0,"bytes_received":0,"active":0,\#
  "queued":0,"since_s":3700}],"cursor":null}
  """#

func statistics(
  _ text: String = someStatistics, at seconds: Int64 = 0
) throws -> DaemonStatistics {
  DaemonStatistics(
    reply: try Reply(Array(text.utf8), from: "test"),
    moment: Instant(nanoseconds: seconds * 1_000_000_000))
}

struct StatsTests {
  private let daemon: ScriptedDaemon

  init() throws {
    daemon = try ScriptedDaemon { request in
      if request == #"{"cmd":"origins"}"# { return [.line(someOrigins)] }
      #expect(request == #"{"cmd":"stats"}"#)
      return [.line(someStatistics)]
    }
  }

  @Test func `the table begins with the hit ratio`() {
    let lines = imgctl(["stats"], daemon).output.split(separator: "\n")
    #expect(lines[0] == "imgd 1.2\\x1b, up 1h 1min, at \(daemon.path)")
    #expect(
      lines[1] == "from the cache: 90.0% of 100 look-ups (70.0% from memory, 20.0% from disk)")
  }

  @Test func `requests that joined a download are from the cache, in the table and in an interval`()
    throws
  {
    let joined = someStatistics.replacing(#""misses":30"#, with: #""misses":30,"coalesced":5"#)
    let table = StatisticsTable(statistics: try statistics(joined), socket: "s")
    #expect(
      table.lines(Palette(.never, isTerminal: true, environment: [:]))[1]
        == "from the cache: 95.0% of 100 look-ups "
        + "(70.0% from memory, 20.0% from disk, 5.0% joined a download)")
    let later = joined.replacing(
      #""misses":30,"coalesced":5"#, with: #""misses":40,"coalesced":14"#)
    let interval = try #require(
      Interval(from: statistics(joined), to: statistics(later, at: 2)))
    #expect(interval.hitRatio == 0.9 && interval.missRate == 0.5)
    let metrics = Metrics.text(of: try statistics(joined), by: "test").split(separator: "\n")
    #expect(metrics.contains("imgd_cache_coalesced_total 5"))
  }

  @Test(arguments: [
    "bytes 2048 2.0K, 50.0% of the capacity", "hits 70 70.0% of the look-ups here",
    "hits 20 66.6% of the look-ups here", "uptime_s 3700 1h 1min", "hit.p50 8.5",
    "thing.twice 4096", "state read-only",
  ])
  func `every field of the answer is a row`(row: String) {
    let rows = imgctl(["stats"], daemon).output.split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    #expect(rows.contains(row))
  }

  @Test func `a daemon that was asked for nothing has no ratio`() throws {
    let idle = try ScriptedDaemon { _ in
      [.line(#"{"ok":true,"memory":{"hits":0,"misses":0},"disk":{"hits":0,"misses":0}}"#)]
    }
    #expect(imgctl(["stats"], idle).output.contains("from the cache: nothing was looked up\n"))
  }

  @Test func `trouble is coloured, where colours are wanted`() {
    let coloured = imgctl(["stats", "--color", "always"], daemon).output
    #expect(coloured.contains("\u{1b}[31m") && coloured.contains("\u{1b}[1mdisk\u{1b}[0m"))
  }

  @Test func `a pipe gets no colours`() {
    #expect(!imgctl(["stats"], daemon).output.contains("\u{1b}"))
  }

  @Test func `metrics have base units, labels and one line for each number`() {
    let lines = imgctl(["stats", "--prometheus"], daemon).output.split(separator: "\n")
    for line in [
      #"imgd_cache_hits_total{tier="memory"} 70"#, #"imgd_cache_hits_total{tier="disk"} 20"#,
      "# TYPE imgd_cache_hits_total counter", "imgd_uptime_seconds 3700",
      "# TYPE imgd_request_duration_seconds histogram",
      #"imgd_request_duration_seconds_bucket{kind="hit",le="1e-05"} 1"#,
      #"imgd_request_duration_seconds_bucket{kind="hit",le="10.0"} 2"#,
      #"imgd_request_duration_seconds_bucket{kind="hit",le="+Inf"} 2"#,
      #"imgd_request_duration_seconds_sum{kind="hit"} 2.1e-05"#,
      #"imgd_request_duration_seconds_count{kind="hit"} 2"#,
      #"imgd_disk_state_info{state="read-only"} 1"#, #"imgd_build_info{version="1.2\\x1b"} 1"#,
      "imgd_pressure_last_event_timestamp_seconds 86401", "imgd_disk_loading 0",
      "imgd_network_offline 1", "imgd_network_outages_total 2", "imgd_downloads_interrupted_total 1",
      "# TYPE imgd_new_thing_twice untyped", "imgd_new_thing_twice 4096",
      #"imgd_section_requests_total{section="*.example"} 10"#, #"imgd_section_problem{section="*.example"} 1"#,
      #"imgd_section_problem{section="z.example"} 0"#,
      #"imgd_host_held{host="a.example",section="*.example",reason="asked"} 1"#,
      #"imgd_host_first_byte_seconds{host="a.example",section="*.example",quantile="0.99"} 2"#,
      #"imgd_host_refusals{host="b\"c\\x0a",section=""} 9"#, "# TYPE imgd_host_errors_total counter",
    ] {
      #expect(lines.contains(Substring(line)), "\(line)")
    }
    #expect(
      Set(lines.filter { $0.hasPrefix("# TYPE") }).count * 2 == lines.count { $0.hasPrefix("#") })
  }

  @Test func `numbers of one moment become changes and rates of an interval`() throws {
    let before = try statistics()
    let later = someStatistics.replacing(#""hits":70,"misses":30"#, with: #""hits":75,"misses":35"#)
      .replacing(#""hits":20"#, with: #""hits":21"#)
      .replacing(#""bytes_received":1000"#, with: #""bytes_received":5000"#)
      .replacing(#""twice":4096"#, with: #""twice":4000"#)
    let interval = try #require(Interval(from: before, to: statistics(later, at: 2)))
    #expect(interval.lookups == 10 && interval.hits == 6)
    #expect(interval.hitRate == 3 && interval.missRate == 2 && interval.hitRatio == 0.6)
    #expect(interval.rate("downloads", "bytes_received") == 2000)
    let table = try StatisticsTable(
      statistics: statistics(later, at: 2), interval: interval, socket: "s"
    ).lines(Palette(.never, isTerminal: false, environment: [:]))
    let rows = table.map { $0.split(separator: " ").joined(separator: " ") }
    #expect(rows.contains("bytes_received 5000 +4000 2000/s 4.8K"))
    #expect(rows.contains("thing.twice 4000 -96"))
  }

  @Test(arguments: 0...40)
  func `a low terminal is filled, with what has changed first`(room: Int) throws {
    let table = try StatisticsTable(statistics: statistics(), socket: "s")
    let plain = Palette(.never, isTerminal: false, environment: [:])
    let shown = table.paths(in: room, first: ["queue.requests"])
    let lines = table.lines(plain) { shown.contains($0) }
    let all = table.lines(plain)
    #expect(lines.count <= max(room, 2))
    #expect(lines.count >= min(room - 1, all.count))
    #expect(shown.contains("queue.requests") == (room >= 4))
  }

  @Test func `another process has no interval with the one before`() throws {
    let other = someStatistics.replacing(#""pid":7"#, with: #""pid":8"#)
    #expect(Interval(from: try statistics(), to: try statistics(other, at: 1)) == nil)
  }

  @Test func `the log of a watch has a line for each interval`() throws {
    var log = WatchedLog()
    let titles = log.lines(about: try statistics()) ?? ""
    #expect(titles.hasPrefix("    TIME   RATIO  HITS/S"))
    let later = someStatistics.replacing(#""hits":70"#, with: #""hits":90"#)
    let line = log.lines(about: try statistics(later, at: 10)) ?? ""
    let words = line.split(separator: " ").dropFirst().joined(separator: " ")
    #expect(words == "100.0% 2 0 0 0B 2 7 0 2.0K 0B")
    #expect(line.count == titles.count)
    let other = someStatistics.replacing(#""pid":7"#, with: #""pid":8"#)
    let restarted = log.lines(about: try statistics(other, at: 20))
    #expect(restarted == "imgd was started again")
  }

  @Test(arguments: [
    (["--prometheus", "--json"], "exclude each other"),
    (["--delay", "2s"], "--delay needs --watch"),
    (["--watch", "--delay", "1ms"], "--delay 1ms is not valid: write 100ms to 1d"),
    (["--watch", "--prometheus"], "Prometheus itself"),
  ])
  func `options that do not go together are refused`(options: [String], words: String) {
    let run = imgctl(["stats"] + options)
    #expect(run.exitCode == .wrongUsage && run.messages.contains(words))
  }
}
