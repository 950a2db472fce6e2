import ImgdConnection
import ImgdWire

/// The events of a stream, as bytes that all viewers get.
enum EventFrame {
  /// The length at which URLs in the list of fetches are cut off: people read that list.
  private static let longestURL = 512

  /// The beginning of a stream: how soon to connect again when it is lost, and the past five minutes.
  static func history(_ history: TrafficHistory) -> [UInt8] {
    event("history", after: "retry: 2000\n") { history.write(to: &$0) }
  }

  /// The daemon at this moment: all its counters, the newest sample, and the fetches under way.
  static func look(_ statistics: DaemonStatistics, _ history: TrafficHistory, fetches: Reply, purges: Bool) -> [UInt8] {
    event("look") { line in
      line.object { line in
        line.name("sample")
        history.writeLast(to: &line)
        line.field("purges", purges)
        line.array("fetches") { line in for fetch in fetches.objects("jobs") ?? [] { write(fetch, to: &line) } }
        line.field("more", fetches.text("cursor") != nil)
        line.name("stats")
        line.encoded(Array(statistics.reply.json.utf8))
      }
    }
  }

  /// The event for a daemon that does not answer.
  static func problem(_ error: GatewayError) -> [UInt8] {
    event("problem") { line in line.object { $0.field("message", error.message) } }
  }

  private static func write(_ fetch: Reply, to line: inout JSONWriter) {
    line.object { line in
      line.field("url", String(decoding: (fetch.text("url") ?? "").utf8.prefix(longestURL), as: UTF8.self))
      line.field("receipt", fetch.text("receipt"))
      line.field("state", fetch.text("state"))
      for field: StaticString in ["received", "expected", "waiters", "age_ms"] {
        line.field(field, fetch.number("\(field)"))
      }
    }
  }

  private static func event(_ name: String, after head: String = "", _ fill: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter(appendingTo: Array("\(head)event: \(name)\ndata: ".utf8))
    fill(&writer)
    writer.newline()
    writer.newline()
    return writer.bytes
  }
}
