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
import ImgdWire

final class HostGate {
  /// If more hosts are held, the one whose time ends first is asked again early.
  private static let mostHeld = 1_000
  /// If more hosts have a pace to keep, the one that owes least may begin early.
  private static let mostPaced = 10_000

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
    if paced.count > Self.mostPaced, let first = paced.first {
      paced.remove(first)
      first.forgetPace()
      refresh(first)
    }
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
    paced.set(host, key: host.apply(limits, at: now)?.nanoseconds)
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
