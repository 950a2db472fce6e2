// Lines printed while the block is shown appear above it. Redrawing the block for each of them would make it flicker,
// so they wait for the next frame, a tenth of a second at most.

import ImgdConnection
import ImgdSystem

/// Shows the progress of a run: a block at the bottom of a terminal, or lines now and then.
final class ProgressDisplay {
  enum Place { case nowhere, terminal, lines }

  /// Hits are answered before anything is shown.
  private static let hesitation = Duration.milliseconds(300)
  private static let frame = Duration.milliseconds(100)
  private static let pause = Duration.seconds(2)

  let place: Place
  private let console: Console
  private let loop: EventLoop
  private let start: Instant
  private var board = TransferBoard()
  private var rate = TransferRate()
  private var block = TerminalBlock()
  private var timer: Timer?
  /// The prints that wait to appear above the block.
  private var above: [() -> Void] = []

  init(_ place: Place, _ console: Console, on loop: EventLoop, total: Int?) {
    self.place = place
    self.console = console
    self.loop = loop
    start = loop.moment
    board.total = total
  }

  deinit { timer?.cancel() }

  func ask(_ order: FetchOrder) {
    guard place != .nowhere else { return }
    board.ask(order.number, order.subject)
    guard timer == nil else { return }
    set(place == .terminal ? Self.hesitation : Self.pause)
  }

  func show(_ event: Reply, of number: Int) { board.update(by: event, of: number, at: loop.now) }

  /// Counts a transfer that has ended; `pause` is how long the host asks to be left alone.
  func settle(_ number: Int, isFailed: Bool, pause: Duration? = nil) {
    board.settle(number, isFailed: isFailed, heldUntil: pause.map { loop.now + $0 })
  }

  func expect(_ total: Int) { board.total = total }

  /// Prints now, or above the block with its next frame.
  func print(_ action: @escaping () -> Void) { if block.isShown { above.append(action) } else { action() } }

  /// Erases the block, prints what waits for it, and leaves the cursor on a clean line; the next frame shows it
  /// again.
  func erase() {
    let erasure = block.erasure(console.size())
    if !erasure.isEmpty { console.message(erasure) }
    printAbove()
  }

  /// Redraws the block after the terminal has changed its size.
  func redraw() { if block.isShown { draw(text) } }

  /// Draws the block again where the cursor is: the shell has written below the old one.
  func forget() {
    guard block.isShown else { return }
    block = TerminalBlock()
    printAbove()
    draw(text)
  }

  func close() {
    timer.take()?.cancel()
    erase()
  }

  private func set(_ delay: Duration) {
    timer = loop.schedule(after: delay) { [display = Unowned(self)] in display.object.showNext() }
  }

  private func showNext() {
    timer = nil
    rate.add(total: board.received, at: loop.now)
    if place == .terminal { draw(text) }
    // While nothing is under way, nothing changes.
    if board.open.isEmpty, !block.isShown { return }
    if place == .lines { console.message(text.line + "\n") }
    set(place == .terminal ? Self.frame : Self.pause)
  }

  private var text: ProgressText {
    ProgressText(board: board, rate: rate.perSecond, elapsed: loop.now - start, now: loop.now)
  }

  private func draw(_ text: ProgressText) {
    let size = console.size()
    let lines = board.open.isEmpty ? [] : text.block(size)
    if above.isEmpty, block.shows(lines, size) { return }
    let erasure = block.erasure(size)
    if above.isEmpty { return console.message(erasure + block.show(lines, size)) }
    console.message(erasure)
    printAbove()
    console.message(block.show(lines, size))
  }

  private func printAbove() {
    let actions = above
    above = []
    for action in actions { action() }
  }
}

/// What people read about the transfers of a run.
struct ProgressText {
  let board: TransferBoard
  let rate: Int?
  let elapsed: Duration
  let now: Instant

  /// A line for each transfer, as many as fit, and one about all.
  func block(_ size: TerminalSize) -> [String] {
    // The last column stays free: some terminals wrap a line that fills it.
    let width = max(1, size.columns - 1)
    let transfers = board.inOrder
    let room = max(0, size.rows - 2)
    let shown = transfers.prefix(transfers.count > room ? max(0, room - 1) : room)
    var lines = rows(Array(shown), width)
    if room > 0, shown.count < transfers.count { lines.append("… and \(transfers.count - shown.count) more") }
    return (lines + [total]).map { TextWidth.cut($0, to: width) }
  }

  /// The line where there is no terminal: about all transfers, and the first one under way.
  var line: String {
    guard let first = board.inOrder.first else { return total }
    return total + "; " + printable(withoutPasswords(first.subject)) + ": " + status(of: first)
  }

  private func rows(_ transfers: [TransferBoard.Transfer], _ width: Int) -> [String] {
    let statuses = transfers.map { printable(status(of: $0)) }
    let statusWidth = min(statuses.map { TextWidth.of($0) }.max() ?? 0, width / 2)
    let subjects = transfers.map {
      TextWidth.shortened(printable(withoutPasswords($0.subject)), to: width - statusWidth - 2)
    }
    let subjectWidth = subjects.map { TextWidth.of($0) }.max() ?? 0
    return zip(subjects, statuses).map { subject, status in TextWidth.padded(subject, to: subjectWidth + 2) + status }
  }

  private var total: String {
    var parts = [board.total.map { "\(board.done) of \($0) done" } ?? "\(board.done) done"]
    if board.failed > 0 { parts.append("\(board.failed) failed") }
    if board.received > 0 { parts.append(Quantity.size(board.received)) }
    if let rate, board.received > 0 { parts.append(Quantity.size(rate) + "/s") }
    if let left = timeLeft { parts.append(Self.clock(left) + " left") }
    return parts.joined(separator: ", ")
  }

  /// The seconds left, judged by the bytes still to come, or else by the number of pictures.
  private var timeLeft: Int? {
    if let remaining = board.remaining {
      guard let rate, rate > 0 else { return nil }
      return (remaining + rate - 1) / rate
    }
    // A few pictures that were already cached say nothing about the others.
    guard let total = board.total, board.done > board.open.count, total > board.done else { return nil }
    let seconds = Double(elapsed.milliseconds) / 1000
    return Int((seconds * Double(total - board.done) / Double(board.done)).rounded(.up))
  }

  /// `0:07`, `12:34` or `1:02:03`.
  static func clock(_ seconds: Int) -> String {
    let parts = [seconds / 3600, seconds / 60 % 60, seconds % 60]
    let shown = parts[0] > 0 ? parts[...] : parts[1...]
    return shown.enumerated().map { place, part in place > 0 && part < 10 ? "0\(part)" : String(part) }.joined(
      separator: ":")
  }

  private func status(of transfer: TransferBoard.Transfer) -> String {
    switch transfer.state {
    case .asked: return "asked for"
    case .queued:
      if let end = board.holdEnd(of: transfer), end > now {
        return "\(transfer.host) asked to wait, \(Quantity.time(roundedUp: end - now)) left"
      }
      guard let held = transfer.held, held.reason != "asked", held.end.map({ $0 > now }) ?? true,
        let text = HeldText.text(held.reason, wait: held.end.map { $0 - now })
      else { return "queued" }
      return "queued: \(text)"
    case .started: return "waiting for \(transfer.host)"
    case .preparing: return "being prepared"
    case .receiving:
      guard let expected = transfer.expected, expected > 0 else { return Quantity.size(transfer.received) }
      let percent = min(100, Int(Double(transfer.received) / Double(expected) * 100))
      return "\(percent)% of \(Quantity.size(expected))"
    }
  }
}

// The block is at the bottom of what has been printed, with the cursor at the end of its last line. A terminal that
// became narrower has broken the lines that no longer fit; nearly all terminals do that.

/// The lines at the bottom of a terminal that are replaced in place.
struct TerminalBlock {
  private var lines: [String] = []
  private var size = TerminalSize()

  var isShown: Bool { !lines.isEmpty }

  /// Whether the terminal shows just these lines.
  func shows(_ lines: [String], _ size: TerminalSize) -> Bool { self.lines == lines && self.size == size }

  /// The text that erases the block and leaves the cursor at the beginning of its place.
  mutating func erasure(_ size: TerminalSize) -> String {
    guard isShown else { return "" }
    let rows = lines.reduce(0) { rows, line in rows + max(1, (TextWidth.of(line) + size.columns - 1) / size.columns) }
    lines = []
    // Row by row: a terminal that is told to erase all that it shows may keep that text in its history.
    let above = String(repeating: "\u{1B}[A\u{1B}[K", count: min(rows, size.rows) - 1)
    return "\r\u{1B}[K" + above
  }

  mutating func show(_ lines: [String], _ size: TerminalSize) -> String {
    self.lines = lines
    self.size = size
    return lines.joined(separator: "\n")
  }
}
