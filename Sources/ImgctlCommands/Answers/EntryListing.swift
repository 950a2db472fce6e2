import ImgdConnection
import ImgdWire

/// A list of entries of one tier, which the daemon answers in pages.
struct EntryListing {
  let tier: Tier
  let prefix: String?
  let limit: Int

  /// Calls `body` with each entry in turn.
  func read(over connection: ControlConnection, in context: Context, _ body: (Reply) throws(Failure) -> Void)
    throws(Failure)
  {
    var left = limit
    var request = EntriesRequest(tier: tier, prefix: prefix)
    repeat {
      request.page.limit = min(left, WireLimits.entries.upperBound)
      let answer = try context.ask(.entries(request), over: connection)
      for entry in (answer.reply.objects("entries") ?? []).prefix(left) {
        try body(entry)
        left -= 1
      }
      request.page.cursor = answer.reply.text("cursor")
    } while request.page.cursor != nil && left > 0
  }
}
