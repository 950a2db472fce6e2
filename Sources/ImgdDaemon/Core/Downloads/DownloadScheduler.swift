// Chooses the waiting download that starts next.
//
// The limits: as many at a time as `Places` admits, never more than `maxPerHost` from one host, none
// from a host that has asked to be left alone. Among what may start under these, the higher priority
// goes first. A host of which all running downloads are slow gets more only when nothing else may
// start. Inside a priority users take turns, inside a user its connections, and inside a
// connection its own order counts, first in first out or last in first out. Age moves nothing across
// these shares: inside a connection what has waited longer than the age bound goes first, and a lower
// priority in which something has waited so long gets one start in four.
//
// A download that several connections want stands in the line of each, and starts with the first
// whose turn it is.
//
// A host whose places are taken must not be looked at again and again, however much waits for it. So
// each host has lines of its own, one for each user and priority, and offers of each only the head in
// the common lines, from which a download is picked, and only while it has a place. A step is a few
// operations on heaps for each user that waits for the host, whatever the number of downloads,
// connections and hosts; in a search for somebody who may have a place, those that hold some are
// passed over.
//
// It is a table and nothing else: it starts nothing, and knows the time from its caller.

import ImgdSystem
import ImgdWire

final class DownloadScheduler {
  struct Settings: Equatable {
    var maxActive = 32
    var maxPerHost = 4
    var order = Order.fifo
    var ageBound = Duration.seconds(10)
  }

  enum State {
    case queued
    case active
  }

  /// Of so many starts, one goes to what has waited too long with a lower priority.
  private static let startsForAge = 4

  private(set) var settings: Settings
  private(set) var places: Places
  private(set) var queuedCount = 0

  private var downloads: [UInt64: ScheduledDownload] = [:]
  private var hosts: [String: HostQueue] = [:]
  private let lines = PriorityLines()
  private var held = HeldHosts()
  /// The hosts that let others go first, in the order in which they get a place all the same.
  private var yielding = KeyedHeap<String>()
  private var yields: Int64 = 0
  /// The ends of the queue: the young one counts up, the old one down.
  private var youngEnd: Int64 = 0
  private var oldEnd: Int64 = 0
  private var arrivals: Int64 = 0
  private var startsSinceAge = startsForAge - 1

  init(settings: Settings = Settings()) {
    self.settings = settings
    places = Places(limit: settings.maxActive)
  }

  func state(of serial: UInt64) -> State? { downloads[serial]?.state }

  /// How many claims are offered.
  var offeredCount: Int { lines.offeredCount }

  var hostCount: Int { hosts.count }

  /// Takes new settings. What runs goes on, even if it is now too much.
  func apply(_ settings: Settings) {
    let isReordered = settings.order != self.settings.order
    self.settings = settings
    places.limit = settings.maxActive
    if isReordered { lineUpAnew() }
    for host in hosts.values { refreshOffers(of: host) }
  }

  // MARK: In and out

  /// Puts a download at the young end of its priority, or, where its request has waited for its turn
  /// before, at the front of its connection's. Times never go back from call to call.
  func enqueue(
    _ serial: UInt64, host name: String, by claimant: Claimant, _ priority: Priority,
    isServedNext: Bool = false, at now: Instant
  ) {
    precondition(downloads[serial] == nil, "a transfer's serial number is used once")
    let host = hosts[name] ?? HostQueue(name: name)
    hosts[name] = host
    downloads[serial] = ScheduledDownload(serial: serial, host: host)
    queuedCount += 1
    host.queued += 1
    join(serial, by: claimant, priority, isServedNext: isServedNext, at: now)
  }

  /// Counts one more request for a download, which may come up in the turn of that connection too.
  ///
  /// A claim whose priority is raised comes after those that had the higher one before.
  func join(
    _ serial: UInt64, by claimant: Claimant, _ priority: Priority, isServedNext: Bool = false,
    at now: Instant
  ) {
    guard let download = downloads[serial] else { return }
    changeRequests(of: download) { $0[priority] += 1 }
    guard download.state == .queued else { return }
    if let claim = download.claims[claimant] {
      claim.requests[priority] += 1
      return moveIfNeeded(claim)
    }
    arrivals += 1
    let claim = Claim(to: download, by: claimant, priority, arrival: arrivals, since: now)
    claim.requests[priority] = 1
    download.claims[claimant] = claim
    claim.position = isServedNext ? endPosition(isServedLast: false) : nextYoung()
    lineUp(claim)
  }

  /// Counts one request less. A claim whose priority falls comes before those that had the lower one.
  func leave(_ serial: UInt64, by claimant: Claimant, _ priority: Priority) {
    guard let download = downloads[serial] else { return }
    changeRequests(of: download) { $0[priority] -= 1 }
    guard let claim = download.claims[claimant] else { return }
    claim.requests[priority] -= 1
    guard claim.requests.isEmpty else { return moveIfNeeded(claim) }
    download.claims[claimant] = nil
    withdraw(claim)
  }

  /// Forgets a download, whether it waits or runs; its place is free at once.
  func remove(_ serial: UInt64) {
    guard let download = downloads.removeValue(forKey: serial) else { return }
    let host = download.host
    switch download.state {
    case .active: leavePlace(download)
    case .queued: leaveQueue(download)
    }
    refreshOffers(of: host)
    if host.isUnused { hosts[host.name] = nil }
  }

  private func changeRequests(
    of download: ScheduledDownload, _ change: (inout PriorityCounts) -> Void
  ) {
    let before = download.requests.highest
    change(&download.requests)
    guard download.state == .active, !download.isSlow else { return }
    places.change(from: before, to: download.requests.highest)
  }

  private func leavePlace(_ download: ScheduledDownload) {
    guard let holder = download.holder else { return }
    places.giveBack(by: holder, download.requests.highest, isSlow: download.isSlow)
    let host = download.host
    host.active -= 1
    if download.isSlow { host.slow -= 1 }
    if host.heldUntil == nil { host.isOnProbation = false }
    if host.yields, !download.isSlow || host.active == 0 { setYields(host, false) }
  }

  private func leaveQueue(_ download: ScheduledDownload) {
    queuedCount -= 1
    download.host.queued -= 1
    for claim in download.claims.values { withdraw(claim) }
    download.claims = [:]
  }

  // MARK: Starting

  /// The downloads that may start now, in order; they count as running from here on.
  func startable(at now: Instant) -> [UInt64] {
    releaseHosts(at: now)
    var started: [UInt64] = []
    while places.hasAny, let claim = next(at: now) ?? nextOfYielding(at: now) {
      started.append(claim.download.serial)
      start(claim.download, inTurnOf: claim)
    }
    return started
  }

  private func next(at now: Instant) -> Claim? {
    guard lines.haveOffers else { return nil }
    let firsts = Priority.allCases.filter { places.admits($0) }
      .compactMap { first($0, at: now) }
    let aged = firsts.dropLast().filter { now - $0.since > settings.ageBound }
    if startsSinceAge >= Self.startsForAge - 1,
      let oldest = aged.min(by: { $0.arrival < $1.arrival })
    {
      startsSinceAge = 0
      return oldest
    }
    if !firsts.isEmpty { startsSinceAge = min(startsSinceAge + 1, Self.startsForAge - 1) }
    return firsts.last
  }

  /// Looks at one host of those that let others go first, each time at another one.
  private func nextOfYielding(at now: Instant) -> Claim? {
    let name = yielding.first { name in
      hosts[name].map { $0.queued > 0 && $0.hasPlace(atMost: settings.maxPerHost) } == true
    }
    guard let name, let host = hosts[name] else { return nil }
    setYields(host, false)
    let claim = next(at: now)
    setYields(host, true)
    return claim
  }

  private func setYields(_ host: HostQueue, _ yields: Bool) {
    host.yields = yields
    self.yields += 1
    if yields {
      yielding.insert(host.name, key: self.yields)
    } else {
      yielding.remove(host.name)
    }
    refreshOffers(of: host)
  }

  private func first(_ priority: Priority, at now: Instant) -> Claim? {
    lines[priority].next(
      at: now, ageBound: settings.ageBound, admits: { places.admits($0) },
      admitsUser: { places.admits(uid: $0) })
  }

  private func start(_ download: ScheduledDownload, inTurnOf claim: Claim) {
    let host = download.host
    host.line(for: claim).noteService(of: claim.claimant)
    lines[claim.priority].noteService(of: claim.claimant)
    download.state = .active
    download.holder = claim.claimant
    places.take(for: claim.claimant, download.requests.highest)
    host.active += 1
    leaveQueue(download)
    if !hasPlace(host) { refreshOffers(of: host) }
  }

  // MARK: Slow ones

  /// Says whether a running download is slow: then it has no share in `maxActive`.
  func mark(_ serial: UInt64, isSlow: Bool) {
    guard let download = downloads[serial], download.state == .active,
      download.isSlow != isSlow
    else { return }
    download.isSlow = isSlow
    places.change(download.requests.highest, isSlow: isSlow)
    let host = download.host
    host.slow += isSlow ? 1 : -1
    let yields = isSlow && (host.yields || host.slow == host.active)
    if yields != host.yields { setYields(host, yields) }
  }

  // MARK: Hosts that ask to be left alone

  /// Starts nothing from a host until then; after that, one goes first, and if that is well the others.
  func hold(_ name: String, until end: Instant) {
    let host = hosts[name] ?? HostQueue(name: name)
    if let held = host.heldUntil, held > end { return }
    hosts[name] = host
    host.heldUntil = end
    host.isOnProbation = true
    if let dropped = held.insert(name, until: end) { release(dropped) }
    refreshOffers(of: host)
  }

  /// Whether a host has asked to be left alone, and that time is not over.
  func isHeld(_ name: String) -> Bool { hosts[name]?.heldUntil != nil }

  /// The end of the time for which a host has asked to be left alone; nil where it has not.
  func holdEnd(of name: String) -> Instant? { hosts[name]?.heldUntil }

  /// When the next host may be asked again for which something waits, or nil.
  var nextRelease: Instant? { queuedCount > 0 ? held.next : nil }

  private func releaseHosts(at now: Instant) {
    while let name = held.popFirst(at: now) { release(name) }
  }

  private func release(_ name: String) {
    guard let host = hosts[name] else { return }
    host.heldUntil = nil
    refreshOffers(of: host)
    if host.isUnused { hosts[name] = nil }
  }

  // MARK: Lines

  private func lineUp(_ claim: Claim) {
    claim.turnKey = settings.order == .fifo ? claim.position : -claim.position
    lines[claim.priority].join(claim.claimant)
    let line = claim.download.host.line(for: claim)
    line.insert(claim)
    refreshOffer(of: line, at: claim.download.host)
  }

  private func withdraw(_ claim: Claim) {
    let host = claim.download.host
    let line = host.line(for: claim)
    line.remove(claim)
    refreshOffer(of: line, at: host)
    lines[claim.priority].leave(claim.claimant)
  }

  private func moveIfNeeded(_ claim: Claim) {
    let priority = claim.requests.highest
    guard priority != claim.priority else { return }
    withdraw(claim)
    claim.position = endPosition(isServedLast: priority > claim.priority)
    claim.priority = priority
    lineUp(claim)
  }

  private func lineUpAnew() {
    let claims = downloads.values.flatMap(\.claims.values).sorted { $0.arrival < $1.arrival }
    for claim in claims { withdraw(claim) }
    for claim in claims { lineUp(claim) }
  }

  private func endPosition(isServedLast: Bool) -> Int64 {
    if isServedLast == (settings.order == .fifo) { return nextYoung() }
    oldEnd -= 1
    return oldEnd
  }

  private func nextYoung() -> Int64 {
    youngEnd += 1
    return youngEnd
  }

  // MARK: Offers

  private func hasPlace(_ host: HostQueue) -> Bool {
    !host.yields && host.hasPlace(atMost: settings.maxPerHost)
  }

  private func refreshOffers(of host: HostQueue) {
    for line in host.lines.values { refreshOffer(of: line, at: host) }
  }

  /// Sees to it that the head of a line is offered while its host has a place, and nothing else is.
  private func refreshOffer(of line: HostLine, at host: HostQueue) {
    let wanted = hasPlace(host) ? line.candidates { places.holdsBack($0) } : []
    guard wanted != line.offered else { return }
    let common = lines[line.name.priority]
    for claim in line.offered where !wanted.contains(claim) { common.withdraw(claim) }
    for claim in wanted where !line.offered.contains(claim) { common.offer(claim) }
    line.offered = wanted
  }
}
