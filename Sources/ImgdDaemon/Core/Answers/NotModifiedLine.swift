import ImgdCache
import ImgdSystem
import ImgdWire

extension FetchLine {
  /// The terminal line of a fetch whose client has the picture: what is known of it without the picture, and
  /// always the answer in terms of HTTP.
  init(_ answer: NotModified, to recipient: Recipient, at now: Instant) {
    let shown = answer.age(at: now)
    let elapsed = (now - recipient.startedAt).nanoseconds
    self.init(
      id: recipient.id, receipt: recipient.receipt,
      facts: answer.facts(url: recipient.request.url), age: shown.age, freshFor: shown.freshFor,
      elapsedMicroseconds: UInt64(max(elapsed / 1_000, 0)),
      ending: Self.ending(answer.furtherFields))
  }
}

extension NotModified {
  /// `url` is as the client wrote it.
  fileprivate func facts(url: String) -> [UInt8] {
    var line = JSONWriter()
    line.field("url", url)
    line.field("source", source.rawValue)
    line.field("coalesced", isCoalesced)
    line.field("not_modified", true)
    if let finalURL { line.field("final_url", finalURL) }
    return line.bytes
  }

  fileprivate var furtherFields: [UInt8] {
    var line = JSONWriter()
    if isStale { line.field("stale", true) }
    line.http(status: 304, headers: headers.list)
    return line.bytes
  }
}
