import ImgdCache
import ImgdSystem
import ImgdWire

extension NotModified {
  /// Writes the terminal line of a fetch whose client has the picture: what is known of it without the picture,
  /// and always the answer in terms of HTTP.
  func write(to recipient: Recipient, at now: Instant) {
    let shown = age(at: now)
    let numbers = FetchLine.Numbers(
      receipt: recipient.receipt, age: shown.age, freshFor: shown.freshFor,
      elapsedNanoseconds: (now - recipient.startedAt).nanoseconds)
    recipient.client.write(
      numbers, id: recipient.id.written.span, facts: facts(url: recipient.request.url),
      ending: FetchLine.ending(furtherFields))
  }

  /// `url` is as the client wrote it.
  private func facts(url: String) -> [UInt8] {
    var line = JSONWriter()
    line.field("url", url)
    line.field("source", source.rawValue)
    line.field("coalesced", isCoalesced)
    line.field("not_modified", true)
    if let finalURL { line.field("final_url", finalURL) }
    return line.bytes
  }

  private var furtherFields: [UInt8] {
    var line = JSONWriter()
    if isStale { line.field("stale", true) }
    line.http(status: 304, headers: headers.list)
    return line.bytes
  }
}
