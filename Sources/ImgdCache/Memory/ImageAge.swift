// How old an image is, and how long it may be shown.

package import ImgdSystem

extension CachedImage {
  var expiresAt: Instant {
    guard !header.isTimeDoubtful else { return StoredMoment.earliest }
    let end = min(storedAt + freshness.remaining, Instant(nanoseconds: .max / 2))
    return max(end, StoredMoment.earliest)
  }

  /// How old it was when it arrived, in nanoseconds.
  private var initialAge: Int64 { min(max(header.freshness.ageNanoseconds, 0), StoredMoment.longest) }

  /// Whether it may be shown without asking its origin.
  package func isFresh(at now: Instant) -> Bool { now < header.freshUntil }

  /// Whole seconds since the origin made it.
  package func age(at now: Instant) -> Int {
    let age = initialAge
    return Int(max(now.nanoseconds - (storedAt.nanoseconds - age), age) / 1_000_000_000)
  }

  /// Whole seconds for which it is still fresh.
  package func freshFor(at now: Instant) -> Int {
    let left = header.freshUntil.nanoseconds - now.nanoseconds
    return isFresh(at: now) ? Int(left / 1_000_000_000) : 0
  }

  /// Whole seconds since it was last fresh, none where a purge has marked it before; nil while it is fresh.
  package func staleFor(at now: Instant) -> Int? {
    isFresh(at: now) ? nil : Int(max(now - expiresAt, .zero).components.seconds)
  }

  /// Marks it so that its origin is asked before it is shown again.
  package func markStale() {
    header.isStale = true
    header.freshUntil = min(storedAt, expiresAt)
  }

  /// Its state at this moment, for a policy to decide on.
  package func state(at now: Instant) -> StoredState {
    let (expiresAt, freshness) = (expiresAt, freshness)
    return StoredState(
      isFresh: now < expiresAt, staleFor: max(now - expiresAt, .zero), needsConfirmation: freshness.needsConfirmation,
      mustRevalidate: freshness.mustRevalidate, isOpenOnlyWhileFresh: freshness.isOpenOnlyWhileFresh,
      isMarkedStale: isStale, isImmutable: freshness.isImmutable, staleWhileRevalidate: freshness.staleWhileRevalidate,
      staleIfError: freshness.staleIfError)
  }
}
