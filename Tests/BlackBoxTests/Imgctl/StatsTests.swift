import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// `imgctl stats` in its three forms, and as a watch.
struct StatsTests {
  private let cache: FilledCache

  init() throws {
    cache = try FilledCache()
  }

  @Test func `promtool finds no fault with the metrics`() throws {
    let (code, output) = try cache.shell("$imgctl stats --prometheus | promtool check metrics")
    #expect(code == 0 && output == "", "\(output)")
  }

  @Test func `the metrics are well formed, and histograms have all that took place in their last bucket`() throws {
    let page = try Exposition(try cache.imgctl("stats", "--prometheus").output)
    for (name, least) in [
      ("request_duration", 3.0), ("download_duration", 1), ("download_wait", 1), ("decode_wait", 0),
    ] {
      let family = try #require(page["imgd_\(name)_seconds"])
      #expect(family.type == "histogram", "\(name)")
      let counts = family.samples.filter { $0.name.hasSuffix("_count") }
      #expect(counts.reduce(0) { $0 + $1.value } >= least, "\(name)")
    }
  }

  @Test func `every number of the daemon has a metric of its own`() throws {
    let metrics = try cache.imgctl("stats", "--prometheus").output
    #expect(!metrics.contains("untyped"), "\(metrics)")
    #expect(metrics.contains(#"imgd_cache_entries{tier="disk"} 3"#))
  }

  @Test func `every field of the daemon's answer is in the table`() throws {
    let answer = try JSONValue(parsing: try cache.imgctl("stats", "--json").output)
    let rows = try cache.imgctl("stats").output.split(separator: "\n").map { line in
      String(line.drop { $0 == " " }.prefix { $0 != " " })
    }
    func names(_ value: JSONValue, _ prefix: String) -> [String] {
      (value.object ?? []).flatMap { member in
        member.value.object == nil
          ? [prefix + member.name] : names(member.value, prefix + member.name + ".")
      }
    }
    for part in answer.object ?? [] where part.value.object != nil {
      #expect(rows.contains(part.name))
      for name in names(part.value, "") { #expect(rows.contains(name), "\(name)") }
    }
  }

  @Test func `a watch prints a line for each look, until Control-C`() throws {
    let (pid, output) = try cache.start("stats", "--watch", "-d", "100ms")
    try cache.wait(for: "RATIO", in: output)
    try cache.wait(for: "K\n", in: output)
    kill(pid, SIGINT)
    #expect(ChildProcess.wait(pid) == 130)
    let lines = try #require(read(output)).split(separator: "\n")
    #expect(lines.allSatisfy { $0.count == lines[0].count }, "\(lines)")
  }

  @Test func `on a terminal a watch redraws the table, with what has changed`() throws {
    let terminal = try TmuxTerminal(
      columns: 100, rows: 20, environment: ["IMGD_SOCKET": cache.stage.daemon.socket])
    try terminal.enter("\(FilledCache.program) stats --watch -d 100ms; echo ended $?")
    try terminal.wait(for: "commands ")
    for _ in 0..<3 { _ = try cache.stage.client.ask(#"{"cmd":"query","url":"http://h/"}"#) }
    let shown = try terminal.wait(for: "a change") { shown in
      shown.split(separator: "\n").contains { $0.contains("commands") && $0.contains("/s") }
    }
    #expect(shown.hasPrefix("imgd ") && shown.contains("from the cache: "))
    try terminal.press("C-c")
    try terminal.wait(for: "ended 130")
  }
}
