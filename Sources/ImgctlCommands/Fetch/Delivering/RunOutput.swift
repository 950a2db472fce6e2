// Records go to the output, sentences to the messages, and both above the progress that is shown. Signals are held back
// during a run, so that it can leave a clean terminal and no temporary file; but a reader of the output, or of a pipe,
// may take as long as it likes. While imgctl waits for that reader, signals end imgctl at once.

import ImgdSystem

/// Everything that a run prints.
final class RunOutput {
  let progress: ProgressDisplay
  /// Set while signals are held back.
  var interrupts: Interrupts?
  private let console: Console
  private let isQuiet: Bool
  private let loop: EventLoop
  private let printer: RecordPrinter
  private let onFailure: (SystemFailure) -> Void
  private var isFlushPlanned = false
  private var isBroken = false

  init(
    _ context: Context, _ progress: ProgressDisplay, isOrdered: Bool, on loop: EventLoop,
    onFailure: @escaping (SystemFailure) -> Void
  ) {
    self.progress = progress
    console = context.console
    isQuiet = context.manner.isQuiet
    self.loop = loop
    self.onFailure = onFailure
    printer = RecordPrinter(context.console, isOrdered: isOrdered)
  }

  /// How many records wait for an earlier one.
  var waiting: Int { printer.waiting }

  /// Prints the record with which an order ends, when it is its turn.
  func put(_ record: Record?, of number: Int) {
    printer.put(record, of: number)
    flushLater()
  }

  /// Prints a record that has no place in the order.
  func insert(_ record: Record) {
    printer.insert(record)
    flushLater()
  }

  func complain(_ sentence: String) { progress.print { [console] in console.complain(sentence) } }

  func remark(_ sentence: String) { if !isQuiet { progress.print { [console] in console.remark(sentence) } } }

  /// Does what may take as long as another program likes; meanwhile signals end imgctl at once.
  func whileSignalsEnd<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    guard let interrupts else { return try body() }
    try interrupts.whileAllowed(body)
  }

  /// Prints what is left, and leaves the terminal clean.
  func close() {
    progress.close()
    printer.endOrder()
    flush()
    interrupts = nil
  }

  /// Writes at the end of the tick, so that many answers take one write; on a terminal, with the next frame.
  private func flushLater() {
    guard printer.hasReady, !isFlushPlanned else { return }
    isFlushPlanned = true
    loop.atTickEnd { [self] in
      isFlushPlanned = false
      guard console.terminals.output else { return flush() }
      progress.print { [output = Unowned(self)] in output.object.flush() }
    }
  }

  private func flush() {
    guard printer.hasReady, !isBroken else { return }
    if !console.outputHasRoom() { progress.erase() }
    do throws(SystemFailure) { try whileSignalsEnd { () throws(SystemFailure) in try printer.flush() } } catch {
      isBroken = true
      onFailure(error)
    }
  }
}
