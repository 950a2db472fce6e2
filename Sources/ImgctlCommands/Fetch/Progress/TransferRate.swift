import ImgdSystem

/// The rate of a run over its last seconds.
struct TransferRate {
  private static let window = Duration.seconds(5)

  private var samples: [(at: Instant, bytes: Int)] = []

  /// Adds the total of the bytes that have come by a moment.
  mutating func add(total bytes: Int, at now: Instant) {
    samples.append((now, bytes))
    // One sample from before the window stays, so that the whole window is covered.
    while samples.count > 2, now - samples[1].at >= Self.window { samples.removeFirst() }
  }

  /// Bytes a second; nil before there is anything to compare.
  var perSecond: Int? {
    guard let first = samples.first, let last = samples.last, last.at > first.at else { return nil }
    let milliseconds = max(1, Int((last.at - first.at).milliseconds))
    return (last.bytes - first.bytes) * 1000 / milliseconds
  }
}
