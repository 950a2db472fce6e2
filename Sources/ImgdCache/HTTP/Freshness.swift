// How long an answer may be shown without asking its origin again: RFC 9111, for a cache that many
// users share.
//
// The judgement is made once, when the answer has arrived, and leaves two durations: how old the
// answer was at that moment, and how much longer it is fresh. From then on only the monotonic clock
// counts, so setting the wall clock makes no entry younger and no age negative.
//
// An answer to a request that carried credentials is stored under a key of its own, one user's
// (`CacheKey.scope`), unless its origin lets everybody have it (`CredentialSharing`). Under such a key lies a
// private cache: `private` may be kept in it, the rules for Authorization (3.5) are met since it is not
// shared, and the directives that speak to shared caches alone, s-maxage and proxy-revalidate, do not
// bind it.
//
// How long a stale answer may still be shown (RFC 5861) is part of the judgement; whether it is
// shown, to whom and when, is for the core to decide.

internal import ImgdText
internal import ImgdSystem

/// The assumptions where an origin says nothing.
package struct FreshnessRules: Sendable, Equatable {
  /// The longest time that a guess from Last-Modified grants.
  static let longestGuess: Int64 = 7 * 86_400

  /// For an answer that names neither an end nor the time of its last change.
  package var defaultLifetime: Duration
  /// The part of the time since its last change for which an answer counts as fresh, in percent.
  package var heuristicPercent: Int
  /// How long after its end an answer may stand in for an origin that fails, where the origin has
  /// neither granted nor forbidden it.
  package var staleIfError: Duration
  /// The longest lifetime that a request may set.
  package var longestTTL: Duration

  package init(
    defaultLifetime: Duration = .seconds(3600), heuristicPercent: Int = 10, staleIfError: Duration = .zero,
    longestTTL: Duration = .seconds(7 * 86_400)
  ) {
    self.defaultLifetime = defaultLifetime
    self.heuristicPercent = heuristicPercent
    self.staleIfError = staleIfError
    self.longestTTL = longestTTL
  }
}

/// What a request changes in the judgement on its answer.
package struct FreshnessTerms: Sendable {
  /// The lifetime that the request has set instead of the origin's. Others are shown the answer too, so
  /// it is cut to `longestTTL`, and never permits what the origin has forbidden: it lifts neither
  /// `no-cache` nor the end of an answer that must be revalidated.
  package var ttl: Duration?
  /// The lifetime of an answer that names none, in place of a guess.
  package var silence: Duration?
  /// Whether the key is one user's.
  package var isScoped: Bool
  /// Whether the request had credentials.
  package var isOpenedByCredentials: Bool

  package init(
    ttl: Duration? = nil, silence: Duration? = nil, isScoped: Bool = false, isOpenedByCredentials: Bool = false
  ) {
    self.ttl = ttl
    self.silence = silence
    self.isScoped = isScoped
    self.isOpenedByCredentials = isOpenedByCredentials
  }
}

/// The judgement on one answer.
package struct Freshness: Sendable, Equatable {
  // Plain numbers, at most half the size of a `Duration`: every picture in memory has them, and every hit
  // reads them. Origins grant whole seconds, which take no more than 31 bits.
  let ageNanoseconds: Int64
  private let remainingNanoseconds: Int64
  private let whileRevalidateSeconds: UInt32
  private let ifErrorSeconds: UInt32

  /// Why the answer must not be stored; nil when it may be.
  package let refusal: StoreRefusal?
  /// How old the answer was when it arrived.
  package var initialAge: Duration { .nanoseconds(ageNanoseconds) }
  /// How long it is fresh from its arrival on; zero or negative if it arrived stale.
  package var remaining: Duration { .nanoseconds(remainingNanoseconds) }
  /// Whether the origin has to be asked before every use (`no-cache`).
  package let needsConfirmation: Bool
  private let staleUse: StaleUse
  /// Whether it may not be shown once it is stale, whatever went wrong (`must-revalidate` and its kin).
  package var mustRevalidate: Bool { staleUse != .unbound }
  /// Whether it may not be shown once it is stale, even to those who accept pictures of any age: it was fetched
  /// with credentials, and its origin has opened it to others only while it is fresh (RFC 9111, 3.5).
  package var isOpenOnlyWhileFresh: Bool { staleUse == .closed }
  /// Whether a reload need not ask the origin while it is fresh (`immutable`).
  package let isImmutable: Bool
  /// How long after the end of its lifetime it may be shown while it is fetched anew; zero: not at all.
  package var staleWhileRevalidate: Duration { .seconds(whileRevalidateSeconds) }
  /// How long after the end of its lifetime it may be shown when the origin fails; zero: not at all, nil: the
  /// origin says nothing.
  package var staleIfError: Duration? { ifErrorSeconds == Self.silence ? nil : .seconds(ifErrorSeconds) }

  /// The ways of showing a stale answer that the origin permits. It takes one byte, so that no picture grows by it.
  private enum StaleUse: UInt8 {
    case unbound
    /// It may be shown only to those who accept pictures of any age.
    case bound
    /// It may not be shown at all.
    case closed

    init(isBound: Bool, isClosed: Bool) { self = isClosed ? .closed : isBound ? .bound : .unbound }
  }

  /// Kept in place of a time that the origin does not name.
  private static let silence = UInt32.max

  /// Judges an answer. `receivedAt` is wall time in seconds, `delay` the time that the exchange took.
  package init(
    status: Int, headers: HeaderList, rules: FreshnessRules = FreshnessRules(),
    terms: FreshnessTerms = FreshnessTerms(), receivedAt: Int64, delay: Duration = .zero
  ) {
    let (ttl, isScoped) = (terms.ttl, terms.isScoped)
    let control = CacheControl(headers)
    let dates = AnswerDates(headers, receivedAt: receivedAt)
    let explicit = dates.explicitLifetime(control, isScoped: isScoped)
    let vary = varyingNames(headers)
    let lifetime = explicit ?? terms.silence ?? dates.guessedLifetime(rules)
    let age = dates.initialAge(delay: delay)
    let granted = lifetime - age
    let isClosed = terms.isOpenedByCredentials && !isScoped && !control.isPublic
    staleUse = StaleUse(isBound: control.forbidsStale(isScoped: isScoped), isClosed: isClosed)
    let isBound = isClosed || control.bindsLifetime(isScoped: isScoped)
    ageNanoseconds = age.nanoseconds
    remainingNanoseconds =
      (ttl.map { ttl in
        let most = min(ttl, rules.longestTTL)
        return isBound ? min(most, granted) : most
      } ?? granted).nanoseconds
    refusal =
      storeRefusal(
        status, control, isScoped: isScoped, hasLifetime: explicit != nil || ttl != nil && isRedirect(status),
        varying: vary) ?? (StoredHeaders.haveRoom(headers) ? nil : .noStore)
    needsConfirmation = control.noCache
    isImmutable = control.isImmutable
    let forbidsStale = staleUse != .unbound || needsConfirmation
    whileRevalidateSeconds = forbidsStale ? 0 : UInt32(clamping: control.staleWhileRevalidate ?? 0)
    let ifError = control.staleIfError.map { UInt32(clamping: $0) }
    ifErrorSeconds = forbidsStale ? 0 : ifError ?? Self.silence
  }

  /// A judgement that was made earlier, on an answer that was stored.
  package init(
    initialAge: Duration, remaining: Duration, needsConfirmation: Bool, mustRevalidate: Bool,
    isOpenOnlyWhileFresh: Bool = false, isImmutable: Bool, staleWhileRevalidate: Duration, staleIfError: Duration?
  ) {
    refusal = nil
    ageNanoseconds = initialAge.nanoseconds
    remainingNanoseconds = remaining.nanoseconds
    self.needsConfirmation = needsConfirmation
    staleUse = StaleUse(isBound: mustRevalidate, isClosed: isOpenOnlyWhileFresh)
    self.isImmutable = isImmutable
    whileRevalidateSeconds = UInt32(clamping: staleWhileRevalidate.wholeSeconds)
    ifErrorSeconds = staleIfError.map { UInt32(clamping: $0.wholeSeconds) } ?? Self.silence
  }
}

/// Statuses that may be kept without an explicit lifetime (RFC 9110, 15.1), except 206: part of
/// a picture is not a picture.
private let keptByDefault: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

/// Whether an answer leads elsewhere: a lifetime that a request sets applies to redirects on the way, too.
private func isRedirect(_ status: Int) -> Bool { 300..<400 ~= status }

/// The conditions for storing, in the order of RFC 9111, 3.
private func storeRefusal(_ status: Int, _ control: CacheControl, isScoped: Bool, hasLifetime: Bool, varying: [String])
  -> StoreRefusal?
{
  if status < 200 || status == 206 || status == 304 { return .noStore }
  if control.forbidsStoring(status, isScoped: isScoped) { return .noStore }
  let isAllowed = hasLifetime || control.isPublic || (control.isPrivate && isScoped)
  if !isAllowed, !keptByDefault.contains(status) { return .noStore }
  return varying.contains("*") ? .varies : nil
}

/// The names in Vary, each once, in lower case and in order.
package func varyingNames(_ headers: HeaderList) -> [String] {
  var names: Set<String> = []
  for (name, value) in headers where name == "vary" {
    var scanner = FieldScanner(value)
    repeat {
      scanner.skipBlanks()
      if let name = scanner.takeToken() { names.insert(name) }
    } while scanner.nextMember()
  }
  return names.sorted()
}
