/// Watches a descriptor, and pauses after each time that it was ready. A peer that is gone, or a kernel that keeps
/// notifying, makes a descriptor ready for ever. With the pauses that costs only a few turns of the loop per second.
final class BackoffWatch {
  private let descriptor: FileDescriptor
  private let interest: Interest
  private let loop: EventLoop
  private let handler: (Readiness) -> Duration?
  private var watch: Watch?
  private var pause: Timer?

  /// Calls `handler` whenever the descriptor is ready, at once or `after` a first pause; it returns
  /// how long to pause, or nil to end the watch. When watching fails later on, it gets a hang-up.
  init(
    _ descriptor: consuming FileDescriptor, for interest: Interest, on loop: EventLoop,
    after firstPause: Duration? = nil, _ handler: @escaping (Readiness) -> Duration?
  ) throws(SystemFailure) {
    self.descriptor = descriptor
    self.interest = interest
    self.loop = loop
    self.handler = handler
    if let firstPause { resume(after: firstPause) } else { try beginWatch() }
  }

  deinit {
    watch?.cancel()
    pause?.cancel()
  }

  private func beginWatch() throws(SystemFailure) {
    watch = try loop.watch(descriptor.number, for: interest) { [backoff = Unowned(self)] in backoff.object.wake($0) }
  }

  private func resume(after delay: Duration) {
    pause = loop.schedule(after: delay) { [backoff = Unowned(self)] in
      do throws(SystemFailure) { try backoff.object.beginWatch() } catch { backoff.object.wake(.hangup) }
    }
  }

  private func wake(_ events: Readiness) {
    watch.take()?.cancel()
    if let delay = handler(events) { resume(after: delay) }
  }
}
