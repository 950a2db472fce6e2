import ImgdCache
import ImgdSystem
import ImgdWire

/// `origins`: what the daemon knows of each section, and of the busiest hosts.
final class OriginsCommand {
  /// How many rows are written in one step.
  private static let mostAtOnce = 16
  /// How many hosts, and how many sections, `stats` has at most.
  private static let mostInStats = 16

  private let ledger: OriginLedger
  private let downloader: Downloader
  private let loop: EventLoop

  init(_ parts: CoreParts, loop: EventLoop) {
    ledger = parts.ledger
    downloader = parts.downloader
    self.loop = loop
  }

  func origins(_ page: PageRequest, id: RequestID, for client: ReplyPlace) {
    guard let start = client.start(of: page, for: .origins, id: id, upTo: UInt64(UInt16.max)) else { return }
    let answer = ListAnswer("origins", of: page, id: id, to: client)
    var number = Int(start)
    client.walk { [self] in
      let part = ledger.rows(after: number, most: min(answer.room, Self.mostAtOnce))
      for row in part.members { answer.add { describe(row, in: &$0) } }
      guard let end = part.end else {
        answer.finish(cursor: nil)
        return false
      }
      number = end
      if answer.room == 0 { answer.finish(cursor: String(end)) }
      return answer.room > 0
    }
  }

  /// Writes the rows of the busiest hosts and of some sections.
  func summarize(in line: inout JSONWriter) {
    line.array("origins") { line in
      for row in ledger.busiest(most: Self.mostInStats) { line.object { describe(row, in: &$0) } }
    }
  }

  private func describe(_ row: OriginLedger.Row, in line: inout JSONWriter) {
    let tally = row.tally
    if let host = tally.host { line.field("host", host.name) }
    line.field("section", tally.section?.text)
    line.fields([
      "requests": row.requests, "hits": row.hits, "coalesced": tally.coalesced, "downloads": tally.downloads,
      "errors": tally.errors, "bytes_received": tally.bytesReceived,
    ])
    if let times = tally.firstBytes {
      line.object("first_byte_us") { line in
        line.field("count", Int(times.count))
        line.field("p50", millisecondsOf: UInt64(times.percentile(0.5)))
        line.field("p99", millisecondsOf: UInt64(times.percentile(0.99)))
      }
    }
    let (queued, active) = tally.host.map { downloader.load(ofHost: $0.name) } ?? (tally.queued, tally.active)
    line.fields(["active": active, "queued": queued])
    if let held = row.hostName.flatMap(downloader.hold(ofHost:)), queued > 0 || held.isOfHost { line.hold(held) }
    if let refusal = tally.refusal { line.object("refusal") { $0.refusal(refusal, at: loop.now) } }
    line.field("since_s", Int((loop.now - tally.since).components.seconds))
    if let problem = row.problem { line.field("problem", problem) }
  }
}

extension JSONWriter {
  fileprivate mutating func refusal(_ refusal: OriginTally.Refusal, at now: Instant) {
    switch refusal.reason {
    case .status(let status): field("status", status)
    case .failure(let kind): field("code", kind.code.rawValue)
    case .noPicture: field("code", ReplyCode.notAnImage.rawValue)
    }
    field("times", refusal.times)
    field("age_s", Int((now - refusal.last).components.seconds))
  }
}
