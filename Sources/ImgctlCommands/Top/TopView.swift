import ImgdConnection
import ImgdSystem
import ImgdWire

/// Draws the state of `top` for a terminal of any size: what does not fit is left out at the bottom, and lines are cut.
struct TopView {
  let palette: Palette
  let glyphs: Glyphs
  let delay: Duration

  func lines(_ state: TopState, in size: TerminalSize, at time: LocalTime) -> [String] {
    let isHigh = size.rows >= 26
    let gap = isHigh ? [ScreenLine()] : []
    var lines = heading(state, size, time) + gap
    if state.showsKeys {
      lines += Self.keys.map { ScreenLine($0) }
    } else if let latest = state.latest {
      let statistics = latest.statistics
      lines += TrafficRows(glyphs: glyphs, columns: size.columns).lines(state.history, plotRows: isHigh ? 3 : 1)
      lines += gap
      lines += CapacityRows(glyphs: glyphs, columns: size.columns).lines(statistics) + gap
      lines += FactRows.lines(statistics) + gap
      lines += lists(latest, in: size.columns, rows: size.rows - lines.count - 1, gap: gap)
    }
    lines = Array(lines.prefix(max(size.rows - 1, 0)))
    while lines.count < size.rows - 1 { lines.append(ScreenLine()) }
    lines.append(footer(state))
    return lines.map { $0.drawn(within: size.columns, palette) }
  }

  /// The fetches, and below them the latest failures and the busiest hosts, as far as these leave room for some fetches.
  private func lists(_ look: Look, in columns: Int, rows: Int, gap: [ScreenLine]) -> [ScreenLine] {
    var left = rows - min(look.fetches.count + 2, 6)
    let room = { (most: Int) in min(most, left - gap.count) }
    let failures = gap + FailureRows.lines(look.failures, in: columns, rows: room(4))
    if failures.count > gap.count { left -= failures.count }
    let hosts = gap + HostRows.lines(look.hosts, in: columns, rows: room(6))
    let below = [failures, hosts].filter { $0.count > gap.count }.flatMap { $0 }
    return FetchRows(glyphs: glyphs).lines(look.fetches, of: look.statistics, in: columns, rows: rows - below.count)
      + below
  }

  private static let keys = [
    "q, Ctrl-C   quit", "p, space    pause, and go on", "Ctrl-Z      stop, until the shell goes on with fg",
    "?           these keys, or the numbers again", "",
    "rates       are averages of three seconds",
    "p50, p99    so long take half of the answers at most, and all but one in a hundred",
    "held 14s    the host has asked to be left alone for so long", "3x          three requests wait for this download",
  ]

  private func heading(_ state: TopState, _ size: TerminalSize, _ time: LocalTime) -> [ScreenLine] {
    var first = ScreenLine("imgd", .heading)
    if let statistics = state.latest?.statistics {
      first.add(" " + printable(statistics.text("process", "version") ?? "?"), .heading)
      first.add("  up " + Quantity.time(seconds: statistics.number("process", "uptime_s")))
    }
    first.add("  " + printable(state.socket), .faint)
    if first.width + 10 <= size.columns {
      first.move(to: size.columns - 8)
      first.add(time.text)
    }
    return [first] + (state.problem.map { [ScreenLine("no connection: " + printable($0), .bad)] } ?? [])
  }

  private func footer(_ state: TopState) -> ScreenLine {
    var line = ScreenLine("q", .heading)
    line.add(" quit  ")
    line.add("p", .heading)
    line.add(state.isPaused ? " go on  " : " pause  ")
    line.add("?", .heading)
    line.add(state.showsKeys ? " numbers  " : " keys  ")
    if state.isPaused { line.add("paused", .doubtful) } else { line.add("every \(DurationText.text(delay))", .faint) }
    return line
  }
}

/// Draws the traffic: the hit ratio, hits, misses and downloads, each with its history.
struct TrafficRows {
  let glyphs: Glyphs
  let columns: Int

  func lines(_ history: [Traffic], plotRows: Int) -> [ScreenLine] {
    let latest = history.last
    let ratio = latest?.ratio.flatMap { Quantity.share(Int(($0 * 1e6).rounded()), of: 1_000_000) }
    return plotted("hit ratio", ratio ?? "-", history.map { $0.ratio }, top: 1, rows: plotRows)
      + plotted("hits", rate(latest?.hits), history.map { $0.hits })
      + plotted("misses", rate(latest?.misses), history.map { $0.misses })
      + plotted("downloaded", rate(latest?.downloads), history.map { $0.downloads })
      + plotted(
        "received", latest.map { Quantity.shortSize(Int(min($0.bytes, 9e18))) + "/s" } ?? "-", history.map { $0.bytes })
  }

  private func rate(_ value: Double?) -> String { value.map { Quantity.rate($0) + "/s" } ?? "-" }

  private func plotted(_ label: String, _ value: String, _ values: [Double?], top: Double? = nil, rows: Int = 1)
    -> [ScreenLine]
  {
    var first = ScreenLine(label: label, value)
    let room = columns - first.width - 2
    guard room >= 8 else { return [first] }
    let shown = values.suffix(room)
    let highest = top ?? shown.reduce(0) { max($0, $1 ?? 0) }
    let plot = glyphs.plot(Array(shown), top: highest, columns: room, rows: rows)
    let margin = first.width + 2
    first.add("  ")
    first.add(plot[0], .accent)
    return [first]
      + plot.dropFirst().map { row in
        var line = ScreenLine(String(repeating: " ", count: margin))
        line.add(row, .accent)
        return line
      }
  }
}

/// Draws how full the tiers, the places for downloads and the decoders are.
struct CapacityRows {
  let glyphs: Glyphs
  let columns: Int

  func lines(_ statistics: DaemonStatistics) -> [ScreenLine] {
    // Decoders are started on demand, so the bar shows how many there may be.
    let decoders = max(statistics.number("decode", "max_workers"), statistics.number("decode", "workers"))
    return ["memory", "disk"].map { tier($0, statistics) } + [
      places("downloads", "downloads", of: statistics.number("downloads", "max_active"), statistics),
      places("decoders", "decode", of: decoders, statistics),
    ]
  }

  private func tier(_ name: String, _ statistics: DaemonStatistics) -> ScreenLine {
    let bytes = statistics.number(name, "bytes")
    let capacity = statistics.number(name, "capacity")
    let state = statistics.text(name, "state").flatMap { $0 == "ok" ? nil : printable($0) }
    let entries = statistics.number(name, "entries")
    // While memory is short, a tier may hold less than is configured.
    let configured = statistics.number(name, "configured")
    let remark =
      "of \(Quantity.shortSize(capacity))"
      + (configured > capacity ? " now, \(Quantity.shortSize(configured)) configured" : "")
      + ", \(entries) \(entries == 1 ? "entry" : "entries")"
      + (statistics.reply.object(name)?.flag("loading") == true ? ", loading" : "")
    return bar(name, Quantity.shortSize(bytes), share(bytes, capacity), remark, warning: state)
  }

  private func places(_ label: String, _ object: String, of all: Int, _ statistics: DaemonStatistics) -> ScreenLine {
    let (used, failed) = (statistics.number(object, "active"), statistics.number(object, "failed"))
    let remark = "of \(all), \(statistics.number(object, "queued")) wait" + (failed > 0 ? ", \(failed) failed" : "")
    return bar(label, "\(used)", share(used, all), remark)
  }

  private func share(_ part: Int, _ whole: Int) -> Double { whole > 0 ? Double(part) / Double(whole) : 0 }

  private func bar(_ label: String, _ value: String, _ share: Double, _ remark: String, warning: String? = nil)
    -> ScreenLine
  {
    var line = ScreenLine(label: label, value)
    let room = min(columns - line.width - 30, 40)
    guard columns - line.width >= 10 else { return line }
    line.add(" ")
    if room >= 6 {
      line.add("[")
      line.add(glyphs.bar(share, cells: room), .accent)
      line.add("] ")
    }
    line.add(remark)
    if let warning { line.add(" " + warning, .bad) }
    return line
  }
}

/// Draws the fetches under way, each with a bar.
struct FetchRows {
  private static let barWidth = 12
  /// The fewest columns that have room for bars.
  private static let wide = 60

  let glyphs: Glyphs

  /// A title and as many of the fetches as there are rows for.
  func lines(_ fetches: [Reply], of statistics: DaemonStatistics, in columns: Int, rows: Int) -> [ScreenLine] {
    guard rows >= 2 else { return [] }
    let all = max(statistics.number("queue", "requests"), fetches.count)
    let titles = columns >= Self.wide && rows >= 3 && !fetches.isEmpty ? [Self.titles] : []
    let shown = fetches.prefix(rows - 1 - titles.count)
    var title = ScreenLine(all == 1 ? "1 fetch" : "\(all) fetches", .heading)
    if shown.count < all { title.add(", the oldest \(shown.count)") }
    return [title] + titles + shown.map { row($0, columns) }
  }

  private static var titles: ScreenLine {
    let text =
      TextWidth.padded("PROGRESS", to: barWidth)
      + [("DONE", 7), ("BYTES", 7), ("AGE", 10), ("WAIT", 5)].map { TextWidth.padded($0.0, to: $0.1, onLeft: true) }
      .joined() + "  URL"
    return ScreenLine(text, .faint)
  }

  private func row(_ fetch: Reply, _ columns: Int) -> ScreenLine {
    let received = fetch.number("received") ?? 0
    let expected = fetch.number("expected") ?? 0
    let isQueued = fetch.text("state") == "queued"
    let share = expected > 0 ? Quantity.share(received, of: expected) : nil
    var line = ScreenLine()
    if columns >= Self.wide {
      let bar = glyphs.bar(expected > 0 ? Double(received) / Double(expected) : 0, cells: Self.barWidth)
      line.add(isQueued ? TextWidth.padded(queued(fetch), to: Self.barWidth) : bar, isQueued ? .faint : .accent)
      line.add(TextWidth.padded(share ?? "", to: 7, onLeft: true))
      line.add(TextWidth.padded(Quantity.shortSize(received), to: 7, onLeft: true))
      line.add(TextWidth.padded(age(fetch), to: 10, onLeft: true))
      let waiters = fetch.number("waiters") ?? 1
      line.add(TextWidth.padded(waiters > 1 ? "\(waiters)x" : "", to: 5, onLeft: true) + "  ")
    } else {
      line.add(TextWidth.padded(isQueued ? "queued" : share ?? age(fetch), to: 7))
    }
    line.add(printable(fetch.text("url") ?? "?", longest: columns))
    return line
  }

  /// Whether a fetch is held until its host may be asked again, or just waits for its turn.
  private func queued(_ fetch: Reply) -> String {
    fetch.number("retry_after_ms").map { "held " + Quantity.time(roundedUp: .milliseconds($0)) } ?? "queued"
  }

  private func age(_ fetch: Reply) -> String { Quantity.time(milliseconds: fetch.number("age_ms") ?? 0) }
}

/// Draws the latest failures.
enum FailureRows {
  static func lines(_ failures: [Reply], in columns: Int, rows: Int) -> [ScreenLine] {
    guard !failures.isEmpty, rows >= 2 else { return [] }
    return [ScreenLine("latest failures", .heading)]
      + failures.prefix(rows - 1).map { failure in
        let status = failure.number("status").map { " \($0)" } ?? ""
        var line = ScreenLine(TextWidth.padded(printable(failure.display("code")) + status, to: 20), .bad)
        let last = failure.text("last").flatMap { Timestamp.seconds(of: $0) }
        line.add(TextWidth.padded(last.map { LocalTime(secondsSince1970: $0).text } ?? "", to: 9))
        let times = failure.number("times") ?? 1
        line.add(TextWidth.padded(times > 1 ? "\(times)x" : "", to: 6, onLeft: true) + "  ")
        line.add(printable(failure.text("url") ?? "?", longest: columns))
        return line
      }
  }
}

/// Draws the busiest hosts.
enum HostRows {
  static func lines(_ hosts: [Reply], in columns: Int, rows: Int) -> [ScreenLine] {
    guard !hosts.isEmpty, rows >= 2 else { return [] }
    let titles = ["REQUESTS", "HITS", "ERRORS", "RECEIVED"].map { TextWidth.padded($0, to: 10, onLeft: true) }
    return [ScreenLine(titles.joined() + "  HOST", .faint)]
      + hosts.prefix(rows - 1).map { host in
        let requests = host.number("requests") ?? 0
        let hits = (host.number("hits") ?? 0).addingReportingOverflow(host.number("coalesced") ?? 0).partialValue
        let numbers = [
          "\(requests)", Quantity.share(hits, of: requests) ?? "-", printable(host.display("errors")),
          Quantity.shortSize(host.number("bytes_received") ?? 0),
        ]
        let cells = numbers.map { TextWidth.padded($0, to: 10, onLeft: true) }.joined()
        return ScreenLine(cells + "  " + printable(host.text("host") ?? "?", longest: columns))
      }
  }
}

/// Draws what has no capacity: clients and how fast they are answered, memory pressure, the sandbox.
enum FactRows {
  static func lines(_ statistics: DaemonStatistics) -> [ScreenLine] {
    var clients = ScreenLine(label: "clients", "\(statistics.number("clients", "connected"))")
    clients.add("  answers: " + ["hit", "fetch"].map { latency($0, statistics) }.joined(separator: ", "))
    var pressure = ScreenLine(label: "pressure", "\(statistics.number("pressure", "events"))")
    let source = statistics.text("pressure", "source") ?? "none"
    pressure.add(["off", "none"].contains(source) ? "  not watched" : "  seen by " + printable(source))
    if let last = statistics.text("pressure", "last") {
      let local = Timestamp.seconds(of: last).map { LocalTime(secondsSince1970: $0).withDate }
      pressure.add(", last " + (local ?? printable(last)))
    }
    let sandbox = statistics.text("decode", "sandbox") ?? "?"
    pressure.add(", decoder's sandbox ")
    pressure.add(printable(sandbox), sandbox == "full" ? .good : .doubtful)
    return [clients, pressure] + fleet(statistics)
  }

  /// Nothing if this machine is in no fleet.
  private static func fleet(_ statistics: DaemonStatistics) -> [ScreenLine] {
    guard let fleet = statistics.reply.object("fleet"), let state = fleet.text("state") else { return [] }
    var line = ScreenLine(label: "fleet", "\(fleet.number("hits") ?? 0)")
    line.add(" hits, \(fleet.number("stores") ?? 0) stored, purges ")
    let purges = fleet.object("purges")
    line.add(["sent", "heard", "pending"].map { "\(purges?.number($0) ?? 0) \($0)" }.joined(separator: ", "))
    line.add("  ")
    line.add(printable(state), state == "ok" ? .good : .bad)
    if let reason = fleet.text("reason") { line.add(": " + printable(reason), .faint) }
    let away = fleet.objects("pictures")?.count { $0.text("state") != "ok" } ?? 0
    if away > 0 { line.add(", servers for pictures that are away: \(away)", .doubtful) }
    return [line]
  }

  private static func latency(_ kind: String, _ statistics: DaemonStatistics) -> String {
    let times = statistics.reply.object("latency_us")?.object(kind)
    guard let times, times.number("count") ?? 0 > 0 else { return "no \(kind) yet" }
    let texts = ["p50", "p99"].map { Quantity.time(microseconds: times.fraction($0) ?? 0) }
    return "\(kind) p50 \(texts[0]), p99 \(texts[1])"
  }
}
