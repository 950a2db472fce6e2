import ImgdConnection

/// A list of entries of one tier, which the daemon answers in pages.
struct EntryListing {
  /// The most entries that the daemon puts into a page.
  private static let page = 1000

  let tier: String
  let prefix: String?
  let limit: Int

  /// Gives one entry after the other to `take`.
  func read(
    over connection: ControlConnection, in context: Context,
    _ take: (Reply) throws(Failure) -> Void
  ) throws(Failure) {
    var left = limit
    var cursor: String?
    repeat {
      let answer = try context.ask(request(atMost: left, from: cursor), over: connection)
      for entry in (answer.reply.objects("entries") ?? []).prefix(left) {
        try take(entry)
        left -= 1
      }
      cursor = answer.reply.text("cursor")
    } while cursor != nil && left > 0
  }

  private func request(atMost left: Int, from cursor: String?) -> RequestLine {
    var line = RequestLine("entries")
    line.add("tier", tier)
    line.add("prefix", prefix)
    line.add("limit", min(left, Self.page))
    line.add("cursor", cursor)
    return line
  }
}
