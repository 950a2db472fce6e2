import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// One transfer and its waiters.
///
/// It is known by its serial number, never by its URL: a URL that was cancelled and asked for again
/// is another download, and late reports of the first one are dropped.
final class MergedDownload {
  /// The end of a download, as its waiters see it.
  enum Settlement {
    case ended(FetchOutcome)
    /// The waiters have to go on somewhere else.
    case redirected(Redirect)
    /// The origin has refused the URL that was sent, which says nothing about others of the same key.
    case refused(FetchFailure, CanonicalURL)
    /// The network has gone: they have to ask again, and wait for it.
    case interrupted
  }

  enum State {
    case queued
    case running
    /// Over, one way or the other: no request joins, and no report is taken.
    case closed
  }

  let serial: UInt64
  let mergeKey: MergeKey
  let policy: CacheMode
  /// What the origin is asked for: the newest URL of its waiters when it begins, whose signature lasts longest.
  private(set) var sentURL: CanonicalURL
  /// Whether a waiter has that URL sent since another was refused.
  private var keepsURL = false
  /// Why the origin had to be replaced, and the URL that stands in for it from then on.
  private(set) var failureOfOrigin: TransferFailure?
  private(set) var fallback: CanonicalURL?
  /// The stored image that the transfer asks the origin to confirm.
  var confirming: CachedImage?

  var state = State.queued
  /// The last purge of the fleet that was heard before its transfer began.
  var mark: FleetPosition?
  /// Whether the fleet keeps what other hosts have a use for, and does not get its picture.
  var leavesFleet = false
  /// When it began to wait for its turn.
  var queuedAt: Instant?
  /// When its transfer began; nil while it waits.
  private(set) var begunAt: Instant?
  /// The tiers that a purge or a later download keeps it out of; its picture is delivered all the same.
  private(set) var closedTiers = Tiers()
  /// The last purge that it was compared with and that was not about it.
  private(set) var checked: UInt64
  /// Where the engine says what the transfer waits for, once it has begun.
  var transferPhase = PhaseCell()
  var received = 0
  var expected: Int?
  var hasHeaders = false
  /// Where the section for its URL counts what waits and runs.
  var section: OriginTally?
  /// The bytes and the time that the transfer may take: the most that any waiter grants.
  var allowance: PictureWish.Allowance

  /// How it has ended, for those that have yet to be told.
  var settlement: Settlement?
  var round = Round()
  /// The tags of all that have ever waited, each once, and in the end those of its origin.
  private(set) var tags: [String] = []
  /// The users among those who wait that have purged it since.
  private var hasGivenUp: Set<UInt32> = []
  /// The last purge before its transfer began.
  private var newestBefore: UInt64 = 0

  private var waiting = Roll<Waiter>()
  private var lastToLeave: PictureWish?

  /// One who waits, and is told whenever something is new.
  struct Waiter {
    let wish: PictureWish
    let attend: (MergedDownload) -> Void
  }

  /// A pass over all waiters, in parts.
  struct Round {
    fileprivate(set) var isUnderWay = false
    /// The number of the last waiter that was told.
    fileprivate var place: UInt64 = 0
    /// Whether something has become new that the waiters at the front have not been told.
    fileprivate var isStale = false

    /// Begins a round, and returns whether somebody has to carry it out; a round under way is repeated.
    mutating func begin() -> Bool {
      isStale = isUnderWay
      defer { isUnderWay = true }
      return !isUnderWay
    }

    /// Goes on after a waiter; without one it is over, or begins once more.
    fileprivate mutating func move(to place: UInt64?) {
      self.place = place ?? 0
      guard place == nil else { return }
      isUnderWay = isStale
      isStale = false
    }
  }

  init(
    serial: UInt64, mergeKey: MergeKey, policy: CacheMode, confirming: CachedImage?, allowance: PictureWish.Allowance,
    checked: UInt64
  ) {
    self.checked = checked
    self.serial = serial
    self.mergeKey = mergeKey
    sentURL = mergeKey.key.url
    self.policy = policy
    self.confirming = confirming
    self.allowance = allowance
  }

  var url: CanonicalURL { mergeKey.key.url }

  /// The URL whose host it waits for or is received from.
  var askedURL: CanonicalURL { fallback ?? url }

  /// The keys under which there may be an answer that its own replaces.
  var keys: [CacheKey] { [mergeKey.key] + (confirming.map { [$0.key] } ?? []) }

  /// Whether its picture is kept nowhere.
  var isPurgedEverywhere: Bool { closedTiers == .all }

  /// Whether no request joins it any more: one that comes after a purge wants the picture as it is after that.
  var isPurged: Bool { !closedTiers.isEmpty }

  /// Compares it with the purges that came since, before somebody joins it or its picture is kept. What it confirms
  /// has tags of its own.
  func check(against purges: PurgeList) {
    guard checked < purges.newest, !isPurgedEverywhere else { return }
    close(against: purges, after: checked, tags: EntryTags.union(confirming?.tags ?? [], tags))
    if !isPurged { checked = purges.newest }
  }

  /// Notes that its transfer begins, after these purges.
  func begin(after purges: PurgeList, at now: Instant) {
    begunAt = now
    newestBefore = purges.newest
  }

  /// Waits for another server, since the origin has failed.
  func turn(to fallback: CanonicalURL, after failure: TransferFailure) {
    (self.fallback, failureOfOrigin) = (fallback, failure)
    (state, begunAt, transferPhase) = (.queued, nil, PhaseCell())
    (hasHeaders, received, expected) = (false, 0, nil)
  }

  /// Adds the tags that its origin gives the answer, and compares it with the purges by them since its transfer began: it
  /// could not be known before that they are about it.
  func add(tagsOfOrigin more: [String], checkedAgainst purges: PurgeList) {
    guard !more.isEmpty else { return }
    tags = EntryTags.union(tags, more)
    guard newestBefore < purges.newest, !isPurgedEverywhere else { return }
    close(against: purges, after: newestBefore, tags: more)
  }

  private func close(against purges: PurgeList, after number: UInt64, tags: [String]) {
    for tier in Tier.allCases {
      let verdict = purges.verdict(on: mergeKey.key, tags: tags, in: tier.scope, after: number, storedAt: nil)
      if verdict != .untouched { closedTiers.insert(tier.scope) }
    }
  }

  /// Keeps it out of tiers: a later download has brought its picture first, or the user who waits for it has purged it.
  func close(_ tiers: Tiers = .all) { closedTiers.formUnion(tiers) }

  /// Takes a user's claim away, who has purged it; what nobody else claims is kept out of tiers. While others claim it,
  /// a purge that spares anything changes nothing.
  func giveUpClaim(of uid: UInt32, in tiers: Tiers, isSoft: Bool) {
    guard wishes.contains(where: { $0.claimant.uid != uid && !hasGivenUp.contains($0.claimant.uid) }) else {
      return close(tiers)
    }
    guard tiers == .all, !isSoft else { return }
    hasGivenUp.insert(uid)
    tags = EntryTags.without(uid, tags)
  }

  /// The wishes that hold for the picture: those of the waiters, or the last one of an orphan.
  var wishes: [PictureWish] { waiting.isEmpty ? lastToLeave.map { [$0] } ?? [] : waiting.map(\.wish) }

  /// The user for whom its picture counts: the one who has waited for it longest, and has not purged it since.
  var owner: UInt32 { wishes.first { !hasGivenUp.contains($0.claimant.uid) }?.claimant.uid ?? uid }

  /// The user who has waited for it longest.
  var uid: UInt32 { (waiting.oldest?.wish ?? lastToLeave)?.claimant.uid ?? 0 }

  var waiterCount: Int { waiting.count }

  var isForKeeping: Bool {
    waiting.isEmpty ? lastToLeave?.isForKeeping == true : waiting.contains { $0.wish.isForKeeping }
  }

  /// Whether a confirmation names a version of the answer other than the stored one, or another target.
  func isMisconfirmed(by head: ResponseHead) -> Bool {
    guard let headers = confirming?.response.headers else { return false }
    return !headers.areConfirmed(by: head.pairs) || !headers.haveTarget(of: head.pairs)
  }

  /// Notes that everything has come; the head of a short body has not been reported before.
  func noteEnd(with result: TransferResult) {
    if !hasHeaders { expected = result.expected }
    hasHeaders = true
  }

  /// The bytes that its body has or is announced to have.
  var size: Int { hasHeaders ? max(received, expected ?? 0) : 0 }

  func add(_ waiter: Waiter) -> UInt64 {
    tags = EntryTags.union(tags, waiter.wish.tags)
    hasGivenUp.remove(waiter.wish.claimant.uid)
    if state == .queued, !keepsURL {
      sentURL = waiter.wish.url
      keepsURL = waiter.wish.refusals > 0
    }
    return waiting.append(waiter)
  }

  /// Takes out a waiter that has been told, or wants to hear nothing more; returns its wish.
  @discardableResult func remove(at place: UInt64) -> PictureWish? {
    guard let waiter = waiting.remove(place) else { return nil }
    if waiting.isEmpty { lastToLeave = waiter.wish }
    return waiter.wish
  }

  /// Brings all waiters up to date at once.
  func attend() { for waiter in waiting { waiter.attend(self) } }

  /// The next waiters of the round, which ends with the last ones.
  func nextOfRound(most: Int) -> [Waiter] {
    let part = waiting.part(after: round.place, most: most)
    round.move(to: part.end)
    return part.members
  }

  /// Whether a request may share this transfer.
  ///
  /// A request for a fresh answer shares only transfers that were begun to get one; others take any answer, but for one
  /// that may bring no bytes where these are needed. One that has shared two refusals goes with its own URL.
  func admits(_ wish: PictureWish) -> Bool {
    guard state != .closed, !isPurged, !wish.needsBody || confirming?.hasBody != false,
      wish.refusals < 2 || wish.url == sentURL
    else { return false }
    switch wish.mode {
    case .reload: return policy == .reload
    case .noCache: return policy == .noCache || policy == .reload
    case .noStore: return policy == .noStore || policy == .reload
    case .default_, .forceCache, .onlyIfCached, .peek: return true
    }
  }
}

/// What a fetch waits for, as far as its time is counted.
enum WaitingPhase {
  case disk
  /// What the client has handed in is being copied.
  case copy
  case queue(running: Int, held: HoldReason?)
  /// No route leads to the host.
  case offline
  case transfer(TransferPhase)
  case decode
  case fleet

  var name: String {
    switch self {
    case .disk: "disk"
    case .copy: "copy"
    case .queue: "queue"
    case .offline: "offline"
    case .transfer(let phase): phase.name
    case .decode: "decode"
    case .fleet: "fleet"
    }
  }

  func timeout(of host: String, after limit: Duration) -> WireError {
    var details: [JSONValue.Member] = [
      .init("phase", .string(name)), .init("limit_ms", .integer(limit.milliseconds)),
    ]
    if case .queue(_, let held?) = self { details.append(.init("held", .string(held.name))) }
    return WireError(.timeout, complaint(about: host, after: limit), details: details)
  }

  private func complaint(about host: String, after limit: Duration) -> String {
    let time = DurationText.text(limit)
    return switch self {
    case .disk: "the disk of the cache did not answer within \(time)"
    case .copy: "what was handed in could not be copied within \(time)"
    case .queue(_, let held?): held.complaint(about: host, after: time)
    case .queue(let running, nil): "waited \(time) in the queue; \(HoldReason.count(running)) running"
    case .offline: HoldReason.offline.complaint(about: host, after: time)
    case .transfer(let phase): phase.complaint(about: host, after: limit)
    case .decode: "the picture has come, but was not decoded within \(time)"
    case .fleet: "another host fetches the picture, but has not stored it within \(time)"
    }
  }
}

/// The edge at which orders for pictures leave the core. Reports come back as values, through `Core.receive`.
///
/// A test replaces it: behind it are a thread, libcurl and the network.
protocol Transfers: AnyObject {
  /// Begins a transfer; all reports about it carry the order's serial.
  func begin(_ order: TransferOrder)
  /// Changes the limits of a transfer that may be under way; the deadline counts from its start.
  func adjust(serial: UInt64, maxBytes: Int, deadline: Duration)
  /// Ends a transfer without a report; one that is on its way already may still arrive.
  func abort(serial: UInt64)
  /// Drops the bodies that broke off and wait to be continued.
  func dropPartials()
  /// What is held for transfers now.
  var holdings: TransferHoldings { get }
}

extension TransferThreads: Transfers {}

/// A transfer's event on its way to the core, with the picture that its body was recognised as.
///
/// An object, since it is handed on several times, and holds much.
final class TransferReport: Sendable {
  typealias Content = Result<ReceivedPicture, NotAPicture>

  let serial: UInt64
  let event: TransferEvent
  /// Nil unless the event brings a body.
  let content: Content?

  /// Recognises the picture, and reads and packs its header fields, on the transfer loop: looking into many megabytes
  /// would delay hits.
  init(_ event: TransferEvent) {
    self.event = event
    serial =
      switch event {
      case .headers(let serial, _), .progress(let serial, _, _), .finished(let serial, _): serial
      }
    content =
      if case .finished(_, .received(let result)) = event, !result.isConfirmation {
        result.payload.withBytes { bytes in
          Result { () throws(NotAPicture) in
            let picture = try PictureProbe.recognise(bytes)
            return ReceivedPicture(picture, result)
          }
        }
      } else { nil }
  }
}

struct ReceivedPicture: Sendable {
  let picture: PictureMeasures
  let checksum: BodyChecksum
  /// What the answer says about its use, and the answer as it is kept with the picture.
  let directions: AnswerDirections
  let response: StoredResponse

  init(_ picture: PictureMeasures, _ result: TransferResult) {
    self.picture = picture
    checksum = BodyChecksum(of: result.payload)
    let headers = result.head.pairs
    directions = AnswerDirections(status: result.head.status, headers, now: WallClock.seconds)
    response = StoredResponse(status: result.head.status, headers: headers)
  }
}

extension TransferResult {
  /// The origin confirmed the image that it was asked about.
  var isConfirmation: Bool { head.status == 304 }
}
