// Lets claims into the common queue, as far as their hosts have places.
//
// The limits: never more than `mostPerHost` from one host, none from a host that has asked to be left alone or that no
// route leads to, and in all as many as `Places` admits. A host whose running downloads are all slow gets more only when
// nothing else may start.
//
// A host whose places are taken must not be looked at again and again, however much waits for it. So each host has
// lines of its own, one for each user and priority, and offers only the head of each in the common queue, and only
// while it has a place. A step is a few operations on heaps for each user that waits for the host, whatever the number
// of claims, connections and hosts; a search for somebody who may have a place also has to skip those that hold some.

import ImgdSystem
import ImgdTransfer
import ImgdWire

final class HostGate {
  /// If more hosts are held, the one whose time ends first is asked again early.
  private static let mostHeld = 1_000

  var mostPerHost: Int
  let places: Places
  var reach = Reach()
  private var queue = FairQueue(to: .connection)
  private(set) var hosts: [String: HostQueue] = [:]
  /// The same in the order in which they came.
  private var inOrder = Roll<HostQueue>()
  /// The hosts that have asked to be left alone, by the end of that time.
  private var held = KeyedHeap<HostQueue>(0)
  /// The hosts with a pace, by the time when the next download may begin there, or the last one no longer counts.
  private var paced = KeyedHeap<HostQueue>(2)
  /// The hosts that let others go first, in the order in which they get a place all the same.
  private var yielding = KeyedHeap<HostQueue>(1)
  private var yields: Int64 = 0

  init(places: Int, mostPerHost: Int) {
    self.places = Places(limit: places)
    self.mostPerHost = mostPerHost
  }

  var hostCount: Int { hosts.count }

  /// How many claims are offered.
  var offeredCount: Int { hosts.values.flatMap(\.lines.values).reduce(0) { $0 + $1.offered.count } }

  /// The host of that name, which is kept until it is dropped.
  func host(named name: String) -> HostQueue {
    if let host = hosts[name] { return host }
    let host = HostQueue(name: name, number: inOrder.newest + 1)
    host.isWithheld = !reach.includes(name)
    hosts[name] = host
    inOrder.add(host, numbered: host.number)
    return host
  }

  func insert(_ claim: Claim, at host: HostQueue) {
    queue.line(claim.priority).join(claim)
    let line = host.line(for: claim)
    line.claims.insert(claim)
    refreshOffer(of: line, at: host)
  }

  func remove(_ claim: Claim, at host: HostQueue) {
    let line = host.line(for: claim)
    line.claims.remove(claim)
    refreshOffer(of: line, at: host)
    queue.line(claim.priority).leave(claim)
  }

  // MARK: Starting and ending

  /// The claim that may be served now; nil where nothing may start.
  func next(at now: Instant) -> Claim? {
    guard places.hasAny else { return nil }
    return nextOffered(at: now) ?? nextOfYielding(at: now)
  }

  private func nextOffered(at now: Instant) -> Claim? {
    let places = places
    return queue.next(from: places.lowest, at: now) { places.admits($0) ? .anything : .nothing }
  }

  /// Looks at one of the hosts that let others go first, a different one each time.
  private func nextOfYielding(at now: Instant) -> Claim? {
    guard let host = yielding.first(where: { $0.queued > 0 && $0.hasPlace(atMost: mostPerHost) }) else { return nil }
    setYields(host, false)
    let claim = nextOffered(at: now)
    setYields(host, true)
    return claim
  }

  /// Gives a place to what a claim is for, in the turn of its claimant.
  func givePlace(to claim: Claim, at host: HostQueue, _ priority: Priority, at now: Instant) {
    host.line(for: claim).claims.charge(for: claim)
    queue.line(claim.priority).charge(for: claim)
    places.give(to: claim.claimant, priority)
    host.active += 1
    if let time = host.countBeginning(at: now) { paced.insert(host, key: time.nanoseconds) }
    if !hasPlace(host) { refreshOffers(of: host) }
  }

  func giveBackPlace(at host: HostQueue, by holder: Claimant, _ priority: Priority, isSlow: Bool) {
    places.giveBack(by: holder, priority, isSlow: isSlow)
    host.active -= 1
    if isSlow { host.slow -= 1 }
    if host.heldUntil == nil { host.isOnProbation = false }
    if host.yields, !isSlow || host.active == 0 { setYields(host, false) }
  }

  /// Notes that a running download became slow, or flows again.
  func mark(at host: HostQueue, _ priority: Priority, isSlow: Bool) {
    places.change(priority, isSlow: isSlow)
    host.slow += isSlow ? 1 : -1
    let yields = isSlow && (host.yields || host.slow == host.active)
    if yields != host.yields { setYields(host, yields) }
  }

  private func setYields(_ host: HostQueue, _ yields: Bool) {
    host.yields = yields
    self.yields += 1
    yielding.set(host, key: yields ? self.yields : nil)
    refreshOffers(of: host)
  }

  // MARK: Hosts with limits of their own

  /// Has other limits hold for a host.
  func limit(_ host: HostQueue, to limits: HostLimits, at now: Instant) {
    guard host.limits != limits else { return }
    host.limits = limits
    host.throttle?.limit(to: limits.bandwidth)
    if let bandwidth = limits.bandwidth { host.throttle = host.throttle ?? Throttle(bytesPerSecond: bandwidth) }
    paced.set(host, key: host.review(at: now)?.nanoseconds)
    review(host)
  }

  private func releasePaced(at now: Instant) {
    while let time = paced.firstKey, time <= now.nanoseconds, let host = paced.first {
      paced.set(host, key: host.review(at: now)?.nanoseconds)
      refresh(host)
    }
  }

  // MARK: Hosts that ask to be left alone

  /// Starts nothing from a host until then; after that, one download goes first, and if that goes well, the others.
  func hold(_ name: String, until end: Instant) {
    let host = host(named: name)
    if let held = host.heldUntil, held > end { return }
    host.heldUntil = end
    host.isOnProbation = true
    held.insert(host, key: end.nanoseconds)
    if held.count > Self.mostHeld { releaseFirst() }
    refreshOffers(of: host)
  }

  /// The end of the time for which a host has asked to be left alone; nil where it has not.
  func holdEnd(of name: String) -> Instant? { held.isEmpty ? nil : hosts[name]?.heldUntil }

  /// When the next host may be asked again.
  var nextRelease: Instant? {
    let keys = [held.firstKey, paced.firstKey].compactMap { $0 }
    return keys.min().map { Instant(nanoseconds: $0) }
  }

  func releaseHosts(at now: Instant) {
    while let end = held.firstKey, end <= now.nanoseconds { releaseFirst() }
    releasePaced(at: now)
  }

  private func releaseFirst() {
    guard let host = held.first else { return }
    held.remove(host)
    host.heldUntil = nil
    refresh(host)
  }

  func refreshAll() { for host in hosts.values { review(host) } }

  /// Withholds some of the hosts after a number, or offers them again, as `reach` now is; returns the number of the last
  /// one, or nil where there are no more.
  func review(after number: UInt64, most: Int) -> UInt64? {
    let part = inOrder.part(after: number, most: most)
    for host in part.members { review(host) }
    return part.end
  }

  private func review(_ host: HostQueue) {
    host.isWithheld = !reach.includes(host.limits.contact ?? host.name)
    refreshOffers(of: host)
  }

  /// Offers what may start at a host after a change there, and drops the host if it is unused.
  func refresh(_ host: HostQueue) {
    refreshOffers(of: host)
    guard host.isUnused else { return }
    hosts[host.name] = nil
    inOrder.remove(host.number)
  }

  private func hasPlace(_ host: HostQueue) -> Bool { !host.yields && host.hasPlace(atMost: mostPerHost) }

  private func refreshOffers(of host: HostQueue) { for line in host.lines.values { refreshOffer(of: line, at: host) } }

  /// Ensures that the head of a line, and nothing else, is offered, and only while its host has a place.
  private func refreshOffer(of line: HostLine, at host: HostQueue) {
    let wanted = hasPlace(host) ? line.candidates { places.holdsBack($0) } : []
    guard wanted != line.offered else { return }
    for claim in line.offered where !wanted.contains(claim) { queue.line(line.priority).withdraw(claim) }
    for claim in wanted where !line.offered.contains(claim) { queue.line(line.priority).offer(claim) }
    line.offered = wanted
  }
}

/// What waits for one host, and how much is under way there.
final class HostQueue: HeapMember {
  let name: String
  /// Hosts are numbered as they come.
  let number: UInt64
  var places = HeapPlaces(repeating: 0)
  /// How much waits, and how much runs.
  var queued = 0
  var active = 0
  /// How many of the running ones are slow.
  var slow = 0
  /// All that ran were slow, and none has flowed again or ended in time since: other hosts go first.
  var yields = false
  /// The host has asked to be left alone until then.
  var heldUntil: Instant?
  /// No route leads there.
  var isWithheld = false
  /// Whether it answers again after that time is still to be seen: until then, one at a time.
  var isOnProbation = false
  /// What the operator allows here.
  fileprivate(set) var limits = HostLimits()
  /// Slows down what comes from here.
  fileprivate(set) var throttle: Throttle?
  /// By its pace, the time from which on nothing is owed for what has begun; nil where nothing is.
  private var due: Instant?
  /// Whether the next one has to wait for that.
  private var isPausing = false
  /// The lines of what waits. A line remembers whose turn it was, and stays as long as anything waits or runs.
  /// Each is known by its user and its priority.
  private(set) var lines: [UInt64: HostLine] = [:]

  init(name: String, number: UInt64) {
    self.name = name
    self.number = number
  }

  var isUnused: Bool { queued == 0 && active == 0 && heldUntil == nil && due == nil }

  /// Whether one more may run beside those that run already.
  func hasPlace(atMost limit: Int) -> Bool {
    heldUntil == nil && !isWithheld && !isPausing && active < (isOnProbation ? 1 : limits.places ?? limit)
  }

  /// Counts a beginning, and returns when to review the pace; nil for a host without one.
  fileprivate func countBeginning(at now: Instant) -> Instant? {
    guard let pace = limits.pace else { return nil }
    due = max(due ?? now, now) + pace.interval
    return review(at: now)
  }

  /// When the next one may begin, by its pace; nil where that need not wait.
  var pauseEnd: Instant? {
    guard isPausing, let due, let pace = limits.pace else { return nil }
    return due + pace.interval * (1 - pace.burst)
  }

  /// Finds out whether the next one may begin, and returns when to review that again; nil if nothing is owed any more.
  fileprivate func review(at now: Instant) -> Instant? {
    guard let owed = due, owed > now, let pace = limits.pace else {
      (due, isPausing) = (nil, false)
      return nil
    }
    let next = owed + pace.interval * (1 - pace.burst)
    isPausing = next > now
    return isPausing ? next : owed
  }

  func line(for claim: Claim) -> HostLine {
    let name = UInt64(claim.claimant.uid) << 2 | UInt64(claim.priority.rank)
    if let line = lines[name] { return line }
    let line = HostLine(claim.priority)
    lines[name] = line
    return line
  }
}

/// What one user waits for at one host with one priority, in turns of the user's connections.
final class HostLine {
  let priority: Priority
  let claims = TurnLine(.connection, to: .connection, of: .host)
  /// The claims that stand in the common queue for this line: the next, and the oldest of the same connection.
  var offered: [Claim] = []

  init(_ priority: Priority) { self.priority = priority }

  /// The claims to offer: those of the connection whose turn it is, unless it has to let others go first.
  func candidates(hasToWait: (Claimant) -> Bool) -> [Claim] {
    guard claims.isOffering else { return [] }
    let ready = claims.heads { hasToWait($0) ? .nothing : .anything }
    guard let heads = ready ?? claims.heads(admits: { _ in .anything }) else { return [] }
    return heads.next == heads.oldest ? [heads.next] : [heads.next, heads.oldest]
  }
}

/// The places of running downloads: how many there are, and who holds them.
///
/// With eight places or more, an eighth is kept for connections that hold none, and half of that for users that hold
/// none. A download that is slow does not count then: otherwise its server would decide how much room the others have.
/// How many may run including the slow ones is bounded as well, in all, for a user and for a connection. With fewer
/// places every download counts: an operator who sets such a low limit means it.
final class Places {
  /// The fewest places for which the rules about shares hold.
  static let fewestToShare = 8
  /// How many downloads may run for each place, including the slow ones.
  private static let mostPerPlace = 8

  /// How many may run that are not slow.
  var limit: Int
  private(set) var active = 0
  private(set) var slow = 0
  /// The most that ever ran at once.
  private(set) var peak = 0
  private var low = 0
  /// How many each user and each connection holds.
  private(set) var held: [Claimant: Int] = [:]

  init(limit: Int) { self.limit = limit }

  /// Whether there are enough places for the rules about shares.
  var isShared: Bool { limit >= Self.fewestToShare }
  private var free: Int { limit - active + (isShared ? slow : 0) }
  private var reserve: Int { isShared ? limit / 8 : 0 }
  private var most: Int { isShared ? Self.mostPerPlace * limit : limit }
  private var mostOfUser: Int { isShared ? most / 2 : limit }
  private var mostOfConnection: Int { isShared ? most * 3 / 8 : limit }

  var hasAny: Bool { free > 0 && active < most }

  /// The lowest priority that may have a place: where there is more than one, one is kept from `low`.
  var lowest: Priority { limit < 2 || low < limit - 1 ? .low : .normal }

  /// Whether a user may have a place, or a connection of a user who is admitted.
  func admits(_ claimant: Claimant) -> Bool {
    let held = held[claimant, default: 0]
    let (most, kept) = claimant.connection == nil ? (mostOfUser, reserve / 2) : (mostOfConnection, reserve)
    return hasAny && held < most && (held == 0 || free > kept)
  }

  /// Whether others at the same host go ahead of the connection, because of the places that it holds.
  func holdsBack(_ claimant: Claimant) -> Bool {
    guard isShared, let held = held[claimant] else { return false }
    return free <= reserve || held >= mostOfConnection
  }

  func give(to holder: Claimant, _ priority: Priority) {
    active += 1
    peak = max(peak, active)
    held[holder.member(at: .user), default: 0] += 1
    held[holder, default: 0] += 1
    if priority == .low { low += 1 }
  }

  func giveBack(by holder: Claimant, _ priority: Priority, isSlow: Bool) {
    active -= 1
    held.countDown(holder.member(at: .user))
    held.countDown(holder)
    if isSlow { slow -= 1 } else if priority == .low { low -= 1 }
  }

  func change(_ priority: Priority, isSlow: Bool) {
    slow += isSlow ? 1 : -1
    if priority == .low { low += isSlow ? -1 : 1 }
  }

  /// Notes that the requests for a running download that is not slow have another priority.
  func change(from before: Priority, to after: Priority) {
    low += (after == .low ? 1 : 0) - (before == .low ? 1 : 0)
  }
}

extension Dictionary where Value == Int {
  /// Counts a key down, and forgets it at zero.
  mutating func countDown(_ key: Key, by amount: Int = 1) {
    guard let place = index(forKey: key) else {
      if amount < 0 { self[key] = -amount }
      return
    }
    let rest = values[place] - amount
    if rest > 0 { values[place] = rest } else { remove(at: place) }
  }
}
