import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// What an operator sees of a gateway with a real daemon.
struct GatewayLogTests {
  private static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
  private let directory = TemporaryDirectory()
  private var path: String { directory.path + "/access.log" }
  private let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

  private func lines() -> [JSONValue] {
    (read(path) ?? "").split(separator: "\n").compactMap { try? JSONValue(parsing: String($0)) }
  }

  @Test func `each answer is a line, with its source, and the origin hears of the trace`() throws {
    let stage = try GatewayStage(["Allow=127.0.0.1", "AccessLog=json", "AccessLogFile=\(path)", "Workers=1"])
    let url = stage.url("/a")
    stage.origin.plan("/a", .picture(png(1_000), headers: [("Cache-Control", "max-age=60")]))
    let fields = ["traceparent: 00-\(trace)-00f067aa0ba902b7-01", "X-Forwarded-For: 192.0.2.7", "User-Agent: \"x\""]
    _ = try stage.gateway.fetch(url, "", fields)
    _ = try stage.gateway.fetch(url, "&height=0", ["traceparent: 00-\(trace)-00f067aa0ba902b7-1"])
    #expect(try becomes { lines().count == 2 })
    let (first, second) = (lines()[0], lines()[1])
    #expect(first["status"] == .integer(200) && first["bytes"] == .integer(1_000) && first["source"] == "network")
    #expect(first["client"] == "192.0.2.7" && first["agent"] == "\"x\"" && first["trace"]?.string == trace)
    #expect(second["status"] == .integer(400) && second["client"] == .null && second["trace"] == nil)
    let span = try #require(first["span"]?.string)
    #expect(span != "00f067aa0ba902b7")
    #expect(stage.origin.requests("/a").map { $0.header("traceparent") } == ["00-\(trace)-\(span)-01"])
    #expect(try becomes { try stage.gateway.fetch(url).status == 200 && lines().contains { $0["source"] == "held" } })
  }

  @Test func `the log goes to standard output without a file`() throws {
    let stage = try GatewayStage(["Allow=127.0.0.1", "AccessLog=combined"])
    #expect(try stage.gateway.get("/health").status == 200)
    #expect(try becomes { stage.gateway.log.contains(#""GET /health HTTP/1.1" 200 16 "-" "-""#) })
  }

  @Test func `a file that cannot be written ends the start`() throws {
    let settings = ["AccessLog=json", "AccessLogFile=\(directory.path)/none/log"]
    let (code, output) = try ChildProcess.run(
      BuiltProduct.path(of: "imgd-http"),
      ["-c", "/dev/null", "--listen", directory.path + "/http.sock"]
        + settings.flatMap { ["--set", "HTTP-Gateway." + $0] })
    #expect(code == EX_CANTCREAT)
    #expect(output.contains("\(settings[1]) cannot be written: No such file or directory"), "\(output)")
  }

  @Test func `the metrics are well formed, and the histograms count each answer once`() throws {
    let stage = try GatewayStage()
    stage.origin.plan("/a", .picture(png(1_000), headers: [("Cache-Control", "max-age=60")]))
    for _ in 1...3 { #expect(try stage.gateway.fetch(stage.url("/a")).status == 200) }
    let page = try Exposition(try stage.gateway.get("/metrics").text)
    let times = try #require(page["imgd_http_request_duration_seconds"])
    let counts = times.samples.filter { $0.name.hasSuffix("_count") }
    #expect(times.type == "histogram" && counts.count == 2 && counts.reduce(0) { $0 + $1.value } == 3)
    #expect(page.names.isSuperset(of: try dashboardMetrics()))
  }

  /// The metrics that the panels of docs/grafana.json ask for.
  private func dashboardMetrics() throws -> Set<String> {
    let dashboard = try JSONValue(parsing: try #require(read(Self.root + "/docs/grafana.json")))
    let panels = try #require(dashboard["panels"]?.array)
    #expect(panels.count > 10 && dashboard["templating"]?["list"]?.array?.first?["type"] == "datasource")
    var names: Set<String> = []
    for panel in panels where panel["type"] != "row" {
      let expressions = (panel["targets"]?.array ?? []).compactMap { $0["expr"]?.string }
      #expect(!expressions.isEmpty, "\(panel["title"]?.string ?? "?")")
      for expression in expressions {
        names.formUnion(expression.matches(of: #/\bimgd_\w+/#).map { String($0.0) })
      }
    }
    // Only where there is a fleet, or an origin with a section of its own.
    return names.filter { !$0.hasPrefix("imgd_fleet_") && !$0.hasPrefix("imgd_section_") }
  }
}
