// The use of a stored answer, by the wish of the request: a pure function of both.
//
//                    nothing   fresh          stale within          stale
//                    stored                   stale-while-revalidate
//   useProtocol      load      use            useStaleAndRefresh    confirm
//   returnElseLoad   load      use            useStale              useStale
//   returnDontLoad   refuse    use            useStale              useStale
//   revalidate       load      confirm        confirm               confirm
//   reload, noStore  load      load           load                  load
//
// Fresh is what may be shown as it is: within its lifetime, not `no-cache`, and not marked by a soft
// purge. The last two are confirmed by the protocol whatever their age and whatever is granted to
// stale answers; so is what is `must-revalidate` once it is stale.
//
// A confirmation that fails may fall back on what is stored. Under the protocol's own policy the
// origin's stale-if-error decides, and where it is silent the rule of this machine. Who asks to
// revalidate wants to know that the picture holds: that wish yields only to the origin's own word,
// which is a stale-if-error that it has sent, or the promise that a fresh answer is immutable.
// Nothing falls back under `reload` and `noStore`: they ask for the network's answer alone.
//
// The two policies that prefer what is stored show it at any age and whatever its origin wants of
// caches. That is what their users ask for, and they are told that the picture is stale.

/// The wish that a request has of the cache.
package enum CachePolicy: Sendable, CaseIterable {
  /// As HTTP says.
  case useProtocol
  /// Nothing from the cache; the answer is stored.
  case reload
  /// Nothing without its origin's consent.
  case revalidate
  /// A stored answer, however old, else the network.
  case returnElseLoad
  /// A stored answer, however old, else nothing.
  case returnDontLoad
  /// As if there were no cache.
  case noStore
}

/// The state of a stored answer at one moment.
package struct StoredState: Sendable, Equatable {
  /// Whether it is within its lifetime.
  package var isFresh: Bool
  /// The time since the end of its lifetime; zero before.
  package var staleFor: Duration
  package var needsConfirmation: Bool
  package var mustRevalidate: Bool
  /// A soft purge has marked it.
  package var isMarkedStale: Bool
  package var isImmutable: Bool
  package var staleWhileRevalidate: Duration
  /// The time that the origin grants; nil: it says nothing.
  package var staleIfError: Duration?

  package init(
    isFresh: Bool, staleFor: Duration = .zero, needsConfirmation: Bool = false,
    mustRevalidate: Bool = false, isMarkedStale: Bool = false, isImmutable: Bool = false,
    staleWhileRevalidate: Duration = .zero, staleIfError: Duration? = nil
  ) {
    self.isFresh = isFresh
    self.staleFor = staleFor
    self.needsConfirmation = needsConfirmation
    self.mustRevalidate = mustRevalidate
    self.isMarkedStale = isMarkedStale
    self.isImmutable = isImmutable
    self.staleWhileRevalidate = staleWhileRevalidate
    self.staleIfError = staleIfError
  }

  /// Whether it may be shown as it is, without a word.
  fileprivate var isUsable: Bool { isFresh && !needsConfirmation && !isMarkedStale }

  private var mayBeShownStale: Bool { !needsConfirmation && !mustRevalidate }

  fileprivate var mayBeShownMeanwhile: Bool {
    mayBeShownStale && !isMarkedStale && staleFor < staleWhileRevalidate
  }

  fileprivate func mayStandIn(for window: Duration?) -> Bool {
    mayBeShownStale && staleFor < window ?? .zero
  }

  fileprivate var isPromisedUnchanged: Bool { isUsable && isImmutable }
}

/// The next step for a request, as far as the cache has a say.
package enum CacheDecision: Sendable, Equatable {
  /// Show what is stored.
  case use
  /// Show what is stored, and say that it is stale.
  case useStale
  /// The same, and fetch it anew for those who come later.
  case useStaleAndRefresh
  /// Ask the origin, under a condition where there are validators; when the origin fails, what is
  /// stored may stand in for it or not.
  case confirm(mayFallBack: Bool)
  /// Ask the origin as if nothing were stored.
  case load
  /// Nothing is stored, and nothing else is wanted.
  case refuse

  /// Whether a status means that the origin has failed and something stored may stand in (RFC 5861,
  /// 4); no answer at all means the same.
  package static func isFailure(status: Int) -> Bool { [500, 502, 503, 504].contains(status) }
}

extension CachePolicy {
  /// Decides about what is stored, or nothing is.
  package func decision(
    on stored: StoredState?, rules: FreshnessRules = FreshnessRules()
  ) -> CacheDecision {
    guard let stored else { return self == .returnDontLoad ? .refuse : .load }
    switch self {
    case .reload, .noStore: return .load
    case .returnElseLoad, .returnDontLoad: return stored.isUsable ? .use : .useStale
    case .revalidate: return .confirm(mayFallBack: revalidationMayFallBack(on: stored))
    case .useProtocol: return byProtocol(stored, rules)
    }
  }

  private func revalidationMayFallBack(on stored: StoredState) -> Bool {
    stored.isPromisedUnchanged || stored.mayStandIn(for: stored.staleIfError)
  }

  private func byProtocol(_ stored: StoredState, _ rules: FreshnessRules) -> CacheDecision {
    if stored.isUsable { return .use }
    if stored.mayBeShownMeanwhile { return .useStaleAndRefresh }
    return .confirm(mayFallBack: stored.mayStandIn(for: stored.staleIfError ?? rules.staleIfError))
  }
}
