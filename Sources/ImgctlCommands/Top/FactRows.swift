import ImgdConnection
import ImgdSystem
import ImgdWire

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
    return [line]
  }

  private static func latency(_ kind: String, _ statistics: DaemonStatistics) -> String {
    let times = statistics.reply.object("latency_us")?.object(kind)
    guard let times, times.number("count") ?? 0 > 0 else { return "no \(kind) yet" }
    let texts = ["p50", "p99"].map { Quantity.time(microseconds: times.fraction($0) ?? 0) }
    return "\(kind) p50 \(texts[0]), p99 \(texts[1])"
  }
}
