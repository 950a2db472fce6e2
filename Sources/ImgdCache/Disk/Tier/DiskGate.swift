internal import ImgdSystem

/// Holds questions back while an index is opened.
final class DiskGate {
  /// How many questions go on in one tick.
  private static let mostAtOnce = 256

  private let loop: EventLoop
  private var closings = 0
  private var waiting = Fifo<() -> Void>()

  init(loop: EventLoop) { self.loop = loop }

  var isClosed: Bool { closings > 0 }

  func close() { closings += 1 }

  /// Undoes one `close`; after the last one, everything that waited goes on.
  func open() {
    closings -= 1
    goOn()
  }

  /// Runs an action once the gate has been opened.
  func wait(_ action: @escaping () -> Void) { waiting.append(action) }

  private func goOn() {
    for _ in 0..<Self.mostAtOnce {
      guard closings == 0, let action = waiting.popFirst() else { return }
      action()
    }
    loop.nextTick { [unowned self] in goOn() }
  }
}
