internal import ImgdSystem

/// Finds the requests that have waited for a moment, so that it is worthwhile to watch their clients.
///
/// Most answers come sooner, and save the two system calls that a watch takes.
final class DepartureWatch {
  private static let moment = Duration.milliseconds(20)

  private struct Expected {
    let request: HTTPRequest
    let pause: Int
    let due: Instant
  }

  private let loop: EventLoop
  private var expected = Fifo<Expected>()
  private var timer: Timer?

  init(on loop: EventLoop) { self.loop = loop }

  deinit { timer?.cancel() }

  /// Notes a request that begins to wait.
  func expect(_ request: HTTPRequest) {
    expected.append(Expected(request: request, pause: request.pause, due: loop.now + Self.moment))
    if timer == nil { arm(after: Self.moment) }
  }

  /// Releases all requests: they hold the connections, which hold this object.
  func forgetAll() {
    expected = Fifo()
    timer?.cancel()
    timer = nil
  }

  private func arm(after delay: Duration) { timer = loop.schedule(after: delay) { [weak self] in self?.look() } }

  private func look() {
    timer = nil
    while let first = expected.first, first.due <= loop.now {
      _ = expected.popFirst()
      let request = first.request
      if request.isSuspended, request.pause == first.pause { request.watchForDeparture() }
    }
    if let next = expected.first { arm(after: next.due - loop.now) }
  }
}
