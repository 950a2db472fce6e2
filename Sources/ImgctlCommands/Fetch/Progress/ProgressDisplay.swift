// Lines printed while the block is shown appear above it. Redrawing the block for each of them would make it flicker,
// so they wait for the next frame, a tenth of a second at most.

import ImgdConnection
import ImgdSystem

/// Shows the progress of a run: a block at the bottom of a terminal, or lines now and then.
final class ProgressDisplay {
  /// Where progress is shown.
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

  /// Shows a picture that was asked for.
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

  /// Sets how many pictures there are in all.
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

  /// Erases the block for good.
  func close() {
    timer?.cancel()
    timer = nil
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
