// The use of a stored answer, by the wish of the request: a pure function of both.
//
//                    nothing   fresh          stale within          stale
//                    stored                   stale-while-revalidate
//   default          load      use            useStaleAndRefresh    confirm
//   force-cache      load      use            useStale              useStale
//   only-if-cached   refuse    use            useStale              useStale
//   peek             refuse    use            useStale              useStale
//   no-cache         load      confirm        confirm               confirm
//   reload, no-store load      load           load                  load
//
// A fresh answer is within its lifetime, not `no-cache`, and not marked by a soft purge. An answer that is one of the
// last two is confirmed under `default` whatever its age and whatever is granted to stale ones; so is one with
// `must-revalidate` once it is stale.
//
// A confirmation that fails may fall back on what is stored. Under `default` the origin's stale-if-error decides, and
// where it is silent, the rule of this machine. A request under `no-cache` wants to be sure that the picture is still
// right: that wish yields only to the origin's own word, which is a stale-if-error that it has sent, or the promise
// that a fresh answer is immutable. Nothing falls back under `reload` and `no-store`: they ask for the network's answer
// alone.
//
// `force-cache`, `only-if-cached` and `peek` show a stored picture at any age and whatever its origin wants of caches.
// That is what their users ask for, and the answer says that the picture is stale. Only a picture that another's
// credentials have opened for as long as it is fresh is not theirs to take: once it is stale, the first of them has it
// confirmed, and for the others it is not there.

import ImgdCache
import ImgdWire

/// The next step for a request, as far as the cache has a say.
enum CacheDecision: Sendable, Equatable {
  /// Show what is stored.
  case use
  /// Show what is stored, and say that it is stale.
  case useStale
  /// Show what is stored, say that it is stale, and fetch it again for later requests.
  case useStaleAndRefresh
  /// Ask the origin, under a condition where there are validators; when the origin fails, what is
  /// stored may stand in for it or not.
  case confirm(mayFallBack: Bool)
  /// Ask the origin as if nothing were stored.
  case load
  /// Nothing is stored, and nothing else is wanted.
  case refuse
}

extension CacheMode {
  /// Whether the caches are looked into at all.
  var reads: Bool { self != .reload && self != .noStore }

  /// Whether stored answers may be shown without asking.
  var usesUnconfirmed: Bool { reads && self != .noCache }

  /// Whether nothing is downloaded.
  var isForStored: Bool { self == .onlyIfCached || self == .peek }

  /// Whether a look into the caches counts as a look-up, and a picture that it finds as used.
  var counts: Bool { self != .peek }

  /// Decides about a stored picture, or about none.
  func decision(on stored: StoredState?, rules: FreshnessRules = FreshnessRules()) -> CacheDecision {
    guard let stored else { return isForStored ? .refuse : .load }
    switch self {
    case .reload, .noStore: return .load
    case .forceCache, .onlyIfCached, .peek:
      guard stored.isOpen else { return isForStored ? .refuse : .confirm(mayFallBack: false) }
      return stored.isUsable ? .use : .useStale
    case .noCache:
      let mayFallBack = stored.isPromisedUnchanged || stored.mayStandIn(for: stored.staleIfError)
      return .confirm(mayFallBack: mayFallBack)
    case .default_: return byProtocol(stored, rules)
    }
  }

  private func byProtocol(_ stored: StoredState, _ rules: FreshnessRules) -> CacheDecision {
    if stored.isUsable { return .use }
    if stored.mayBeShownMeanwhile { return .useStaleAndRefresh }
    return .confirm(mayFallBack: stored.mayStandIn(for: stored.staleIfError ?? rules.staleIfError))
  }
}
