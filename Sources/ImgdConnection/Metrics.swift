// The names are for dashboards, which outlive releases: a metric keeps its name, its unit and its labels. A number
// that this release does not know, because the daemon is newer, becomes an untyped metric under its own name.

import ImgdSystem
import ImgdWire

/// The daemon's counters in the text exposition format of Prometheus.
package enum Metrics {
  /// All metrics, without a newline at the end; `program` is the one that shows them.
  package static func text(of statistics: DaemonStatistics, origins: [Reply] = [], by program: String) -> String {
    page(of: statistics, origins: origins, by: program).text
  }

  /// All metrics, for a program that adds its own.
  package static func page(of statistics: DaemonStatistics, origins: [Reply] = [], by program: String) -> MetricsPage {
    var page = MetricsPage()
    for family in MetricFamily.all {
      page.add(
        family.name, family.kind.rawValue, family.help,
        family.series.compactMap { series in statistics.real(series.path).map { (series.labels, $0) } })
    }
    for family in LatencyFamily.all { family.add(of: statistics, to: &page) }
    addStates(of: statistics, to: &page)
    OriginMetrics(origins).add(to: &page)
    addUnknown(of: statistics, to: &page, by: program)
    return page
  }

  /// Whether a number, named by its path in the answer, only grows.
  package static func isCounter(_ path: String) -> Bool {
    MetricFamily.counters.contains(path) || path.hasPrefix("latency_us.")
  }

  /// Seconds from microseconds, which the daemon reports with one decimal.
  static func seconds(_ microseconds: Double) -> Double { (microseconds * 10).rounded() / 1e7 }

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
    let servers = statistics.reply.object("fleet")?.objects("pictures") ?? []
    if !servers.isEmpty {
      page.add(
        "imgd_fleet_pictures_up", "gauge", "Whether a server for pictures can be used",
        servers.map { ([("server", $0.display("server"))], $0.text("state") == "ok" ? 1 : 0) })
    }
    if let last = statistics.text("pressure", "last").flatMap({ Timestamp.seconds(of: $0) }) {
      page.add(
        "imgd_pressure_last_event_timestamp_seconds", "gauge", "When memory was last short", [([], Double(last))])
    }
    if let network = statistics.reply.object("network") {
      page.add(
        "imgd_network_offline", "gauge", "Whether no route leads out of the machine",
        [([], network.flag("offline") == true ? 1 : 0)])
    }
    page.add(
      "imgd_disk_loading", "gauge", "Whether the daemon still reads the index of the disk tier",
      [([], statistics.reply.object("disk")?.flag("loading") == true ? 1 : 0)])
  }

  private static func addUnknown(of statistics: DaemonStatistics, to page: inout MetricsPage, by program: String) {
    for (path, value) in statistics.numbers
    where !MetricFamily.known.contains(path) && path.contains(".") && !path.hasPrefix("latency_us.") {
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
    let names = path.split(separator: ".").map(String.init)
    let part = names.dropLast().reduce(Optional(reply)) { $0?.object($1) }
    return names.last.flatMap { part?.fraction($0) }
  }
}

/// The lines of an exposition.
package struct MetricsPage {
  private var lines: [String] = []

  /// What tells a number from the others of its metric.
  package typealias Labels = [(name: String, value: String)]

  package init() {}

  /// All lines, without a newline at the end.
  package var text: String { lines.joined(separator: "\n") }

  /// Adds a metric with its values; adds nothing if the daemon has none.
  package mutating func add(
    _ name: String, _ type: String, _ help: String, _ samples: [(labels: Labels, value: Double)]
  ) {
    guard !samples.isEmpty else { return }
    begin(name, type, help)
    for sample in samples { add(name, sample.labels, sample.value) }
  }

  /// Adds a histogram with its buckets; adds nothing without a sample.
  package mutating func addHistogram(_ name: String, _ help: String, _ samples: [LatencySample]) {
    guard !samples.isEmpty else { return }
    begin(name, "histogram", help)
    for sample in samples {
      for (bound, count) in zip(LatencyBounds.seconds, sample.within) {
        add(name + "_bucket", sample.labels + [("le", "\(bound)")], Double(count))
      }
      add(name + "_bucket", sample.labels + [("le", "+Inf")], Double(sample.count))
      add(name + "_sum", sample.labels, sample.seconds)
      add(name + "_count", sample.labels, Double(sample.count))
    }
  }

  mutating func begin(_ name: String, _ type: String, _ help: String) {
    lines += ["# HELP \(name) \(help).", "# TYPE \(name) \(type)"]
  }

  mutating func add(_ name: String, _ labels: Labels, _ value: Double) {
    let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
    let number = Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    lines.append(name + (list.isEmpty ? "" : "{\(list)}") + " " + number)
  }

  private static func escaped(_ value: String) -> String {
    var text = ""
    for scalar in printable(value).unicodeScalars {
      if scalar == "\\" || scalar == "\"" { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return text
  }
}

/// One metric: its name, what it means, and the numbers of the daemon's answer that it is made of.
struct MetricFamily: Sendable {
  enum Kind: String, Sendable { case counter, gauge }

  /// One number, named by its path in the answer, with the labels that tell it from the others of its metric.
  struct Series: Sendable {
    let path: String
    let labels: [(name: String, value: String)]
  }

  let name: String
  let kind: Kind
  let help: String
  let series: [Series]

  private init(_ name: String, _ kind: Kind, _ help: String, _ series: [Series]) {
    self.name = "imgd_" + name
    self.kind = kind
    self.help = help
    self.series = series
  }

  private static func counter(_ name: String, _ help: String, _ path: String) -> MetricFamily {
    MetricFamily(name + "_total", .counter, help, [Series(path: path, labels: [])])
  }

  private static func gauge(_ name: String, _ help: String, _ path: String) -> MetricFamily {
    MetricFamily(name, .gauge, help, [Series(path: path, labels: [])])
  }

  /// A metric that both tiers have.
  private static func tiers(_ name: String, _ kind: Kind, _ help: String, _ field: String) -> MetricFamily {
    MetricFamily(
      name, kind, help, ["memory", "disk"].map { tier in Series(path: "\(tier).\(field)", labels: [("tier", tier)]) })
  }

  private static let cache = [
    tiers("cache_bytes", .gauge, "Size of the pictures that are kept", "bytes"),
    tiers("cache_entries", .gauge, "Pictures that are kept", "entries"),
    tiers("cache_capacity_bytes", .gauge, "The most that is kept", "capacity"),
    gauge("cache_configured_bytes", "The most that is kept in memory while memory is not short", "memory.configured"),
    tiers("cache_preferred_bytes", .gauge, "How much an eviction leaves", "preferred"),
    tiers("cache_hits_total", .counter, "Look-ups that found a picture", "hits"),
    tiers("cache_misses_total", .counter, "Look-ups that found none, with those that joined a download", "misses"),
    counter(
      "cache_coalesced",
      "Look-ups that no tier answered, and that joined a download under way: found, as the hit ratio has it",
      "memory.coalesced"), tiers("cache_insertions_total", .counter, "Pictures that were added", "insertions"),
    tiers("cache_replacements_total", .counter, "Pictures that took an older one's place", "replacements"),
    tiers("cache_evictions_total", .counter, "Pictures that were removed to make room", "evictions"),
    tiers("cache_evicted_bytes_total", .counter, "Size of the pictures removed to make room", "evicted_bytes"),
    tiers("cache_purges_total", .counter, "Pictures that were purged", "purges"),
    tiers("cache_lent_bytes", .gauge, "Size of the pictures that clients hold", "lent_bytes"),
    gauge("memory_pixel_bytes", "Size of the decoded pictures in memory", "memory.pixel_bytes"),
    gauge("disk_files", "Files of the disk tier", "disk.files"),
    gauge("disk_records", "Pictures whose bytes have gone before their forms", "disk.records"),
    counter("disk_write_errors", "Writes that the disk refused", "disk.write_errors"),
    counter("disk_corrupt", "Files that differed from what was stored", "disk.corrupt"),
    gauge("remembered_answers", "Answers that are no pictures and are kept", "failures.entries"),
    gauge("remembered_answers_bytes", "Size of the answers without a picture", "failures.bytes"),
    gauge("remembered_answers_capacity_bytes", "Size that the answers without a picture may have", "failures.capacity"),
    counter("remembered_answers_hits", "Answers without a picture that were given from memory", "failures.hits"),
  ]

  private static let downloads = [
    gauge("downloads_active", "Downloads that run", "downloads.active"),
    gauge("downloads_slow", "Running downloads that are slow", "downloads.slow"),
    gauge("downloads_queued", "Downloads that wait for their turn", "downloads.queued"),
    gauge("downloads_limit", "The most downloads that run at a time", "downloads.max_active"),
    gauge("downloads_peak", "The most downloads that have run at a time", "downloads.peak_active"),
    counter("downloads_started", "Downloads begun", "downloads.started"),
    counter("downloads_completed", "Downloads that brought a picture", "downloads.completed"),
    counter("downloads_failed", "Downloads that failed", "downloads.failed"),
    counter("downloads_cancelled", "Downloads that nobody wanted any more", "downloads.cancelled"),
    counter("downloads_coalesced", "Requests that joined a download", "downloads.coalesced"),
    counter("downloads_retries", "Further attempts after an error", "downloads.retries"),
    counter("downloads_revalidated", "Pictures that their origin confirmed", "downloads.revalidated"),
    counter("downloads_redirected", "Downloads that led to another URL", "downloads.redirected"),
    counter("downloads_resumed", "Downloads that went on where they broke off", "downloads.resumed"),
    counter("downloads_received_bytes", "Bytes of bodies from origins", "downloads.bytes_received"),
    gauge("origin_connections", "Open connections to origins", "downloads.connections"),
    counter("origin_connections_opened", "Requests over new connections", "downloads.connections_opened"),
    counter("origin_connections_reused", "Requests over kept connections", "downloads.connections_reused"),
    counter("origin_tls_handshakes", "Full TLS handshakes with origins", "downloads.tls_handshakes"),
    counter("origin_tls_resumed", "TLS handshakes that resumed a session", "downloads.tls_resumed"),
    counter("network_outages", "Times that the last route out of the machine has gone", "network.outages"),
    counter("downloads_interrupted", "Downloads that broke off with the network", "network.interrupted"),
    gauge("queue_requests", "Fetches under way", "queue.requests"),
    gauge("queue_bytes", "Memory that fetches under way hold", "queue.bytes"),
  ]

  private static let fleet = [
    counter("fleet_hits", "Look-ups in the fleet's server that found a picture", "fleet.hits"),
    counter("fleet_misses", "Look-ups in the fleet's server that found none", "fleet.misses"),
    counter("fleet_waits", "Look-ups that waited for another host", "fleet.waits"),
    counter("fleet_timeouts", "Look-ups that the server did not answer in time", "fleet.timeouts"),
    counter("fleet_stores", "Pictures that were stored in the server", "fleet.stores"),
    counter("fleet_refused", "Pictures that the server did not take", "fleet.refused"),
    counter("fleet_overtaken", "Pictures that came too late for the server, as after a purge", "fleet.overtaken"),
    counter("fleet_invalid", "Values of the server that were of no use", "fleet.invalid"),
    counter("fleet_read_bytes", "Size of the pictures from the server", "fleet.bytes_read"),
    counter("fleet_stored_bytes", "Size of the pictures for the server", "fleet.bytes_stored"),
    gauge("fleet_memory_limit_bytes", "The most that the fleet's server keeps, 0 for no limit", "fleet.maxmemory"),
    gauge(
      "fleet_clock_ahead_seconds", "How far the server's clock is ahead of this machine's, or behind it",
      "fleet.clock_ahead_s"),
    counter("fleet_purges_sent", "Purges that were sent to other hosts", "fleet.purges.sent"),
    counter("fleet_purges_heard", "Purges that were heard of other hosts", "fleet.purges.heard"),
    gauge("fleet_purges_pending", "Purges that wait for the server", "fleet.purges.pending"),
    gauge("fleet_purges_waiting", "Purges of other hosts that are being carried out", "fleet.purges.waiting"),
    counter("fleet_purges_gaps", "Times that purges of other hosts may have been missed", "fleet.purges.gaps"),
  ]

  private static let decoding = [
    gauge("decode_workers", "Decoders that take orders", "decode.workers"),
    gauge("decode_workers_limit", "The most decoders that run at a time", "decode.max_workers"),
    gauge("decode_active", "Decoders that have an order", "decode.active"),
    gauge("decode_queued", "Orders that wait for a decoder", "decode.queued"),
    counter("decode_completed", "Orders carried out", "decode.completed"),
    counter("decode_failed", "Orders that failed", "decode.failed"),
    counter("decode_killed", "Decoders that ended over an order", "decode.killed"),
  ]

  private static let process = [
    gauge("clients_connected", "Connected clients", "clients.connected"),
    counter("clients_accepted", "Connections accepted", "clients.accepted"),
    counter("clients_rejected", "Connections refused", "clients.rejected"),
    counter("clients_commands", "Commands received", "clients.commands"),
    counter("clients_errors", "Commands answered with an error", "clients.errors"),
    counter("clients_slow_closed", "Connections closed because nothing was read", "clients.slow_closed"),
    counter("pressure_events", "Times that memory was short", "pressure.events"),
    counter("pressure_removed_bytes", "Size of the pictures removed when memory was short", "pressure.removed_bytes"),
    MetricFamily(
      "held_bytes", .gauge, "Memory that the daemon holds, by what it is for",
      [
        "base", "pictures", "variants", "failures", "requests", "outcomes", "clients", "transfers", "decoding", "fleet",
        "disk", "unused",
      ].map { Series(path: "held.\($0)", labels: [("part", $0)]) }),
    gauge("uptime_seconds", "Time since the daemon started", "process.uptime_s"),
    gauge("resident_memory_bytes", "Resident memory", "process.rss_bytes"),
    gauge("private_memory_bytes", "Resident memory that is shared with nobody", "process.private_bytes"),
    gauge("open_fds", "Open file descriptors", "process.open_fds"),
  ]

  static let all = cache + downloads + fleet + decoding + process

  /// The numbers that only grow.
  static let counters = Set(all.filter { $0.kind == .counter }.flatMap { $0.series.map { $0.path } })

  /// The numbers that have a metric here, and those that need none: a sum of others, and the process id.
  static let known = Set(all.flatMap { $0.series.map { $0.path } }).union(["held.total", "process.pid"])
}

/// Latencies as a histogram, whose buckets may be added over hosts.
private struct LatencyFamily {
  let name: String
  let help: String
  /// The objects of `latency_us`, with the labels that tell them apart.
  let series: [(field: String, labels: MetricsPage.Labels)]

  static let all = [
    LatencyFamily(
      name: "request_duration", help: "from a request to its answer",
      series: ["hit", "fetch"].map { ($0, [("kind", $0)]) }),
    LatencyFamily(
      name: "download_wait", help: "for which downloads waited for their turn", series: [("download_wait", [])]),
    LatencyFamily(name: "download_duration", help: "that downloads took", series: [("download", [])]),
    LatencyFamily(name: "decode_wait", help: "for which orders waited for a decoder", series: [("decode_wait", [])]),
    LatencyFamily(name: "decode_duration", help: "for which decoders had an order", series: [("decode", [])]),
    LatencyFamily(
      name: "fleet_lookup_duration", help: "from a question to the fleet's server to its answer",
      series: [("fleet", [])]),
  ]

  func add(of statistics: DaemonStatistics, to page: inout MetricsPage) {
    let latencies = statistics.reply.object("latency_us")
    page.addHistogram(
      "imgd_\(name)_seconds", "Time \(help)",
      series.compactMap { field, labels in
        guard let times = latencies?.object(field), let counts = times.numbers("buckets"),
          let count = times.number("count"), let sum = times.fraction("sum")
        else { return nil }
        return LatencySample(labels: labels, within: counts, count: count, seconds: Metrics.seconds(sum))
      })
  }
}

/// How long things took, as a metric has it.
package struct LatencySample {
  let labels: MetricsPage.Labels
  /// How many took at most as long as each of `LatencyBounds`.
  let within: [Int]
  let count: Int
  /// Of all together.
  let seconds: Double

  package init(labels: MetricsPage.Labels, within: [Int], count: Int, seconds: Double) {
    self.labels = labels
    self.within = within
    self.count = count
    self.seconds = seconds
  }
}
