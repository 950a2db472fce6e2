/// Polls the stalls where the kernel sends no notification.
final class StallSampling {
  static let interval = Duration.seconds(2)
  /// The same share of an interval as for a trigger, in microseconds.
  static let threshold = 200_000

  private let path: String
  private let loop: EventLoop
  private let callbacks: PressureCallbacks
  private var total: Int
  private var timer: Timer?

  /// Reads the first of the files that can be read.
  init(of paths: [String], loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) {
    let readable = paths.lazy.compactMap { path in Stalls(readFrom: path).map { (path, $0) } }
    guard let (path, stalls) = readable.first else { throw .unreadable(paths) }
    self.path = path
    self.loop = loop
    self.callbacks = callbacks
    total = stalls.total
    wait(Self.interval)
  }

  deinit { timer?.cancel() }

  private func wait(_ delay: Duration) { timer = loop.schedule(after: delay) { [unowned self] in look() } }

  private func look() {
    guard let now = Stalls(readFrom: path)?.total else { return callbacks.ended("\(path) can no longer be read") }
    let growth = now - total
    total = now
    wait(growth > Self.threshold ? max(callbacks.pressure(), Self.interval) : Self.interval)
  }
}
