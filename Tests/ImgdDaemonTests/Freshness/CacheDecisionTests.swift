import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon

/// Every policy with every state; a row's rules complete its columns.
struct CacheDecisionTests {
  struct Row: Sendable {
    let section: String
    let name: String
    let state: StoredState?
    var rule: Duration = .zero
    /// Under `default`.
    let byProtocol: CacheDecision
    /// Whether a failed confirmation falls back under `no-cache`.
    var revalidationFallsBack = false
    /// Whether the modes that prefer a stored answer report it as stale.
    var isShownAsStale = true

    init(
      _ section: String, _ name: String, _ state: StoredState?, rule: Int64 = 0,
      _ byProtocol: CacheDecision, revalidationFallsBack: Bool = false, isShownAsStale: Bool = true
    ) {
      (self.section, self.name, self.state) = (section, name, state)
      (self.rule, self.byProtocol) = (.seconds(rule), byProtocol)
      (self.revalidationFallsBack, self.isShownAsStale) = (revalidationFallsBack, isShownAsStale)
    }

    private var taken: CacheDecision { isShownAsStale ? .useStale : .use }

    /// Whether it is not even for those who take pictures of any age.
    private var isClosed: Bool { state?.isOpenOnlyWhileFresh == true && isShownAsStale }

    func expected(_ policy: CacheMode) -> CacheDecision {
      guard state != nil else {
        return policy == .onlyIfCached || policy == .peek ? .refuse : .load
      }
      return switch policy {
      case .default_: byProtocol
      case .reload, .noStore: .load
      case .noCache: .confirm(mayFallBack: revalidationFallsBack)
      case .forceCache: isClosed ? .confirm(mayFallBack: false) : taken
      case .onlyIfCached, .peek: isClosed ? .refuse : taken
      }
    }
  }

  /// What credentials have opened to others as long as it is fresh (RFC 9111, 3.5).
  private static let opened: [Row] = [
    Row("3.5", "opened, fresh", fresh { $0.open() }, .use, isShownAsStale: false),
    Row("3.5", "opened, stale", stale(for: 0) { $0.open() }, .confirm(mayFallBack: false)),
    Row(
      "3.5", "opened, with grants and a rule",
      stale(for: 1, meanwhile: 9, onError: 9) { $0.open() },
      rule: 9, .confirm(mayFallBack: false)),
    Row(
      "3.5", "opened, purged softly",
      fresh {
        $0.open()
        $0.isMarkedStale = true
      }, .confirm(mayFallBack: false)),
    Row(
      "3.5", "opened, no-cache",
      fresh {
        $0.open()
        $0.needsConfirmation = true
      }, .confirm(mayFallBack: false)),
  ]

  private static func fresh(_ change: (inout StoredState) -> Void = { _ in }) -> StoredState {
    var state = StoredState(isFresh: true)
    change(&state)
    return state
  }

  private static func stale(
    for seconds: Int64, meanwhile: Int64 = 0, onError: Int64? = nil,
    _ change: (inout StoredState) -> Void = { _ in }
  ) -> StoredState {
    var state = StoredState(
      isFresh: false, staleFor: .seconds(seconds), staleWhileRevalidate: .seconds(meanwhile),
      staleIfError: onError.map { .seconds($0) })
    change(&state)
    return state
  }

  private static let plain = [
    Row("4", "nothing stored", nil, .load),
    Row("4.2", "fresh", fresh(), .use, isShownAsStale: false),
    Row("4.2", "fresh, with a rule for errors", fresh(), rule: 9, .use, isShownAsStale: false),
    Row("4.2", "stale at this moment", stale(for: 0), .confirm(mayFallBack: false)),
    Row("4.2.4", "stale", stale(for: 10), .confirm(mayFallBack: false)),
    Row("4.2.4", "stale for ever", stale(for: .max / 2), .confirm(mayFallBack: false)),
    Row(
      "5.2.2.2", "must-revalidate, fresh", fresh { $0.mustRevalidate = true }, .use,
      isShownAsStale: false),
    Row(
      "8246 2", "immutable, fresh", fresh { $0.isImmutable = true }, .use,
      revalidationFallsBack: true, isShownAsStale: false),
    Row(
      "8246 2", "immutable, stale", stale(for: 1) { $0.isImmutable = true },
      .confirm(mayFallBack: false)),
    Row(
      "8246 2", "immutable, no-cache",
      fresh { ($0.isImmutable, $0.needsConfirmation) = (true, true) }, .confirm(mayFallBack: false)),
    Row(
      "8246 2", "immutable, purged softly",
      fresh { ($0.isImmutable, $0.isMarkedStale) = (true, true) }, .confirm(mayFallBack: false)),
  ]

  private static let granted = [
    Row(
      "5861 3", "within stale-while-revalidate", stale(for: 4, meanwhile: 5), .useStaleAndRefresh),
    Row("5861 3", "at its beginning", stale(for: 0, meanwhile: 5), .useStaleAndRefresh),
    Row("5861 3", "at its end", stale(for: 5, meanwhile: 5), .confirm(mayFallBack: false)),
    Row("5861 3", "beyond it", stale(for: 6, meanwhile: 5), .confirm(mayFallBack: false)),
    Row(
      "5861 4", "within stale-if-error", stale(for: 4, onError: 5), .confirm(mayFallBack: true),
      revalidationFallsBack: true),
    Row("5861 4", "at its end", stale(for: 5, onError: 5), .confirm(mayFallBack: false)),
    Row(
      "5861 4", "within a stale-if-error of nothing", stale(for: 0, onError: 0),
      .confirm(mayFallBack: false)),
    Row(
      "5861 4", "within both", stale(for: 4, meanwhile: 5, onError: 5), .useStaleAndRefresh,
      revalidationFallsBack: true),
    Row(
      "5861 4", "between both", stale(for: 6, meanwhile: 5, onError: 9),
      .confirm(mayFallBack: true), revalidationFallsBack: true),
    Row(
      "5861 4", "fresh, with a grant", fresh { $0.staleIfError = .seconds(5) }, .use,
      revalidationFallsBack: true, isShownAsStale: false),
    Row(
      "rule", "the rule where the origin is silent", stale(for: 4), rule: 5,
      .confirm(mayFallBack: true)),
    Row("rule", "beyond the rule", stale(for: 5), rule: 5, .confirm(mayFallBack: false)),
    Row(
      "rule", "not against an origin that grants less", stale(for: 4, onError: 1), rule: 5,
      .confirm(mayFallBack: false)),
    Row(
      "rule", "not against an origin that forbids", stale(for: 4, onError: 0), rule: 5,
      .confirm(mayFallBack: false)),
    Row(
      "rule", "an origin that grants more", stale(for: 4, onError: 9), rule: 1,
      .confirm(mayFallBack: true), revalidationFallsBack: true),
  ]

  private static let forbidden: [Row] = [0, 60].flatMap { rule in
    [
      Row(
        "5.2.2.4", "no-cache, fresh", fresh { $0.needsConfirmation = true }, rule: rule,
        .confirm(mayFallBack: false)),
      Row(
        "5.2.2.4", "no-cache, with grants",
        stale(for: 1, meanwhile: 9, onError: 9) { $0.needsConfirmation = true }, rule: rule,
        .confirm(mayFallBack: false)),
      Row(
        "5.2.2.2", "must-revalidate, stale", stale(for: 1) { $0.mustRevalidate = true }, rule: rule,
        .confirm(mayFallBack: false)),
      Row(
        "5.2.2.2", "must-revalidate, with grants",
        stale(for: 1, meanwhile: 9, onError: 9) { $0.mustRevalidate = true }, rule: rule,
        .confirm(mayFallBack: false)),
      Row(
        "5.2.2.2", "must-revalidate, purged softly",
        fresh { ($0.mustRevalidate, $0.isMarkedStale) = (true, true) }, rule: rule,
        .confirm(mayFallBack: false)),
    ]
  }

  private static let marked = [
    Row("purge", "marked, fresh", fresh { $0.isMarkedStale = true }, .confirm(mayFallBack: false)),
    Row(
      "purge", "marked, stale", stale(for: 4) { $0.isMarkedStale = true },
      .confirm(mayFallBack: false)),
    Row(
      "purge", "marked, within stale-while-revalidate",
      stale(for: 4, meanwhile: 5) { $0.isMarkedStale = true }, .confirm(mayFallBack: false)),
    Row(
      "purge", "marked, within stale-if-error",
      stale(for: 4, onError: 5) { $0.isMarkedStale = true }, .confirm(mayFallBack: true),
      revalidationFallsBack: true),
    Row(
      "purge", "marked, with the rule", fresh { $0.isMarkedStale = true }, rule: 5,
      .confirm(mayFallBack: true)),
  ]

  static let rows = plain + granted + forbidden + marked + opened

  @Test(arguments: CacheMode.allCases)
  func `a policy and a state decide what the cache does`(policy: CacheMode) {
    for row in Self.rows {
      let decision = policy.decision(
        on: row.state, rules: FreshnessRules(staleIfError: row.rule))
      #expect(decision == row.expected(policy), "\(row.section): \(row.name), \(policy)")
    }
  }

  @Test("without a network default shows what is stale and not forbidden", arguments: CacheMode.allCases)
  func offline(policy: CacheMode) {
    for row in Self.rows {
      let decision = policy.decision(
        on: row.state, rules: FreshnessRules(staleIfError: row.rule), isOffline: true)
      let online = row.expected(policy)
      let isForbidden =
        row.state.map { $0.needsConfirmation || $0.mustRevalidate || $0.isOpenOnlyWhileFresh } != false
      let changes = policy == .default_ && online != .use && !isForbidden
      #expect(decision == (changes ? .useStale : online), "\(row.section): \(row.name), \(policy)")
    }
  }

  /// All possible states, by the guarantees that hold for each of them.
  @Test func `each guarantee of the cache holds for every state`() {
    let flags = [false, true]
    let times: [Duration] = [.zero, .seconds(4), .seconds(5), .seconds(6)]
    for (first, second) in flags.flatMap({ first in flags.map { (first, $0) } }) {
      for (third, fourth) in flags.flatMap({ third in flags.map { (third, $0) } }) {
        for (age, isFresh) in times.map({ ($0, false) }) + [(.zero, true)] {
          for grant in [nil, .zero, .seconds(5)] as [Duration?] {
            expectGuarantees(
              StoredState(
                isFresh: isFresh, staleFor: age, needsConfirmation: first, mustRevalidate: second,
                isMarkedStale: third, isImmutable: fourth, staleWhileRevalidate: grant ?? .zero,
                staleIfError: grant))
          }
        }
      }
    }
  }

  private func expectGuarantees(_ state: StoredState) {
    let rules = FreshnessRules(staleIfError: .seconds(5))
    let usual = CacheMode.default_.decision(on: state, rules: rules)
    if state.needsConfirmation { #expect(usual == .confirm(mayFallBack: false)) }
    if state.mustRevalidate, !state.isFresh { #expect(usual == .confirm(mayFallBack: false)) }
    if state.isMarkedStale { #expect(usual != .use && usual != .useStaleAndRefresh) }
    if !state.isFresh { #expect(usual != .use) }
    for policy in CacheMode.allCases {
      let decision = policy.decision(on: state, rules: rules)
      #expect(decision != .refuse, "something is stored")
      if policy == .reload || policy == .noStore { #expect(decision == .load) }
      if policy != .default_ { #expect(decision != .useStaleAndRefresh) }
    }
    #expect(
      CacheMode.forceCache.decision(on: state, rules: rules)
        == CacheMode.onlyIfCached.decision(on: state, rules: rules))
  }
}

extension StoredState {
  /// As the origin does that lets all have what credentials have fetched.
  fileprivate mutating func open() { (isOpenOnlyWhileFresh, mustRevalidate) = (true, true) }
}
