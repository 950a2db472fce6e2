import ImgdConnection

/// The metrics that `/metrics` has in addition to the daemon's.
enum GatewayMetrics {
  static let type = "text/plain; version=0.0.4; charset=utf-8"

  /// The whole exposition, with a newline at the end; without the daemon's metrics where it gives none.
  static func text(_ counters: GatewayCounters, of statistics: DaemonStatistics?) -> String {
    var page = statistics.map { Metrics.page(of: $0, by: "imgd-http") } ?? MetricsPage()
    page.add("imgd_up", "gauge", "Whether the daemon answers", [([], statistics == nil ? 0 : 1)])
    add(counters, to: &page)
    return page.text + "\n"
  }

  private static func add(_ counters: GatewayCounters, to page: inout MetricsPage) {
    let server = counters.server
    let single = [
      ("connections", "gauge", "Open connections", server.connections),
      ("connections_accepted_total", "counter", "Connections accepted", server.accepted),
      ("connections_refused_total", "counter", "Connections refused", server.refused),
      ("malformed_total", "counter", "Requests that were not sound", server.malformed),
      ("left_total", "counter", "Clients that left before they had their answer", server.left),
      ("bytes_sent_total", "counter", "Bytes of pictures in answers", counters.bytesSent),
      ("held_total", "counter", "Answers given again without the daemon", counters.held),
      ("limited_total", "counter", "Requests refused for their address", counters.limited),
    ]
    page.add(
      "imgd_http_requests_total", "counter", "Requests answered, by the class of their status",
      server.answers.enumerated().map { ([("code", "\($0.offset + 1)xx")], Double($0.element)) })
    for (name, kind, help, value) in single { page.add("imgd_http_" + name, kind, help, [([], Double(value))]) }
  }
}
