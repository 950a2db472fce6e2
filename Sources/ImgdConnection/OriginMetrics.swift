/// What the daemon knows of sections and hosts, as metrics: those of a section include those of its hosts, so that each has
/// a name of its own.
struct OriginMetrics {
  private let sections: [(labels: MetricsPage.Labels, origin: Reply)]
  private let hosts: [(labels: MetricsPage.Labels, origin: Reply)]

  init(_ origins: [Reply]) {
    sections = origins.compactMap { origin in
      guard origin.text("host") == nil, let section = origin.text("section") else { return nil }
      return ([("section", section)], origin)
    }
    hosts = origins.compactMap { origin in
      origin.text("host").map { ([("host", $0), ("section", origin.text("section") ?? "")], origin) }
    }
  }

  func add(to page: inout MetricsPage) {
    for (rows, prefix, whose) in [(sections, "imgd_section_", "of a section"), (hosts, "imgd_host_", "of a busy host")]
    {
      for (field, name, help) in Self.counters {
        add(rows, field, to: &page, named: prefix + name + "_total", "counter", "\(help) \(whose)")
      }
      for (field, name, help) in Self.gauges {
        add(rows, field, to: &page, named: prefix + name, "gauge", "\(help) \(whose)")
      }
      addTimes(rows, to: &page, named: prefix + "first_byte_seconds", "Time until an answer began, \(whose)")
      page.add(
        prefix + "held", "gauge", "Whether downloads \(whose) are held back, and why",
        rows.compactMap { row in row.origin.text("held").map { (row.labels + [("reason", $0)], 1) } })
      page.add(
        prefix + "refusals", "gauge", "How often in a row the origin \(whose) has kept the daemon out",
        rows.map { ($0.labels, Double($0.origin.object("refusal")?.number("times") ?? 0)) })
    }
    page.add(
      "imgd_section_problem", "gauge", "Whether a file that a section names cannot be used",
      sections.map { ($0.labels, $0.origin.text("problem") == nil ? 0 : 1) })
  }

  private static let counters = [
    ("requests", "requests", "Requests for pictures"), ("hits", "hits", "Requests that were found in the cache,"),
    ("coalesced", "coalesced", "Requests that joined a download,"), ("downloads", "downloads", "Downloads that ended,"),
    ("errors", "errors", "Downloads that failed,"), ("bytes_received", "received_bytes", "Bytes of bodies,"),
  ]

  private static let gauges = [
    ("active", "active", "Downloads that run,"), ("queued", "queued", "Downloads that wait,"),
  ]

  private func add(
    _ rows: [(labels: MetricsPage.Labels, origin: Reply)], _ field: String, to page: inout MetricsPage,
    named name: String, _ type: String, _ help: String
  ) {
    page.add(
      name, type, help, rows.compactMap { row in row.origin.number(field).map { (row.labels, Double($0)) } })
  }

  private func addTimes(
    _ rows: [(labels: MetricsPage.Labels, origin: Reply)], to page: inout MetricsPage, named name: String,
    _ help: String
  ) {
    let timed = rows.compactMap { row in row.origin.object("first_byte_us").map { (labels: row.labels, times: $0) } }
    guard !timed.isEmpty else { return }
    page.begin(name, "summary", help)
    for row in timed {
      for (field, quantile) in [("p50", "0.5"), ("p99", "0.99")] {
        guard let time = row.times.fraction(field) else { continue }
        page.add(name, row.labels + [("quantile", quantile)], Metrics.seconds(time))
      }
      guard let count = row.times.fraction("count") else { continue }
      page.add(name + "_count", row.labels, count)
    }
  }
}
