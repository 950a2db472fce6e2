// Lets claims into the common queue, as far as their hosts have places.
//
// The limits: never more than `mostPerHost` from one host, none from a host that has asked to be left alone, and in all
// as many as `Places` admits. A host whose running downloads are all slow gets more only when nothing else may start.
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

  var mostPerHost: Int
  var places: Places
  private var queue = FairQueue(to: .connection)
  private var hosts: [String: HostQueue] = [:]
  /// The hosts that have asked to be left alone, by the end of that time.
  private var held = KeyedHeap<String>()
  /// The hosts that let others go first, in the order in which they get a place all the same.
  private var yielding = KeyedHeap<String>()
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
    let host = HostQueue(name: name)
    hosts[name] = host
    return host
  }

  // MARK: Waiting

  func insert(_ claim: Claim, at host: HostQueue) {
    queue.lines[claim.priority]?.join(claim)
    let line = host.line(for: claim)
    line.claims.insert(claim)
    refreshOffer(of: line, at: host)
  }

  func remove(_ claim: Claim, at host: HostQueue) {
    let line = host.line(for: claim)
    line.claims.remove(claim)
    refreshOffer(of: line, at: host)
    queue.lines[claim.priority]?.leave(claim)
  }

  // MARK: Starting and ending

  /// The claim that may be served now; nil where nothing may start.
  func next(at now: Instant) -> Claim? {
    guard places.hasAny else { return nil }
    return nextOffered(at: now) ?? nextOfYielding(at: now)
  }

  private func nextOffered(at now: Instant) -> Claim? {
    let places = places
    return queue.next(of: Priority.allCases.filter { places.admits($0) }, at: now) {
      places.admits($0) ? .anything : .nothing
    }
  }

  /// Looks at one of the hosts that let others go first, a different one each time.
  private func nextOfYielding(at now: Instant) -> Claim? {
    let name = yielding.first { name in hosts[name].map { $0.queued > 0 && $0.hasPlace(atMost: mostPerHost) } == true }
    guard let name, let host = hosts[name] else { return nil }
    setYields(host, false)
    let claim = nextOffered(at: now)
    setYields(host, true)
    return claim
  }

  /// Gives a place to what a claim is for, in the turn of its claimant.
  func givePlace(to claim: Claim, at host: HostQueue, _ priority: Priority) {
    host.line(for: claim).claims.charge(for: claim)
    queue.lines[claim.priority]?.charge(for: claim)
    places.give(to: claim.claimant, priority)
    host.active += 1
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
    yielding.set(host.name, key: yields ? self.yields : nil)
    refreshOffers(of: host)
  }

  // MARK: Hosts that ask to be left alone

  /// Starts nothing from a host until then; after that, one download goes first, and if that goes well, the others.
  func hold(_ name: String, until end: Instant) {
    let host = host(named: name)
    if let held = host.heldUntil, held > end { return }
    host.heldUntil = end
    host.isOnProbation = true
    held.insert(name, key: end.nanoseconds)
    if held.count > Self.mostHeld { releaseFirst() }
    refreshOffers(of: host)
  }

  /// The end of the time for which a host has asked to be left alone; nil where it has not.
  func holdEnd(of name: String) -> Instant? { hosts[name]?.heldUntil }

  /// When the next host may be asked again.
  var nextRelease: Instant? { held.firstKey.map { Instant(nanoseconds: $0) } }

  func releaseHosts(at now: Instant) { while let end = nextRelease, end <= now { releaseFirst() } }

  private func releaseFirst() {
    guard let name = held.first else { return }
    held.remove(name)
    guard let host = hosts[name] else { return }
    host.heldUntil = nil
    refresh(host)
  }

  // MARK: Offers

  func refreshAll() { for host in hosts.values { refreshOffers(of: host) } }

  /// Offers what may start at a host after a change there, and drops the host if it is unused.
  func refresh(_ host: HostQueue) {
    refreshOffers(of: host)
    if host.isUnused { hosts[host.name] = nil }
  }

  private func hasPlace(_ host: HostQueue) -> Bool { !host.yields && host.hasPlace(atMost: mostPerHost) }

  private func refreshOffers(of host: HostQueue) { for line in host.lines.values { refreshOffer(of: line, at: host) } }

  /// Ensures that the head of a line, and nothing else, is offered, and only while its host has a place.
  private func refreshOffer(of line: HostLine, at host: HostQueue) {
    let wanted = hasPlace(host) ? line.candidates { places.holdsBack($0) } : []
    guard wanted != line.offered else { return }
    for claim in line.offered where !wanted.contains(claim) { queue.lines[line.priority]?.withdraw(claim) }
    for claim in wanted where !line.offered.contains(claim) { queue.lines[line.priority]?.offer(claim) }
    line.offered = wanted
  }
}
