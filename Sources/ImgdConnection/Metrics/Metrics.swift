// The names are for dashboards, which outlive releases: a metric keeps its name, its unit and its labels. A number
// that this release does not know, because the daemon is newer, becomes an untyped metric under its own name.

import ImgdWire

/// The daemon's counters in the text exposition format of Prometheus.
package enum Metrics {
  /// All metrics, without a newline at the end; `program` is the one that shows them.
  package static func text(of statistics: DaemonStatistics, by program: String) -> String {
    page(of: statistics, by: program).text
  }

  /// All metrics, for a program that adds its own.
  package static func page(of statistics: DaemonStatistics, by program: String) -> MetricsPage {
    var page = MetricsPage()
    for family in MetricFamily.all {
      page.add(
        family.name, family.kind.rawValue, family.help,
        family.series.compactMap { series in statistics.real(series.path).map { (series.labels, $0) } })
    }
    addLatencies(
      of: ["hit", "fetch"], from: statistics, to: &page, named: "imgd_request_duration", "from a request to its answer")
    addLatencies(
      of: ["fleet"], from: statistics, to: &page, named: "imgd_fleet_lookup_duration",
      "from a question to the fleet's server to its answer")
    addStates(of: statistics, to: &page)
    addUnknown(of: statistics, to: &page, by: program)
    return page
  }

  /// Whether a number, named by its path in the answer, only grows.
  package static func isCounter(_ path: String) -> Bool {
    MetricFamily.counters.contains(path) || path.hasPrefix("latency_us.")
  }

  /// Adds latencies as a summary without a sum of all times, which the daemon does not report.
  private static func addLatencies(
    of wanted: [String], from statistics: DaemonStatistics, to page: inout MetricsPage, named metric: String,
    _ span: String
  ) {
    let kinds = wanted.filter { statistics.reply.object("latency_us")?.object($0) != nil }
    guard !kinds.isEmpty else { return }
    let name = metric + "_seconds"
    page.begin(name, "summary", "Time " + span)
    for kind in kinds {
      for (field, quantile) in [("p50", "0.5"), ("p90", "0.9"), ("p99", "0.99")] {
        guard let time = statistics.real("latency_us.\(kind).\(field)") else { continue }
        page.add(name, [("kind", kind), ("quantile", quantile)], seconds(time))
      }
      guard let count = statistics.real("latency_us.\(kind).count") else { continue }
      page.add(name + "_count", [("kind", kind)], count)
    }
    page.add(
      metric + "_max_seconds", "gauge", "The longest time " + span,
      kinds.compactMap { kind in statistics.real("latency_us.\(kind).max").map { ([("kind", kind)], seconds($0)) } })
  }

  /// Seconds from microseconds, which the daemon reports with one decimal.
  private static func seconds(_ microseconds: Double) -> Double { (microseconds * 10).rounded() / 1e7 }

  /// Adds the states that have a name: the name is a label of a metric that is always 1.
  private static func addStates(of statistics: DaemonStatistics, to page: inout MetricsPage) {
    let states = [
      ("imgd_build_info", "The daemon's version", "process", "version"),
      ("imgd_disk_state_info", "The state of the disk tier", "disk", "state"),
      ("imgd_fleet_state_info", "The state of the fleet's server", "fleet", "state"),
      ("imgd_decode_sandbox_info", "How the decoders are shut off", "decode", "sandbox"),
      ("imgd_pressure_source_info", "Where memory pressure is seen", "pressure", "source"),
    ]
    for (name, help, object, field) in states {
      guard let value = statistics.text(object, field) else { continue }
      page.add(name, "gauge", help, [([(field, value)], 1)])
    }
    if let last = statistics.text("pressure", "last").flatMap({ Timestamp.seconds(of: $0) }) {
      page.add(
        "imgd_pressure_last_event_timestamp_seconds", "gauge", "When memory was last short", [([], Double(last))])
    }
    page.add(
      "imgd_disk_loading", "gauge", "Whether the daemon still reads the index of the disk tier",
      [([], statistics.reply.object("disk")?.flag("loading") == true ? 1 : 0)])
  }

  private static func addUnknown(of statistics: DaemonStatistics, to page: inout MetricsPage, by program: String) {
    for (path, value) in statistics.numbers where !MetricFamily.known.contains(path) && path.contains(".") {
      page.add(
        "imgd_" + String(path.unicodeScalars.map { isLetter($0) ? Character($0) : "_" }), "untyped",
        "Not known to this release of \(program)", [([], Double(value))])
    }
  }

  private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    default: false
    }
  }
}

extension DaemonStatistics {
  /// A number by its path in the answer, such as `latency_us.hit.p50`.
  fileprivate func real(_ path: String) -> Double? {
    var part = reply
    let names = path.split(separator: ".").map(String.init)
    for name in names.dropLast() {
      guard let inner = part.object(name) else { return nil }
      part = inner
    }
    return names.last.flatMap { part.fraction($0) }
  }
}
