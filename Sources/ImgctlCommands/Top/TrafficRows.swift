/// Draws the traffic: the hit ratio, hits, misses and downloads, each with its history.
struct TrafficRows {
  private let glyphs: Glyphs
  private let columns: Int

  init(_ glyphs: Glyphs, columns: Int) {
    self.glyphs = glyphs
    self.columns = columns
  }

  func lines(_ history: [Traffic], plotRows: Int) -> [ScreenLine] {
    let latest = history.last
    let ratio = latest?.ratio.flatMap { Quantity.share(Int(($0 * 1e6).rounded()), of: 1_000_000) }
    return plotted("hit ratio", ratio ?? "-", history.map { $0.ratio }, top: 1, rows: plotRows)
      + plotted("hits", rate(latest?.hits), history.map { $0.hits })
      + plotted("misses", rate(latest?.misses), history.map { $0.misses })
      + plotted("downloaded", rate(latest?.downloads), history.map { $0.downloads })
      + plotted(
        "received", latest.map { Quantity.shortSize(Int(min($0.bytes, 9e18))) + "/s" } ?? "-", history.map { $0.bytes })
  }

  private func rate(_ value: Double?) -> String { value.map { Quantity.rate($0) + "/s" } ?? "-" }

  private func plotted(_ label: String, _ value: String, _ values: [Double?], top: Double? = nil, rows: Int = 1)
    -> [ScreenLine]
  {
    var first = ScreenLine(label: label, value)
    let room = columns - first.width - 2
    guard room >= 8 else { return [first] }
    let shown = values.suffix(room)
    let highest = top ?? shown.reduce(0) { max($0, $1 ?? 0) }
    let plot = glyphs.plot(Array(shown), top: highest, columns: room, rows: rows)
    let margin = first.width + 2
    first.add("  ")
    first.add(plot[0], .accent)
    return [first]
      + plot.dropFirst().map { row in
        var line = ScreenLine(String(repeating: " ", count: margin))
        line.add(row, .accent)
        return line
      }
  }
}
