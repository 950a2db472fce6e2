/// The stalls read again and again, where nothing tells by itself.
final class StallSampling {
  static let interval = Duration.seconds(2)
  /// As much as a trigger asks for, in microseconds of an interval.
  static let threshold = 200_000

  private let path: String
  private let loop: EventLoop
  private let ear: PressureEar
  private var total: Int
  private var timer: Timer?

  /// Reads the first of the files that can be read.
  init(of paths: [String], loop: EventLoop, ear: PressureEar) throws(PressureProblem) {
    let readable = paths.lazy.compactMap { path in Stalls(readFrom: path).map { (path, $0) } }
    guard let (path, stalls) = readable.first else { throw .unreadable(paths) }
    self.path = path
    self.loop = loop
    self.ear = ear
    total = stalls.total
    wait(Self.interval)
  }

  deinit {
    timer?.cancel()
  }

  private func wait(_ delay: Duration) {
    timer = loop.schedule(after: delay) { [unowned self] in look() }
  }

  private func look() {
    guard let now = Stalls(readFrom: path)?.total else {
      return ear.ended("\(path) can be read no longer")
    }
    let growth = now - total
    total = now
    wait(growth > Self.threshold ? max(ear.pressure(), Self.interval) : Self.interval)
  }
}
