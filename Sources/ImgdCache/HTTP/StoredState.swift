/// The state of a stored answer at one moment.
package struct StoredState: Sendable, Equatable {
  /// Whether it is within its lifetime.
  package var isFresh: Bool
  /// The time since the end of its lifetime; zero before that.
  package var staleFor: Duration
  package var needsConfirmation: Bool
  package var mustRevalidate: Bool
  /// Whether, once it is stale, it may not be shown even to those who accept pictures of any age.
  package var isOpenOnlyWhileFresh: Bool
  /// Whether a soft purge has marked it.
  package var isMarkedStale: Bool
  package var isImmutable: Bool
  package var staleWhileRevalidate: Duration
  /// How long it may be shown stale when the origin fails; nil if the origin says nothing.
  package var staleIfError: Duration?

  package init(
    isFresh: Bool, staleFor: Duration = .zero, needsConfirmation: Bool = false, mustRevalidate: Bool = false,
    isOpenOnlyWhileFresh: Bool = false, isMarkedStale: Bool = false, isImmutable: Bool = false,
    staleWhileRevalidate: Duration = .zero, staleIfError: Duration? = nil
  ) {
    self.isFresh = isFresh
    self.staleFor = staleFor
    self.needsConfirmation = needsConfirmation
    self.mustRevalidate = mustRevalidate
    self.isOpenOnlyWhileFresh = isOpenOnlyWhileFresh
    self.isMarkedStale = isMarkedStale
    self.isImmutable = isImmutable
    self.staleWhileRevalidate = staleWhileRevalidate
    self.staleIfError = staleIfError
  }

  /// Whether it may be shown as it is, without asking its origin.
  package var isUsable: Bool { isFresh && !needsConfirmation && !isMarkedStale }

  /// Whether it may be shown at any age to those who ask for that.
  package var isOpen: Bool { isUsable || !isOpenOnlyWhileFresh }

  private var mayBeShownStale: Bool { !needsConfirmation && !mustRevalidate }

  /// Whether it may be shown while it is fetched anew.
  package var mayBeShownMeanwhile: Bool { mayBeShownStale && !isMarkedStale && staleFor < staleWhileRevalidate }

  /// Whether it may stand in for an origin that fails, within a window of its staleness.
  package func mayStandIn(for window: Duration?) -> Bool { mayBeShownStale && staleFor < window ?? .zero }

  /// Whether the origin has promised that it does not change while it is fresh.
  package var isPromisedUnchanged: Bool { isUsable && isImmutable }
}
