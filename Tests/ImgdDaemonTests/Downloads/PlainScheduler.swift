import ImgdSystem
import ImgdWire

@testable import ImgdDaemon

/// The rules of `DownloadScheduler` as one would write them down, looking at everything each time. It
/// has fewer than eight places, which are given out one by one.
struct PlainScheduler {
  /// A wish of one connection for a download.
  struct Claim {
    let serial: UInt64
    let claimant: Claimant
    let arrival: Int
    let since: Instant
    var priority: Priority
    var requests: [Priority]
  }

  struct Item {
    let serial: UInt64
    let host: String
    var requests: [Priority] = []
    var isActive = false

    var priority: Priority { requests.max() ?? .low }
  }

  /// Those that take turns with each other: the users of a priority, the connections of a user in it,
  /// and the connections of a user at a host.
  enum Circle: Hashable {
    case users(Priority)
    case connections(Priority, UInt32)
    case atHost(Priority, UInt32, String)
  }

  var settings: DownloadScheduler.Settings
  private(set) var items: [Item] = []
  private(set) var claims: [Claim] = []
  private(set) var peakActive = 0
  /// Each priority's queue from its old end to its young end.
  private var queues: [Priority: [Int]] = [.low: [], .normal: [], .high: []]
  /// Each circle in the order of its turns, and the one that was served last.
  private var circles: [Circle: (members: [UInt64], last: UInt64?)] = [:]
  private var held: [String: Instant] = [:]
  private var onProbation: Set<String> = []
  private var arrivals = 0
  private var startsSinceAge = 3

  init(settings: DownloadScheduler.Settings) {
    self.settings = settings
  }

  var active: [Item] { items.filter(\.isActive) }
  var queued: [Item] { items.filter { !$0.isActive } }

  // MARK: In and out

  mutating func enqueue(
    _ serial: UInt64, host: String, by claimant: Claimant, _ priority: Priority, at now: Instant
  ) {
    items.append(Item(serial: serial, host: host))
    join(serial, by: claimant, priority, at: now)
  }

  mutating func join(
    _ serial: UInt64, by claimant: Claimant, _ priority: Priority, at now: Instant
  ) {
    guard let place = items.firstIndex(where: { $0.serial == serial }) else { return }
    items[place].requests.append(priority)
    guard !items[place].isActive else { return }
    if let claim = claims.firstIndex(where: { $0.serial == serial && $0.claimant == claimant }) {
      claims[claim].requests.append(priority)
      return move(claim)
    }
    arrivals += 1
    let claim = Claim(
      serial: serial, claimant: claimant, arrival: arrivals, since: now, priority: priority,
      requests: [priority])
    claims.append(claim)
    queues[priority]?.append(arrivals)
    takeSeats(claim)
  }

  mutating func leave(_ serial: UInt64, by claimant: Claimant, _ priority: Priority) {
    guard let place = items.firstIndex(where: { $0.serial == serial }) else { return }
    if let gone = items[place].requests.firstIndex(of: priority) {
      items[place].requests.remove(at: gone)
    }
    guard
      let claim = claims.firstIndex(where: { $0.serial == serial && $0.claimant == claimant }),
      let gone = claims[claim].requests.firstIndex(of: priority)
    else { return }
    claims[claim].requests.remove(at: gone)
    if claims[claim].requests.isEmpty { drop([claims[claim]]) } else { move(claim) }
  }

  mutating func remove(_ serial: UInt64) {
    if let item = items.first(where: { $0.serial == serial }), item.isActive,
      held[item.host] == nil
    {
      onProbation.remove(item.host)
    }
    items.removeAll { $0.serial == serial }
    drop(claims.filter { $0.serial == serial })
    forgetUnusedHosts()
  }

  private mutating func forgetUnusedHosts() {
    let used = Set(items.map(\.host))
    onProbation = onProbation.filter { held[$0] != nil || used.contains($0) }
    circles = circles.filter { circle, _ in
      guard case .atHost(_, _, let host) = circle else { return true }
      return held[host] != nil || used.contains(host)
    }
  }

  mutating func hold(_ host: String, until end: Instant) {
    held[host] = max(end, held[host] ?? end)
    onProbation.insert(host)
  }

  mutating func apply(_ settings: DownloadScheduler.Settings) {
    let isReordered = settings.order != self.settings.order
    self.settings = settings
    guard isReordered else { return }
    let all = claims.sorted { $0.arrival < $1.arrival }
    for circle in circles.keys { circles[circle]?.members = [] }
    for claim in all { takeSeats(claim) }
  }

  private mutating func move(_ place: Int) {
    guard let priority = claims[place].requests.max(), priority != claims[place].priority else {
      return
    }
    var claim = claims[place]
    let isYoungEnd = (priority > claim.priority) == (settings.order == .fifo)
    drop([claim])
    claim.priority = priority
    claims.append(claim)
    let youngEnd = queues[priority]?.count ?? 0
    queues[priority]?.insert(claim.arrival, at: isYoungEnd ? youngEnd : 0)
    takeSeats(claim)
  }

  private mutating func drop(_ gone: [Claim]) {
    for claim in gone {
      claims.removeAll { $0.arrival == claim.arrival }
      for priority in Priority.allCases { queues[priority]?.removeAll { $0 == claim.arrival } }
      leaveSeats(claim)
    }
  }

  // MARK: Turns

  private func seats(of claim: Claim) -> [(circle: Circle, member: UInt64)] {
    let (uid, connection) = (claim.claimant.uid, claim.claimant.connection ?? 0)
    return [
      (.users(claim.priority), UInt64(uid)), (.connections(claim.priority, uid), connection),
      (.atHost(claim.priority, uid, host(of: claim)), connection),
    ]
  }

  private func host(of claim: Claim) -> String { hosts[claim.serial] ?? "" }

  /// The hosts of all downloads that ever were.
  private var hosts: [UInt64: String] = [:]

  /// A newcomer's seat is just ahead of the one that was served last; else the last one.
  private mutating func takeSeats(_ claim: Claim) {
    hosts[claim.serial] = items.first { $0.serial == claim.serial }?.host ?? hosts[claim.serial]
    for (circle, member) in seats(of: claim) {
      var (members, last) = circles[circle] ?? ([], nil)
      guard !members.contains(member) else { continue }
      let isBeforeLast = member != last && last != nil && members.last == last
      members.insert(member, at: isBeforeLast ? members.count - 1 : members.count)
      circles[circle] = (members, last)
    }
  }

  private mutating func leaveSeats(_ claim: Claim) {
    for (circle, member) in seats(of: claim) {
      let stays = claims.contains { other in
        seats(of: other).contains { $0.circle == circle && $0.member == member }
      }
      if stays { continue }
      circles[circle]?.members.removeAll { $0 == member }
    }
  }

  private mutating func serve(_ claim: Claim) {
    for (circle, member) in seats(of: claim) {
      circles[circle]?.members.removeAll { $0 == member }
      circles[circle]?.members.append(member)
      circles[circle]?.last = member
    }
  }

  private func seat(_ claim: Claim, _ number: Int) -> Int {
    let (circle, member) = seats(of: claim)[number]
    return circles[circle]?.members.firstIndex(of: member) ?? 0
  }

  // MARK: Starting

  mutating func startable(at now: Instant) -> [UInt64] {
    for (host, end) in held where end <= now { held[host] = nil }
    forgetUnusedHosts()
    var started: [UInt64] = []
    while active.count < settings.maxActive, let claim = next(at: now) {
      serve(claim)
      for place in items.indices where items[place].serial == claim.serial {
        items[place].isActive = true
      }
      drop(claims.filter { $0.serial == claim.serial })
      started.append(claim.serial)
      peakActive = max(peakActive, active.count)
    }
    return started
  }

  private mutating func next(at now: Instant) -> Claim? {
    let low = active.filter { $0.priority == .low }.count
    let open = Priority.allCases.filter {
      $0 != .low || settings.maxActive < 2 || low < settings.maxActive - 1
    }
    let firsts = open.compactMap { first($0, at: now) }
    let aged = firsts.dropLast().filter { now - $0.since > settings.ageBound }
    if startsSinceAge >= 3, let oldest = aged.min(by: { $0.arrival < $1.arrival }) {
      startsSinceAge = 0
      return oldest
    }
    if !firsts.isEmpty { startsSinceAge = min(startsSinceAge + 1, 3) }
    return firsts.last
  }

  private func first(_ priority: Priority, at now: Instant) -> Claim? {
    let waiting = claims.filter { $0.priority == priority && hasPlace(host(of: $0)) }
    // Of each user at each host only the connection whose turn it is there.
    let offered = waiting.filter { claim in
      waiting.allSatisfy { other in
        other.claimant.uid != claim.claimant.uid || host(of: other) != host(of: claim)
          || seat(claim, 2) <= seat(other, 2)
      }
    }
    guard let turn = offered.min(by: { (seat($0, 0), seat($0, 1)) < (seat($1, 0), seat($1, 1)) })
    else { return nil }
    let own = offered.filter { $0.claimant == turn.claimant }
    let oldest = own.min { $0.arrival < $1.arrival }
    if let oldest, now - oldest.since > settings.ageBound { return oldest }
    let queue = queues[priority] ?? []
    let ordered = settings.order == .fifo ? queue : queue.reversed()
    return ordered.lazy.compactMap { number in own.first { $0.arrival == number } }.first
  }

  private func hasPlace(_ host: String) -> Bool {
    let limit = onProbation.contains(host) ? 1 : settings.maxPerHost
    return held[host] == nil && active.filter { $0.host == host }.count < limit
  }
}
