import ImgdConnection
import ImgdSystem

/// Draws the state of `top` for a terminal of any size: what does not fit is left out at the bottom, and lines are cut.
struct TopView {
  private let palette: Palette
  private let glyphs: Glyphs
  private let delay: Duration

  init(palette: Palette, glyphs: Glyphs, delay: Duration) {
    self.palette = palette
    self.glyphs = glyphs
    self.delay = delay
  }

  /// At most as many lines as the terminal has rows.
  func lines(_ state: TopState, in size: TerminalSize, at time: LocalTime) -> [String] {
    let isHigh = size.rows >= 26
    let gap = isHigh ? [ScreenLine()] : []
    var lines = heading(state, size, time) + gap
    if state.showsKeys {
      lines += Self.keys.map { ScreenLine($0) }
    } else if let statistics = state.latest {
      lines += TrafficRows(glyphs, columns: size.columns).lines(state.history, plotRows: isHigh ? 3 : 1)
      lines += gap
      lines += CapacityRows(glyphs, columns: size.columns).lines(statistics) + gap
      lines += FactRows.lines(statistics) + gap
      let room = size.rows - lines.count - 1
      lines += FetchRows(glyphs).lines(state.fetches, of: statistics, in: size.columns, rows: room)
    }
    lines = Array(lines.prefix(max(size.rows - 1, 0)))
    while lines.count < size.rows - 1 { lines.append(ScreenLine()) }
    lines.append(footer(state))
    return lines.map { $0.drawn(within: size.columns, palette) }
  }

  private static let keys = [
    "q, Ctrl-C   quit", "p, space    pause, and go on", "Ctrl-Z      stop, until the shell goes on with fg",
    "?           these keys, or the numbers again", "",
    "p50, p99    so long take half of the answers at most, and all but one in a hundred",
    "held 14s    the host has asked to be left alone for so long", "3x          three requests wait for this download",
  ]

  // MARK: Heading and footer

  private func heading(_ state: TopState, _ size: TerminalSize, _ time: LocalTime) -> [ScreenLine] {
    var first = ScreenLine("imgd", .heading)
    if let statistics = state.latest {
      first.add(" " + printable(statistics.text("process", "version") ?? "?"), .heading)
      first.add("  up " + Quantity.time(seconds: statistics.number("process", "uptime_s")))
    }
    first.add("  " + printable(state.socket), .faint)
    if first.width + 10 <= size.columns {
      first.move(to: size.columns - 8)
      first.add(time.text)
    }
    return [first] + (state.problem.map { [ScreenLine("no connection: " + printable($0), .bad)] } ?? [])
  }

  private func footer(_ state: TopState) -> ScreenLine {
    var line = ScreenLine("q", .heading)
    line.add(" quit  ")
    line.add("p", .heading)
    line.add(state.isPaused ? " go on  " : " pause  ")
    line.add("?", .heading)
    line.add(state.showsKeys ? " numbers  " : " keys  ")
    if state.isPaused { line.add("paused", .doubtful) } else { line.add("every \(DurationText.text(delay))", .faint) }
    return line
  }
}
