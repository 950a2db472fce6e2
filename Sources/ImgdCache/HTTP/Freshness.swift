// How long an answer may be shown without asking its origin again: RFC 9111, for a cache that many users share.
//
// The judgement is made once, when the answer has arrived, and leaves two durations: how old the
// answer was at that moment, and how much longer it is fresh. From then on only the monotonic clock
// counts, so setting the wall clock makes no entry younger and no age negative.
//
// An answer to a request that carried credentials is stored under a key of its own, one user's (`CacheKey.scope`),
// unless its origin lets everybody have it (`CredentialSharing`). Under such a key lies a private cache: `private`
// may be kept in it, the rules for Authorization (3.5) are met since it is not shared, and the directives that speak
// to shared caches alone, s-maxage and proxy-revalidate, do not bind it.
//
// How long a stale answer may still be shown (RFC 5861) is part of the judgement; whether it is
// shown, to whom and when, is for the core to decide.

internal import ImgdSystem
internal import ImgdText

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
  /// The least lifetime, by the operator's word: it lifts `no-cache` and shorter lifetimes, but makes nothing public,
  /// and has nothing stored that its origin forbids to store.
  package var floor: Duration?
  /// Whether the key is one user's.
  package var isScoped: Bool
  /// Whether the request had credentials.
  package var isOpenedByCredentials: Bool

  package init(
    ttl: Duration? = nil, silence: Duration? = nil, floor: Duration? = nil, isScoped: Bool = false,
    isOpenedByCredentials: Bool = false
  ) {
    self.ttl = ttl
    self.silence = silence
    self.floor = floor
    self.isScoped = isScoped
    self.isOpenedByCredentials = isOpenedByCredentials
  }
}

/// The judgement on one answer.
package struct Freshness: Sendable, Equatable {
  // Plain numbers, at most half the size of a `Duration`: every picture in memory has them, and every hit
  // reads them. Origins grant whole seconds, which take no more than 31 bits.
  let ageNanoseconds: Int64
  let remainingNanoseconds: Int64
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
    self.init(
      AnswerDirections(status: status, headers, now: receivedAt), rules: rules, terms: terms, receivedAt: receivedAt,
      delay: delay)
  }

  /// Judges an answer whose header fields have been read.
  package init(
    _ answer: AnswerDirections, rules: FreshnessRules, terms: FreshnessTerms, receivedAt: Int64, delay: Duration
  ) {
    let (status, control) = (answer.status, answer.control)
    let (ttl, isScoped) = (terms.ttl, terms.isScoped)
    let dates = AnswerDates(answer.dates, receivedAt: receivedAt)
    let explicit = dates.explicitLifetime(control, isScoped: isScoped)
    let lifetime = explicit ?? terms.silence ?? dates.guessedLifetime(rules)
    let age = dates.initialAge(delay: delay)
    let granted = lifetime - age
    let isClosed = terms.isOpenedByCredentials && !isScoped && !control.isPublic
    staleUse = StaleUse(isBound: control.forbidsStale(isScoped: isScoped), isClosed: isClosed)
    let isBound = isClosed || control.bindsLifetime(isScoped: isScoped)
    ageNanoseconds = age.nanoseconds
    let wanted = ttl.map { ttl in
      let most = min(ttl, rules.longestTTL)
      return isBound ? min(most, granted) : most
    }
    // What is open to one user alone, or only while its origin says so, is not the operator's to extend.
    let floor = isClosed || control.isPrivate ? nil : terms.floor
    remainingNanoseconds = max(wanted ?? granted, floor ?? wanted ?? granted).nanoseconds
    // A lifetime that a request sets applies to redirects on the way, too.
    let hasLifetime = explicit != nil || ttl != nil && 300..<400 ~= status
    refusal =
      storeRefusal(status, control, isScoped: isScoped, hasLifetime: hasLifetime, varying: answer.varying)
      ?? (answer.haveRoom ? nil : .noStore)
    needsConfirmation = control.noCache && floor == nil
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

/// What the header fields of an answer say about its use. Any thread can read them; what follows is judged later, where
/// the request and the rules are known.
package struct AnswerDirections: Sendable {
  let status: Int
  let control: CacheControl
  let dates: NamedDates
  /// The names in Vary.
  package let varying: [String]
  /// Whether all fields that are needed later can be kept.
  let haveRoom: Bool

  /// Whether the origin itself says for how long the answer holds.
  package var namesLifetime: Bool { control.maxAge != nil || control.sharedMaxAge != nil || dates.expires != nil }

  /// `now` is wall time in seconds, about which dates with two digits for the year are read.
  package init(status: Int, _ headers: HeaderList, now: Int64) {
    self.status = status
    control = CacheControl(headers)
    dates = NamedDates(headers, now: now)
    varying = varyingNames(headers)
    haveRoom = StoredHeaders.haveRoom(headers)
  }
}

/// Statuses that may be kept without an explicit lifetime (RFC 9110, 15.1), except 206: part of
/// a picture is not a picture.
private let keptByDefault: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

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
  return names.isEmpty ? [] : names.sorted()
}

/// The state of a stored answer at one moment.
package struct StoredState: Sendable, Equatable {
  /// Whether it is within its lifetime.
  package var isFresh: Bool
  /// The time since the end of its lifetime; zero before that.
  package var staleFor = Duration.zero
  package var needsConfirmation = false
  package var mustRevalidate = false
  /// Whether, once it is stale, it may not be shown even to those who accept pictures of any age.
  package var isOpenOnlyWhileFresh = false
  /// Whether a soft purge has marked it.
  package var isMarkedStale = false
  package var isImmutable = false
  package var staleWhileRevalidate = Duration.zero
  /// How long it may be shown stale when the origin fails; nil if the origin says nothing.
  package var staleIfError: Duration?

  /// Whether it may be shown as it is, without asking its origin.
  package var isUsable: Bool { isFresh && !needsConfirmation && !isMarkedStale }

  /// Whether it may be shown at any age to those who ask for that.
  package var isOpen: Bool { isUsable || !isOpenOnlyWhileFresh }

  private var mayBeShownStale: Bool { !needsConfirmation && !mustRevalidate }

  /// Whether it may be shown stale because its origin cannot be reached (RFC 9111, 4.2.4).
  package var mayBeShownDisconnected: Bool { mayBeShownStale && isOpen }

  /// Whether it may be shown while it is fetched anew.
  package var mayBeShownMeanwhile: Bool { mayBeShownStale && !isMarkedStale && staleFor < staleWhileRevalidate }

  /// Whether it may stand in for an origin that fails, within a window of its staleness.
  package func mayStandIn(for window: Duration?) -> Bool { mayBeShownStale && staleFor < window ?? .zero }

  /// Whether the origin has promised that it does not change while it is fresh.
  package var isPromisedUnchanged: Bool { isUsable && isImmutable }
}

/// The times that an answer carries, in seconds since 1970.
struct NamedDates: Sendable {
  let date: Int64?
  let age: Int64
  let lastModified: Int64?
  /// Nil without the field; a field that is not a single date means that the answer has expired.
  let expires: Int64?

  init(_ headers: HeaderList, now: Int64) {
    date = Self.date("date", in: headers, now: now)
    lastModified = Self.date("last-modified", in: headers, now: now)
    let expires = Self.date("expires", in: headers, now: now)
    self.expires = headers.contains { $0.name == "expires" } ? expires ?? .min : nil
    age = headers.first { $0.name == "age" }.map { Self.age($0.value) } ?? 0
  }

  /// The single date of a field. A field that comes twice, even with the same date, has no date, since
  /// its joined lines would not be one.
  private static func date(_ name: String, in headers: HeaderList, now: Int64) -> Int64? {
    var found: String?
    for field in headers where field.name == name {
      guard found == nil else { return nil }
      found = field.value
    }
    return found.flatMap { HTTPDate.parse($0, now: now) }
  }

  /// The first number of a list, as RFC 9111 demands (5.1); 0 for a field that does not begin with a number.
  private static func age(_ value: String) -> Int64 {
    var scanner = FieldScanner(value)
    return CacheControl.seconds(scanner.takeArgument()) ?? 0
  }
}

/// What follows from the times that an answer carries, and from the time at which it came.
struct AnswerDates {
  private let named: NamedDates
  private let receivedAt: Int64

  init(_ named: NamedDates, receivedAt: Int64) {
    self.named = named
    self.receivedAt = receivedAt
  }

  private var date: Int64 { named.date ?? receivedAt }

  /// The greater of age and apparent age (RFC 9111, 4.2.3); a clock that is behind the origin's makes no age
  /// negative.
  func initialAge(delay: Duration) -> Duration {
    let apparent = max(receivedAt - date, 0)
    let told = Duration.seconds(named.age) + max(delay, .zero)
    return min(max(.seconds(apparent), told), .seconds(CacheControl.longest))
  }

  /// The lifetime that the origin has named, if any (RFC 9111, 4.2.1).
  ///
  /// An answer for one user is not shared: for it s-maxage counts only because it is better than a guess.
  func explicitLifetime(_ control: CacheControl, isScoped: Bool) -> Duration? {
    let shared = control.sharedMaxAge.map { Duration.seconds($0) }
    let own = control.maxAge.map { Duration.seconds($0) } ?? lifetimeFromExpires
    return isScoped ? own ?? shared : shared ?? own
  }

  private var lifetimeFromExpires: Duration? {
    guard let expires = named.expires else { return nil }
    guard expires != .min else { return .zero }
    return .seconds(min(max(expires - date, 0), CacheControl.longest))
  }

  func guessedLifetime(_ rules: FreshnessRules) -> Duration {
    guard let lastModified = named.lastModified else { return rules.defaultLifetime }
    let unchanged = max(date - lastModified, 0)
    let guess = unchanged * Int64(min(max(rules.heuristicPercent, 0), 100)) / 100
    return .seconds(min(guess, FreshnessRules.longestGuess))
  }
}

/// The lifetime of answers that bring no picture.
package enum AnswerLifetime {
  /// The lifetime of an answer whose origin names none; nil if it is guessed as for pictures.
  ///
  /// `rule` is the operator's. 404 and 410 follow it in any case, other failures only if nothing tells how
  /// long they have lasted: a picture that has been published in the meantime must not stay missing for long.
  package static func ofSilence(status: Int, headers: HeaderList, rule: Duration) -> Duration? {
    switch status {
    case 404, 410: rule
    case 400...: headers.contains { $0.name == "last-modified" } ? nil : rule
    default: nil
    }
  }
}
