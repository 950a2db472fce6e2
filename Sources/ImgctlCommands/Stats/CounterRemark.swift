import ImgdConnection

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
      let share =
        field == "bytes"
        ? Quantity.share(number, of: part.number("capacity") ?? 0).map { ", \($0) of the capacity" } : nil
      return Quantity.size(number) + (share ?? "")
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
