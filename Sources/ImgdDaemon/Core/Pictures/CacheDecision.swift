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
// While no route leads to the origin, `default` shows a stale answer as `force-cache` does, if its origin does not forbid
// that with one of these three; a soft purge does not. Everything that has to be confirmed or loaded waits.
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
  /// Ask the origin, if possible under a condition; when it fails, what is stored may stand in for it or not.
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

  /// Decides about a stored picture, or about none; `isOffline` says that no route leads to its origin.
  func decision(
    on stored: StoredState?, rules: FreshnessRules = FreshnessRules(), isOffline: Bool = false
  ) -> CacheDecision {
    guard let stored else { return isForStored ? .refuse : .load }
    switch self {
    case .reload, .noStore: return .load
    case .forceCache, .onlyIfCached, .peek:
      guard stored.isOpen else { return isForStored ? .refuse : .confirm(mayFallBack: false) }
      return stored.isUsable ? .use : .useStale
    case .noCache:
      let mayFallBack = stored.isPromisedUnchanged || stored.mayStandIn(for: stored.staleIfError)
      return .confirm(mayFallBack: mayFallBack)
    case .default_:
      if stored.isUsable { return .use }
      if isOffline, stored.mayBeShownDisconnected { return .useStale }
      if stored.mayBeShownMeanwhile { return .useStaleAndRefresh }
      return .confirm(mayFallBack: stored.mayStandIn(for: stored.staleIfError ?? rules.staleIfError))
    }
  }
}

// The daemon's reading of a request.

extension FetchRequest {
  /// Whether a hit is found by URL and identifier alone, and shown without a decoder.
  var isPlain: Bool { mayBeReady && delivery != .pixels && (!hasExtras || form.isOriginal) }

  /// Whether a hit is found by URL, identifier and form alone: it can be answered at once.
  var mayBeReady: Bool { mayBeKnown && (!hasExtras || headers.isEmpty) }

  /// Whether the same holds but for headers: if they only say which version the client has, a line of this shape need
  /// not be parsed.
  var mayBeKnown: Bool {
    wait && !detach && !events && (cache == .default_ || cache == .forceCache || cache == .onlyIfCached)
      && (!hasExtras || extras.leavesHits)
  }

  /// The variant of a plain request: its user's own, where it has an identifier or users share nothing.
  func plainVariant(of uid: UInt32, isOwn: Bool) -> KeyVariant? {
    identifier == nil && !isOwn ? nil : KeyVariant(identifier: identifier, uid: uid, isOwn: isOwn)
  }

  /// The deadline of this request alone.
  var timeout: Duration? { timeoutMilliseconds.map { .milliseconds($0) } }

  /// What its transfer may take, within what every transfer may.
  func allowance(within limits: Configuration.Downloads) -> PictureWish.Allowance {
    PictureWish.Allowance(bytes: min(maxBytes ?? limits.maxBytes, limits.maxBytes), time: timeout ?? limits.timeout)
  }

  var keepsInMemory: Bool { cache.keeps && store.allowsMemory }

  var keepsOnDisk: Bool { cache.keeps && store.allowsDisk }

  var keepsInFleet: Bool { cache.keeps && store.allowsFleet }

  var tiers: Tiers {
    // With plain numbers: an empty list of them would be made at run time.
    Tiers(rawValue: (keepsInMemory ? Tiers.memory.rawValue : 0) | (keepsOnDisk ? Tiers.disk.rawValue : 0))
  }

  /// The request that confirms the stored picture; no client waits for its answer.
  var refreshing: FetchRequest {
    var request = FetchRequest(url: url)
    request.identifier = identifier
    request.cache = .noCache
    request.delivery = .none
    request.store = store
    request.priority = .low
    request.extras.headers = headers
    request.extras.tags = tags
    request.extras.ttl = ttl
    return request
  }
}

extension FetchExtras {
  /// Whether hits do not depend on these fields: but for the headers, the others are about downloads and decoders.
  fileprivate var leavesHits: Bool { slot == nil && maxBytes == nil }
}

extension Delivery {
  /// Whether an answer takes memory or a descriptor for the picture until the client has read it.
  var bringsBytes: Bool { self == .inline || self == .fd || self == .pixels }
}

/// Some of the tiers of this machine, or none.
typealias Tiers = PurgeList.Scope

/// What a fetch wants of a picture at its present hop, as far as others who get the same picture are concerned.
final class PictureWish {
  /// The most that a transfer may take for it.
  struct Allowance: Equatable {
    var bytes: Int
    var time: Duration

    mutating func widen(to other: Allowance) {
      bytes = max(bytes, other.bytes)
      time = max(time, other.time)
    }
  }

  let mode: CacheMode
  /// What it would have the origin asked for.
  let url: CanonicalURL
  /// How often the origin has refused another URL of the same key, which a download was begun with.
  let refusals: Int
  /// Whether the fetch is the daemon's own, to confirm what was shown stale.
  let isRefresh: Bool
  /// Whether its request has waited for its turn before: a redirect has led here, or the network was gone.
  let isServedNext: Bool
  let claimant: Claimant
  let priority: Priority
  let allowance: Allowance
  let tags: [String]
  /// The lifetime that the request sets, in seconds.
  let ttl: Int?
  /// The tiers of this machine in which the picture is wanted.
  let tiers: Tiers
  let keepsInFleet: Bool
  /// Whether a confirmation is of no use to it when the bytes of what is stored have gone.
  let needsBody: Bool

  init(
    _ request: FetchRequest, _ mode: CacheMode, at url: CanonicalURL, refusals: Int, by claimant: Claimant,
    allowance: Allowance, isRefresh: Bool, isServedNext: Bool, needsBody: Bool
  ) {
    self.mode = mode
    self.url = url
    self.refusals = refusals
    self.isRefresh = isRefresh
    self.isServedNext = isServedNext
    self.claimant = claimant
    self.allowance = allowance
    priority = request.priority
    tags = request.tags
    ttl = request.ttl
    tiers = request.tiers
    keepsInFleet = request.keepsInFleet
    self.needsBody = needsBody
  }

  var isForKeeping: Bool { !tiers.isEmpty || keepsInFleet }
}
