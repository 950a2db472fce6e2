/// A descriptor that is listened to, and left alone for a while after each time it was ready.
///
/// A peer that is gone, or a kernel that never stops telling, makes a descriptor ready for ever. As
/// nobody listens while it rests, that costs a few turns of the loop in a second instead of all.
final class RestingWatch {
  private let descriptor: FileDescriptor
  private let interest: Interest
  private let loop: EventLoop
  private let handler: (Readiness) -> Duration?
  private var watch: Watch?
  private var rest: Timer?

  /// Calls `handler` whenever the descriptor is ready, at once or `after` a first rest; it answers
  /// for how long to rest, or nil when it has heard enough. When listening fails later on, it is told
  /// of a hang-up.
  init(
    _ descriptor: consuming FileDescriptor, for interest: Interest, on loop: EventLoop,
    after firstRest: Duration? = nil, _ handler: @escaping (Readiness) -> Duration?
  ) throws(PressureProblem) {
    self.descriptor = descriptor
    self.interest = interest
    self.loop = loop
    self.handler = handler
    if let firstRest { listen(after: firstRest) } else { try listen() }
  }

  deinit {
    watch?.cancel()
    rest?.cancel()
  }

  private func listen() throws(PressureProblem) {
    do throws(SystemFailure) {
      watch = try loop.watch(descriptor.number, for: interest) { [unowned self] in wake($0) }
    } catch { throw .system(error) }
  }

  private func listen(after pause: Duration) {
    rest = loop.schedule(after: pause) { [unowned self] in
      do throws(PressureProblem) { try listen() } catch { wake(.hangup) }
    }
  }

  private func wake(_ events: Readiness) {
    watch?.cancel()
    watch = nil
    if let pause = handler(events) { listen(after: pause) }
  }
}
