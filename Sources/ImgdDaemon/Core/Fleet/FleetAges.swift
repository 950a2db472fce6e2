import ImgdSystem

// Ages that other hosts have written: they may be anything.

extension Duration {
  /// The duration, as far as it makes sense for an age: nothing comes from the future, or is older than any machine.
  var asAge: Duration { min(max(self, .zero), .seconds(1 << 32)) }
}

extension Instant {
  /// The moment that lies `age` before this one.
  func before(_ age: Duration) -> Instant { self + (.zero - age.asAge) }
}
