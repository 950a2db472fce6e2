import ImgdDecode
import ImgdSystem

/// Whether it is worth a try to start a decoder, after what came of earlier tries.
///
/// Where a person has to do something first, one try tells, and is remembered for a while: requests must not
/// start a process each. Other failures are given three tries in a row before a shorter pause.
struct DecoderStarts {
  static let lastingPause = Duration.seconds(60)
  static let pause = Duration.seconds(5)
  static let mostInARow = 3

  private var failed = 0
  private var paused: (because: DecodeFailure, until: Instant)?

  /// Whether several may be started at once: one has worked, and none has failed since.
  private(set) var areProven = false

  /// Why none is started at this moment; nil when one may be.
  func obstacle(at now: Instant) -> DecodeFailure? {
    guard let paused, now < paused.until else { return nil }
    return paused.because
  }

  mutating func noteSuccess() {
    self = DecoderStarts()
    areProven = true
  }

  mutating func noteFailure(_ failure: FailedDecoderStart, at now: Instant) {
    areProven = false
    failed += 1
    guard failure.isLasting || failed >= Self.mostInARow else { return }
    failed = 0
    let length = failure.isLasting ? Self.lastingPause : Self.pause
    paused = (DecodeFailure(failure), now + length)
  }
}

extension DecodeFailure {
  init(_ start: FailedDecoderStart) {
    self.init(.unavailable, start.reason)
  }
}
