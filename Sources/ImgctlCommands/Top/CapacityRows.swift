import ImgdConnection
import ImgdSystem

/// Draws how full the tiers, the places for downloads and the decoders are.
struct CapacityRows {
  private let glyphs: Glyphs
  private let columns: Int

  init(_ glyphs: Glyphs, columns: Int) {
    self.glyphs = glyphs
    self.columns = columns
  }

  func lines(_ statistics: DaemonStatistics) -> [ScreenLine] {
    ["memory", "disk"].map { tier($0, statistics) } + [
      filled(
        "downloads", statistics.number("downloads", "active"), of: statistics.number("downloads", "max_active"),
        "\(statistics.number("downloads", "queued")) wait" + failures("downloads", statistics)),
      filled(
        "decoders", statistics.number("decode", "active"),
        // Decoders are started on demand, so the bar shows how many there may be.
        of: max(statistics.number("decode", "max_workers"), statistics.number("decode", "workers")),
        "\(statistics.number("decode", "queued")) wait" + failures("decode", statistics)),
    ]
  }

  private func failures(_ object: String, _ statistics: DaemonStatistics) -> String {
    let count = statistics.number(object, "failed")
    return count > 0 ? ", \(count) failed" : ""
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

  private func filled(_ label: String, _ used: Int, of all: Int, _ waiting: String) -> ScreenLine {
    bar(label, "\(used)", share(used, all), "of \(all), \(waiting)")
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
