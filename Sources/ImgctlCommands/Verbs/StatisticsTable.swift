import ImgdConnection
import ImgdSystem

/// The daemon's counters for people: every field of the answer, in its order, with a remark where a number says
/// little by itself.
struct StatisticsTable {
  let statistics: DaemonStatistics
  /// With it, the table has the changes of the counters as well.
  var interval: Interval?
  let socket: String

  /// The table, without the numbers that do not satisfy a condition.
  func lines(_ palette: Palette, where isShown: (_ path: String) -> Bool = { _ in true }) -> [String] {
    heading(palette) + sections(palette, where: isShown)
  }

  /// The paths of the numbers that fit into `room` lines: first the wanted ones, then as many of the others as fit,
  /// both in the table's order.
  func paths(in room: Int, first wanted: Set<String>) -> Set<String> {
    let plain = Palette(.never, isTerminal: false, environment: [:])
    let paths = parts.flatMap { $0.rows.map { $0.path } }
    var left = room - heading(plain).count
    var shown: Set<String> = []
    var drawn: Set<Substring> = []
    for isWanted in [true, false] {
      for path in paths where wanted.contains(path) == isWanted {
        let section = path.prefix { $0 != "." }
        // The first row of a section comes with its title.
        let cost = drawn.contains(section) ? 1 : 2
        guard cost <= left else { continue }
        left -= cost
        drawn.insert(section)
        shown.insert(path)
      }
    }
    return shown
  }

  private var parts: [(name: String, rows: [(path: String, row: Row)])] {
    statistics.reply.fields.compactMap { name in
      statistics.reply.object(name).map { (name: name, rows: rows(of: $0, under: name + ".", named: "")) }
    }
  }

  private func heading(_ palette: Palette) -> [String] {
    let version = printable(statistics.text("process", "version") ?? "?")
    let uptime = Quantity.time(seconds: statistics.number("process", "uptime_s"))
    return [
      palette("imgd \(version)", .heading) + ", up \(uptime), at \(printable(socket))", "from the cache: " + answered,
    ]
  }

  /// The hit ratio of all tiers together, and each tier's part in it.
  private var answered: String {
    let lookups = statistics.lookups("memory")
    let memory = statistics.number("memory", "hits")
    let fleet = statistics.number("fleet", "hits")
    let coalesced = statistics.number("memory", "coalesced")
    let disk = statistics.hits - memory - fleet - coalesced
    guard let all = Quantity.share(statistics.hits, of: lookups),
      let fromMemory = Quantity.share(memory, of: lookups), let fromDisk = Quantity.share(disk, of: lookups)
    else { return "nothing was looked up" }
    let fromFleet = fleet > 0 ? Quantity.share(fleet, of: lookups).map { ", \($0) from the fleet" } : nil
    let joined = coalesced > 0 ? Quantity.share(coalesced, of: lookups).map { ", \($0) joined a download" } : nil
    return "\(all) of \(lookups) look-ups (\(fromMemory) from memory, \(fromDisk) from disk"
      + "\(fromFleet ?? "")\(joined ?? ""))"
  }

  private struct Row {
    let texts: [String]
    let style: Style?
  }

  private func sections(_ palette: Palette, where isShown: (_ path: String) -> Bool) -> [String] {
    let sections = parts.map { ($0.name, $0.rows.filter { isShown($0.path) }.map { $0.row }) }.filter { !$0.1.isEmpty }
    // Sections are drawn with the same columns, so that a value is where the eye expects it.
    var columns = Columns([.left, .right, .right, .right, .left])
    for (_, rows) in sections { for row in rows { columns.fit(row.texts) } }
    return sections.flatMap { name, rows in
      [palette(printable(name), .heading)]
        + rows.map { row in
          var cells = columns.cells(row.texts)
          if cells.count > 1 { cells[1] = palette(cells[1], row.style) }
          return "  " + cells.filter { !$0.isEmpty }.joined(separator: "  ")
        }
    }
  }

  private func rows(of part: Reply, under path: String, named prefix: String) -> [(path: String, row: Row)] {
    part.fields.flatMap { field -> [(path: String, row: Row)] in
      if let inner = part.object(field) {
        return rows(of: inner, under: path + field + ".", named: prefix + field + ".")
      }
      return [(path + field, row(field, of: part, path + field, prefix + field))]
    }
  }

  private func row(_ field: String, of part: Reply, _ path: String, _ name: String) -> Row {
    let value = printable(part.display(field))
    let remark = CounterRemark.text(field, of: part, path)
    let style = CounterRemark.style(of: value, path)
    // A list is not a number, so columns cannot align it.
    if part.number(field) == nil, TextWidth.of(value) > 20 {
      return Row(texts: [printable(name), "", "", "", value], style: style)
    }
    return Row(texts: [printable(name), value] + changes(path) + [remark], style: style)
  }

  /// The change of a number, and for a counter how fast it grows.
  private func changes(_ path: String) -> [String] {
    let change = interval.map { $0.after.number(at: path) &- $0.before.number(at: path) } ?? 0
    guard let interval, change != 0 else { return ["", ""] }
    let rate = Metrics.isCounter(path) ? Quantity.rate(Double(change) / interval.seconds) + "/s" : ""
    return [change > 0 ? "+\(change)" : "\(change)", rate]
  }
}

/// Remarks about counters: a size with its unit, a share, whether a value is worrying.
enum CounterRemark {
  /// The remark after a value; empty if the value speaks for itself.
  static func text(_ field: String, of part: Reply, _ path: String) -> String {
    guard let number = part.number(field) else { return time(field, of: part) }
    if field == "hits" {
      let lookups = Double(number) + Double(part.number("misses") ?? 0)
      return Quantity.share(number, of: Int(min(lookups, 9e18))).map { $0 + " of the look-ups here" } ?? ""
    }
    if field == "uptime_s" { return Quantity.time(seconds: number) }
    if isSize(field, path), number >= 1024 {
      let share = field == "bytes" ? Quantity.share(number, of: part.number("capacity") ?? 0) : nil
      return Quantity.size(number) + (share.map { ", \($0) of the capacity" } ?? "")
    }
    return time(field, of: part)
  }

  /// How a value that deserves attention is coloured.
  static func style(of value: String, _ path: String) -> Style? {
    switch (path, value) {
    case (_, "0"), (_, "-"): nil
    case ("disk.write_errors", _), ("disk.corrupt", _), ("decode.killed", _): .bad
    case ("clients.rejected", _), ("clients.slow_closed", _): .doubtful
    case ("fleet.purges.gaps", _), ("fleet.purges.pending", _), ("fleet.invalid", _): .doubtful
    case ("disk.state", "ok"), ("decode.sandbox", "full"), ("fleet.state", "ok"): .good
    case ("disk.state", "read-only"), ("disk.state", "down"), ("fleet.state", "down"), ("fleet.state", "refused"): .bad
    case ("disk.state", _), ("disk.reason", _), ("decode.sandbox", _), ("pressure.note", _), ("decode.note", _),
      ("fleet.state", _), ("fleet.reason", _):
      .doubtful
    default: nil
    }
  }

  /// Whether a number counts bytes.
  private static func isSize(_ field: String, _ path: String) -> Bool {
    field.hasPrefix("bytes") || field.hasSuffix("bytes") || path.hasPrefix("held.") || field == "capacity"
      || field == "configured" || field == "preferred"
  }

  private static func time(_ field: String, of part: Reply) -> String {
    guard ["p50", "p90", "p99", "max"].contains(field), let microseconds = part.fraction(field), microseconds >= 1000
    else { return "" }
    return Quantity.time(microseconds: microseconds)
  }
}
