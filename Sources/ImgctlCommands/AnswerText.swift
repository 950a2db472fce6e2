import ImgdConnection
import ImgdSystem

/// Text for people, made from the daemon's answers.
enum AnswerText {
  /// The path of a picture's file, or a description of a picture that is in no file.
  static func fetched(_ url: String, _ reply: Reply) -> String {
    if let path = reply.text("path") { return path }
    let size = "\(reply.number("width") ?? 0)x\(reply.number("height") ?? 0)"
    let bytes = reply.number("bytes") ?? 0
    return printable(
      "\(url): \(reply.text("format") ?? "?") \(size) \(bytes) bytes (\(reply.text("source") ?? "?"))"
    )
  }

  /// The number of cancelled fetches, or the state of the one that was named.
  static func cancelled(_ reply: Reply) -> String {
    if let count = reply.number("cancelled") { return "cancelled \(count)" }
    return printable(reply.text("state") ?? "unknown")
  }

  /// How much a purge removed from each tier.
  static func purged(_ reply: Reply, soft: Bool) -> String {
    let tiers = ["memory", "disk"].compactMap { tier in
      if reply.text(tier) == "pending" { return "\(tier): as soon as it can be written" }
      return reply.object(tier).map { counts in
        let entries = counts.number("entries") ?? 0
        let word = entries == 1 ? "entry" : "entries"
        return "\(tier): \(entries) \(word), \(roughly(counts.number("bytes") ?? 0))"
      }
    }
    return (soft ? "marked as stale in " : "removed from ") + tiers.joined(separator: "; ")
  }

  /// The keys that a reload has changed, and those that need a restart.
  static func reloaded(_ reply: Reply) -> String {
    let changed = (reply.texts("changed") ?? []).map { printable($0) }
    let waiting = (reply.texts("needs_restart") ?? []).map { printable($0) }
    let first =
      changed.isEmpty ? "no value has changed" : "changed: " + changed.joined(separator: ", ")
    guard !waiting.isEmpty else { return first }
    return first + "\nneeds a restart: " + waiting.joined(separator: ", ")
  }

  /// A size with two or three significant digits and a unit.
  static func roughly(_ bytes: Int) -> String {
    guard bytes >= 1024 else { return "\(bytes) bytes" }
    var tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024
    var units = ["K", "M", "G", "T", "P", "E"][...]
    while tenths >= 10_240, units.count > 1 {
      tenths /= 1024
      units.removeFirst()
    }
    let unit = units.first ?? ""
    return tenths < 100 ? "\(tenths / 10).\(tenths % 10)\(unit)" : "\(tenths / 10)\(unit)"
  }
}
