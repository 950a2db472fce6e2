// What becomes of a fetch: an event comes in, the next step goes out.
//
//   event                      next step
//   begun                      findMade; find, under a condition of the client's; where no cache is read showHanded,
//                              if the client has the picture, else recall
//   made      a form           show
//             nothing          find
//   found     a picture that the client has handed in
//                              show, if it is of use; else showHanded
//             not fresh, where its user may have put it
//                              as begun, for what all are shown
//             without bytes    findForm
//             of use           show, and confirm afterwards what is stale
//             not wanted else  askFleet
//             otherwise        recall
//   formed    a form           as found; end, where the origin has just confirmed it
//             nothing          findBytes, where memory alone was asked; else as found nothing
//   recalled  an answer        give, and confirm afterwards what is stale
//             an unknown name  end
//             nothing          askFleet; end, where only what is stored is wanted
//   given     a redirect       as begun, for its target
//             a failure        end
//   fleet     of use           show, and confirm afterwards what is stale; give, if it is no picture
//             of no use        claim, once; else as nothing
//             for others       download, and leave what the fleet has
//             an earlier wait  find
//             nothing          download; recall, where only what is stored is wanted
//   settled   an outcome       end; findForm, where it comes without bytes
//             a redirect       as begun, for its target
//             a refusal        download, if another URL of the same key was refused than its own
//             a failure        give, where a stale answer may stand in for it
//             interrupted      download; as begun, where something stored was to be confirmed
//
// `CacheDecision` says whether something is of use. The machine touches no cache, no connection and no clock:
// `FetchPipeline` carries out the steps, and reports what came of them.

import ImgdCache
import ImgdSystem
import ImgdWire

struct FetchMachine {
  enum Event {
    case begun
    /// The client has handed in the picture, whose bytes are its name.
    case handed(CachedImage, under: MergeKey)
    /// The fetch was made to confirm a stale answer that was shown; nil where that answer is not a picture.
    case begunToConfirm(CachedImage?)
    /// A rendition, made earlier, of a picture that may be shown.
    case made(DeliveredImage?)
    /// The picture in memory or on disk.
    case found(DeliveredImage?)
    /// The same with the form that is wanted, after a look for it; nil without one.
    case formed(DeliveredImage?, of: DeliveredImage)
    case recalled(RecalledAnswer?)
    /// An answer was chosen, and counted.
    case given(CachedImage)
    case fleet(FleetFinding)
    case settled(MergedDownload.Settlement)
  }

  enum Step {
    case findMade
    case find
    /// Looks for the form that is wanted of a picture whose bytes have gone.
    case findForm(of: DeliveredImage)
    /// Looks on disk for such a picture that memory has.
    case findBytes(of: CachedImage)
    case show(DeliveredImage, confirmsLater: Bool)
    case showHanded(CachedImage)
    case showOfFleet(FleetFound, confirmsLater: Bool)
    /// Looks among the answers without a picture; `missesMemory` says that a picture in memory was of no use.
    case recall(missesMemory: Bool)
    case give(CachedImage, confirmsLater: Bool)
    case giveOfFleet(FleetFound)
    case askFleet
    case claim(stamp: UInt64)
    case download(under: FleetClaim?)
    case end(FetchOutcome)
  }

  /// What decisions depend on besides the events.
  struct Circumstances {
    let now: Instant
    let rules: FreshnessRules
    let mostRedirects: Int
    let isPurged: (CachedImage) -> Bool
    /// The URL of the key for one that is asked for.
    let keyURL: (CanonicalURL) -> CanonicalURL
    /// Whether no route leads to the host of a URL.
    let isOffline: (CanonicalURL) -> Bool
  }

  private(set) var route: FetchRoute
  /// How it looks at what is cached.
  private(set) var mode: CacheMode
  /// Whether the fetch is the daemon's own, to confirm what was shown stale.
  let isRefresh: Bool
  /// Whether neither memory nor disk has answered the look-up of its present hop.
  private(set) var isMiss = false
  /// What the origin is asked to confirm.
  private(set) var offered: CachedImage?
  /// The stale picture that stands in if the origin fails.
  private(set) var fallback: DeliveredImage?
  /// The stale answer without a picture that stands in if the origin fails.
  private var fallbackAnswer: CachedImage?
  /// Whether the network has gone while its download ran.
  private(set) var wasInterrupted = false
  /// Whether it may still try to have other hosts wait for its download.
  private var mayClaim = true
  /// Whether the fleet has something for other hosts under its key, in whose place nothing is stored.
  private(set) var leavesFleet = false
  /// How often the origin has refused the URL of another fetch for the same key.
  private(set) var refusals = 0
  /// What is looked for where the present key, under which its user may have put a picture, has nothing fresh.
  private var common: MergeKey?
  private var handed: CachedImage?
  private let uid: UInt32

  /// `url` is the one that was asked for, if it is not that of the key. Under `own` its user may have put a picture.
  init(
    to key: MergeKey, at url: CanonicalURL? = nil, mode: CacheMode, isRefresh: Bool, uid: UInt32, own: MergeKey? = nil
  ) {
    route = FetchRoute(to: own ?? key, at: url ?? key.key.url)
    common = own == nil ? nil : key
    self.mode = mode
    self.isRefresh = isRefresh
    self.uid = uid
  }

  mutating func step(after event: Event, in circumstances: Circumstances) -> Step {
    switch event {
    case .begun: begin(circumstances)
    case .handed(let image, let key): begin(with: image, under: key, circumstances)
    case .begunToConfirm(let image): confirm(image, from: .disk)
    case .made(let made?): .show(made, confirmsLater: false)
    case .made(nil): .find
    case .found(let found) where handed != nil: judgeBesideHanded(found, circumstances)
    case .found(let found?) where !found.image.hasBody: .findForm(of: found)
    case .formed(let found?, _) where found.source == .revalidated: .end(.image(found))
    case .formed(nil, let found) where found.source == .memory: .findBytes(of: found.image)
    case .found(let found), .formed(let found, _): judge(found, circumstances)
    case .recalled(let answer): judge(answer, circumstances)
    case .given(let answer): follow(answer, circumstances)
    case .fleet(let finding): judge(finding, circumstances)
    case .settled(let settlement): settle(settlement, circumstances)
    }
  }

  /// Lets go of what is stored, which belongs to another URL or is no longer of use.
  mutating func forgetStored() {
    offered = nil
    fallback = nil
    fallbackAnswer = nil
  }

  // MARK: Caches

  /// With a rendition the picture itself need not be read; but a client's condition is about the picture itself.
  private mutating func begin(_ circumstances: Circumstances) -> Step {
    guard mode.reads else { return handed.map { .showHanded($0) } ?? judge(nil as DeliveredImage?, circumstances) }
    return route.mergeKey.hasCondition ? .find : .findMade
  }

  /// Takes in the picture that the client has handed in: what others know of the same bytes is as good.
  private mutating func begin(with image: CachedImage, under key: MergeKey, _ circumstances: Circumstances) -> Step {
    route = FetchRoute(to: key, at: key.key.url)
    handed = image
    return begin(circumstances)
  }

  private func judgeBesideHanded(_ found: DeliveredImage?, _ circumstances: Circumstances) -> Step {
    if let found, found.image.hasBody, found.image.isFresh(at: circumstances.now) {
      return .show(found, confirmsLater: false)
    }
    return handed.map { .showHanded($0) } ?? .recall(missesMemory: false)
  }

  private mutating func judge(_ found: DeliveredImage?, _ circumstances: Circumstances) -> Step {
    if let common, found?.image.state(at: circumstances.now).isUsable != true {
      self.common = nil
      route = FetchRoute(to: common, at: route.sentURL)
      return begin(circumstances)
    }
    let state = found?.image.state(at: circumstances.now)
    switch (decision(on: state, circumstances), found) {
    case (.use, let found?), (.useStale, let found?): return .show(found, confirmsLater: false)
    case (.useStaleAndRefresh, let found?): return .show(found, confirmsLater: true)
    case (.refuse, _):
      offered = nil
      return askFleet()
    case (.confirm(mayFallBack: true), let found?):
      fallback = found.asShown(at: circumstances.now)
      return confirm(found.image, from: found.source)
    case (.confirm, let found?): return confirm(found.image, from: found.source)
    default: return confirm(nil, from: nil)
    }
  }

  private func decision(on stored: StoredState?, _ circumstances: Circumstances) -> CacheDecision {
    mode.decision(on: stored, rules: circumstances.rules, isOffline: stored != nil && isOffline(circumstances))
  }

  /// Whether no route leads to the host of its present hop.
  private func isOffline(_ circumstances: Circumstances) -> Bool { circumstances.isOffline(route.url) }

  /// The origin has to be asked, unless it is known what it would say.
  private mutating func confirm(_ image: CachedImage?, from source: DeliveredImage.Source?) -> Step {
    offered = image
    let missesMemory = source == .memory
    isMiss = mode.reads && !isRefresh && (source == nil || missesMemory)
    return .recall(missesMemory: missesMemory)
  }

  // MARK: Answers without a picture

  private mutating func judge(_ recalled: RecalledAnswer?, _ circumstances: Circumstances) -> Step {
    switch recalled {
    case .unknownName(let failure)?: return .end(.failure(failure))
    case .answer(let answer)?:
      let state = answer.state(at: circumstances.now)
      let isAway = answer.redirect != nil && isOffline(circumstances)
      switch mode.decision(on: state, rules: circumstances.rules, isOffline: isAway) {
      case .use: return .give(answer, confirmsLater: false)
      // A client that accepts pictures of any age does not want old failures; nor does one without a network.
      case .useStale where answer.redirect != nil: return .give(answer, confirmsLater: false)
      case .useStaleAndRefresh: return .give(answer, confirmsLater: true)
      case .confirm(mayFallBack: true): fallbackAnswer = answer
      case .useStale, .confirm, .load, .refuse: break
      }
    case nil: break
    }
    guard mode.isForStored else { return askFleet() }
    return .end(.failure(FetchFailure(error: .notCached(route.url.text, mode))))
  }

  /// Goes on where a remembered answer leads, or ends with it.
  private mutating func follow(_ answer: CachedImage, _ circumstances: Circumstances) -> Step {
    if let redirect = answer.redirect { return follow(redirect, circumstances) }
    return .end(.failure(FetchFailure(remembered: answer, at: circumstances.now)))
  }

  /// Goes on for another URL. What is stored for the former hop does not stand in for the new one.
  private mutating func follow(_ redirect: Redirect, _ circumstances: Circumstances) -> Step {
    do throws(WireError) {
      let (limit, keyURL) = (circumstances.mostRedirects, circumstances.keyURL)
      try route.follow(redirect, uid: uid, atMost: limit, keyURL: keyURL)
    } catch { return .end(.failure(FetchFailure(error: error))) }
    refusals = 0
    forgetStored()
    // Only the answer that was shown stale has to be confirmed, not what it leads to.
    if isRefresh { mode = .default_ }
    return begin(circumstances)
  }

  // MARK: The fleet

  private mutating func askFleet() -> Step {
    mayClaim = true
    leavesFleet = false
    return .askFleet
  }

  private mutating func judge(_ finding: FleetFinding, _ circumstances: Circumstances) -> Step {
    forgetPurged(circumstances.isPurged)
    return switch finding {
    case .nothing(let claim): goOn(under: claim)
    case .nothingEarlier: .find
    case .replaceable(let stamp): replace(stamp)
    case .foundForOthers: leave()
    case .picture(let found) where newer(found.image, offered) === found.image: judge(found, circumstances)
    case .answer(let found) where isOfUse(found.image, circumstances): .giveOfFleet(found)
    case .picture(let found), .answer(let found): replace(found.stamp)
    }
  }

  /// Whether an answer of the fleet holds: what it says is the last that is known, and its time is not over.
  private func isOfUse(_ answer: CachedImage, _ circumstances: Circumstances) -> Bool {
    newer(answer, offered) === answer && !circumstances.isPurged(answer)
      && decision(onShared: answer.state(at: circumstances.now), circumstances) == .use
  }

  /// What was purged while the fleet was asked is not offered to the origin, and stands in for nothing.
  private mutating func forgetPurged(_ isPurged: (CachedImage) -> Bool) {
    if let answer = fallbackAnswer, isPurged(answer) { fallbackAnswer = nil }
    guard let image = offered, isPurged(image) else { return }
    offered = nil
    fallback = nil
  }

  /// Uses a picture of the fleet, or has it confirmed.
  private mutating func judge(_ found: FleetFound, _ circumstances: Circumstances) -> Step {
    switch decision(onShared: found.image.state(at: circumstances.now), circumstances) {
    case .use, .useStale: return .showOfFleet(found, confirmsLater: false)
    case .useStaleAndRefresh: return .showOfFleet(found, confirmsLater: true)
    case .confirm(let mayFallBack):
      offered = circumstances.isPurged(found.image) ? nil : found.image
      if mayFallBack, offered != nil {
        fallback = DeliveredImage(image: found.image, source: .fleet).asShown(at: circumstances.now)
      }
      return replace(found.stamp)
    case .load, .refuse:
      offered = nil
      return goOn(under: nil)
    }
  }

  /// A fetch that has a stale picture confirmed also takes one that needs no confirmation.
  private func decision(onShared stored: StoredState, _ circumstances: Circumstances) -> CacheDecision {
    guard isRefresh else { return decision(on: stored, circumstances) }
    return stored.isUsable ? .use : .confirm(mayFallBack: false)
  }

  /// Claims what the fleet has, so that other hosts wait for what the origin says about it.
  private mutating func replace(_ stamp: UInt64) -> Step {
    guard mayClaim, !mode.isForStored else { return goOn(under: nil) }
    mayClaim = false
    return .claim(stamp: stamp)
  }

  /// Fetches it for this host alone.
  private mutating func leave() -> Step {
    leavesFleet = true
    return goOn(under: nil)
  }

  private func goOn(under claim: FleetClaim?) -> Step {
    mode.isForStored ? .recall(missesMemory: false) : .download(under: claim)
  }

  private mutating func settle(_ settlement: MergedDownload.Settlement, _ circumstances: Circumstances) -> Step {
    switch settlement {
    case .ended(.failure(let failure)) where failure.isOfOrigin && fallbackAnswer != nil:
      fallbackAnswer.map { .give($0, confirmsLater: false) } ?? .end(.failure(failure))
    // Nobody waits for what the daemon itself has had confirmed.
    case .ended(.image(let confirmed)) where !confirmed.image.hasBody && !isRefresh: .findForm(of: confirmed)
    case .ended(let outcome): .end(outcome)
    case .redirected(let redirect): follow(redirect, circumstances)
    case .refused(_, let url) where url != route.sentURL: retry()
    case .refused(let failure, _): .end(.failure(failure))
    case .interrupted: goOnAfterInterruption(circumstances)
    }
  }

  /// Goes on with its own URL, which may have another signature.
  private mutating func retry() -> Step {
    refusals += 1
    return .download(under: nil)
  }

  private mutating func goOnAfterInterruption(_ circumstances: Circumstances) -> Step {
    // Nobody waits for what the daemon itself has had confirmed.
    guard !isRefresh else { return .end(.failure(.offline(route.url.host))) }
    wasInterrupted = true
    guard offered != nil else { return .download(under: nil) }
    forgetStored()
    return begin(circumstances)
  }
}

/// What is remembered of an origin that had no picture to give.
enum RecalledAnswer {
  case answer(CachedImage)
  /// The name of its host could not be looked up a moment ago.
  case unknownName(FetchFailure)
}
