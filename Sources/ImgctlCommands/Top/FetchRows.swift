import ImgdConnection
import ImgdSystem

/// Draws the fetches under way, each with a bar.
struct FetchRows {
  private static let barWidth = 12
  /// The fewest columns that have room for bars.
  private static let wide = 60

  private let glyphs: Glyphs

  init(_ glyphs: Glyphs) { self.glyphs = glyphs }

  /// A title and as many of the fetches as there are rows for.
  func lines(_ fetches: [Reply], of statistics: DaemonStatistics, in columns: Int, rows: Int) -> [ScreenLine] {
    guard rows >= 2 else { return [] }
    let all = max(statistics.number("queue", "requests"), fetches.count)
    let titles = columns >= Self.wide && rows >= 3 && !fetches.isEmpty ? [Self.titles] : []
    let shown = fetches.prefix(rows - 1 - titles.count)
    var title = ScreenLine(all == 1 ? "1 fetch" : "\(all) fetches", .heading)
    if shown.count < all { title.add(", the oldest \(shown.count)") }
    return [title] + titles + shown.map { row($0, columns) }
  }

  private static var titles: ScreenLine {
    let text =
      TextWidth.padded("PROGRESS", to: barWidth)
      + [("DONE", 7), ("BYTES", 7), ("AGE", 10), ("WAIT", 5)].map { TextWidth.padded($0.0, to: $0.1, onLeft: true) }
      .joined() + "  URL"
    return ScreenLine(text, .faint)
  }

  private func row(_ fetch: Reply, _ columns: Int) -> ScreenLine {
    let received = fetch.number("received") ?? 0
    let expected = fetch.number("expected") ?? 0
    let isQueued = fetch.text("state") == "queued"
    let share = expected > 0 ? Quantity.share(received, of: expected) : nil
    var line = ScreenLine()
    if columns >= Self.wide {
      let bar = glyphs.bar(expected > 0 ? Double(received) / Double(expected) : 0, cells: Self.barWidth)
      line.add(isQueued ? TextWidth.padded(queued(fetch), to: Self.barWidth) : bar, isQueued ? .faint : .accent)
      line.add(TextWidth.padded(share ?? "", to: 7, onLeft: true))
      line.add(TextWidth.padded(Quantity.shortSize(received), to: 7, onLeft: true))
      line.add(TextWidth.padded(age(fetch), to: 10, onLeft: true))
      let waiters = fetch.number("waiters") ?? 1
      line.add(TextWidth.padded(waiters > 1 ? "\(waiters)x" : "", to: 5, onLeft: true) + "  ")
    } else {
      line.add(TextWidth.padded(isQueued ? "queued" : share ?? age(fetch), to: 7))
    }
    line.add(printable(fetch.text("url") ?? "?", longest: columns))
    return line
  }

  /// Whether a fetch is held until its host may be asked again, or just waits for its turn.
  private func queued(_ fetch: Reply) -> String {
    fetch.number("retry_after_ms").map { "held " + Quantity.time(roundedUp: .milliseconds($0)) } ?? "queued"
  }

  private func age(_ fetch: Reply) -> String { Quantity.time(milliseconds: fetch.number("age_ms") ?? 0) }
}
