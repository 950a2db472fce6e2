@testable import ImgdConnection
@testable import ImgdSystem
@testable import ImgdWire

extension FuzzTarget {
  /// What a client makes of the daemon's lines: answers, events, counters.
  static let replies = FuzzTarget("replies", of: ["ImgdConnection/Reply.swift", "ImgdConnection/Metrics.swift"]) {
    bytes in
    guard let reply = try? Reply(bytes, from: "/s") else { return }
    expect((try? Reply(Array(reply.json.utf8), from: "/s"))?.json == reply.json, "a line survives")
    for name in reply.fields + ["id", "error", "fds", "entries", "event"] {
      _ = (reply.text(name), reply.number(name), reply.fraction(name), reply.flag(name), reply.display(name))
      expect((reply.objects(name)?.count ?? 0) <= bytes.count, "no more objects than bytes")
      _ = (reply.texts(name), reply.numbers(name), reply.object(name)?.members.count)
    }
    _ = (reply.succeeded, reply.id, reply.errorCode, reply.isRetryable, reply.errorMessage, reply.event)
    checkMetrics(reply)
  }

  /// Each line of metrics is a comment, or a name, labels and a number: nothing that the daemon says breaks out.
  private static func checkMetrics(_ reply: Reply) {
    let statistics = DaemonStatistics(reply: reply, moment: Instant(nanoseconds: 0))
    expect(statistics.hits >= 0 || statistics.numbers.contains { $0.value < 0 }, "sums do not turn over")
    let text = Metrics.text(of: statistics, origins: [reply] + (reply.objects("origins") ?? []), by: "fuzz")
    for line in text.utf8.split(separator: 0x0A) where line.first != UInt8(ascii: "#") {
      guard let blank = line.lastIndex(of: 0x20) else { fatalError("a sample has a value") }
      expect(Double(String(Substring(line[line.index(after: blank)...]))) != nil, "a value is a number")
      expect(line.starts(with: "imgd_".utf8), "a name is one of imgd's")
    }
  }
}
