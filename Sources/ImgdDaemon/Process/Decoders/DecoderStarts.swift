import ImgdDecode
import ImgdSystem

/// Whether it is worth trying to start a decoder, after the outcome of earlier tries.
///
/// Where a person has to do something first, one failure is enough, and is remembered for a while: requests must
/// not start a process each. Other failures are given three tries in a row before a shorter pause. Orders wait for
/// the end of the first such pause, and no longer: when three more tries fail, it is as if a person were needed.
struct DecoderStarts {
  static let lastingPause = Duration.seconds(60)
  static let pause = Duration.seconds(5)
  static let mostInARow = 3

  private var failed = 0
  private var pauses = 0
  private var paused: (because: DecodeFailure, until: Instant)?

  /// Whether several may be started at once: one has worked, and none has failed since.
  private(set) var areProven = false

  /// Why none is started at this moment; nil when one may be.
  func obstacle(at now: Instant) -> DecodeFailure? {
    guard let paused, now < paused.until else { return nil }
    return paused.because
  }

  /// How long none is started from this moment on; nil when one may be.
  func pauseLength(at now: Instant) -> Duration? {
    guard let paused, now < paused.until else { return nil }
    return paused.until - now
  }

  /// Whether it is not worth waiting for the end of a pause.
  private(set) var areHopeless = false

  mutating func noteSuccess() {
    self = DecoderStarts()
    areProven = true
  }

  mutating func noteFailure(_ failure: FailedDecoderStart, at now: Instant) {
    areProven = false
    // If several were started together, the last of them fail during the pause, and do not count as further tries.
    guard failure.isLasting || obstacle(at: now) == nil else { return }
    failed += 1
    guard failure.isLasting || failed >= Self.mostInARow else { return }
    failed = 0
    pauses += 1
    areHopeless = failure.isLasting || pauses > 1
    let length = failure.isLasting ? Self.lastingPause : Self.pause
    paused = (DecodeFailure(failure), now + length)
  }
}

extension DecodeFailure { init(_ start: FailedDecoderStart) { self.init(.unavailable, start.reason) } }
