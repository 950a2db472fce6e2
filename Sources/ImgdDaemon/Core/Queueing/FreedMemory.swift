import ImgdSystem

/// Gives memory back to the machine when much less is held than before.
///
/// The allocator keeps what was freed in small pieces. Looking for whole pages takes it a few milliseconds, so that
/// happens once, a moment after the last of many requests has ended, and at most twice a minute.
final class FreedMemory {
  /// Less is not worth the work.
  static let worthwhile = 8 << 20
  static let delay = Duration.seconds(1)
  static let pause = Duration.seconds(30)

  private let loop: EventLoop
  private let giveBack: () -> Void
  private var held = 0
  /// The most that was held since memory was last given back.
  private var most = 0
  private var last: Instant?
  private var timer: Timer?
  var isDue: Bool { timer != nil }

  init(loop: EventLoop, giveBack: @escaping () -> Void = { Heap.giveBack() }) {
    self.loop = loop
    self.giveBack = giveBack
  }

  deinit { timer?.cancel() }

  /// Notes that so much was freed of what is not counted while it is held.
  func note(freed bytes: Int) {
    most += bytes
    note(held: held)
  }

  func note(held bytes: Int) {
    held = bytes
    most = max(most, bytes)
    guard most - held >= Self.worthwhile, timer == nil else { return }
    let earliest = last.map { $0 + Self.pause } ?? loop.now
    timer = loop.schedule(after: max(earliest - loop.now, Self.delay)) { [unowned self] in
      timer = nil
      most = held
      last = loop.now
      giveBack()
    }
  }
}
