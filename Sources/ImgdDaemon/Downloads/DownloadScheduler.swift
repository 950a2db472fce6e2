// Which of the waiting downloads may start, and when.
//
// High before normal before low, and within a priority first in first out, or last in first out.
// Nothing starves: what has waited longer than the age bound is taken before everything younger.
// There are never more than `maxActive` running, nor more than `maxPerHost` for one host, and where
// there is more than one place, one is kept from `low`.
//
// A host that is at its limit must not hold up the others, nor be looked at again and again while a
// hundred thousand of its downloads wait. So each host has queues of its own, and the common ones
// hold hosts: each free host with the key of its first download. A host at its limit is not in them,
// and comes back when one of its downloads ends. Entries that have become untrue are dropped when
// they come to the front; every operation costs O(log n).

import ImgdSystem
import ImgdWire

struct DownloadScheduler {
  struct Settings: Equatable {
    var maxActive = 4
    var maxPerHost = 6
    var order = Order.fifo
    var ageBound = Duration.seconds(10)
  }

  private struct Item {
    let host: String
    var priority: Priority
    var key: Int64
    let arrival: Int64
    let enqueuedAt: Instant
    var isActive = false
  }

  /// One host's queues: one a priority, and one of all by arrival.
  private struct HostQueues {
    var byPriority = [KeyedHeap<UInt64>](repeating: KeyedHeap(), count: Priority.allCases.count)
    var byArrival = KeyedHeap<UInt64>()
    var queued = 0
    var active = 0
  }

  private(set) var settings: Settings
  private(set) var activeCount = 0
  private(set) var queuedCount = 0
  private(set) var peakActive = 0
  private var activeLow = 0
  private var items: [UInt64: Item] = [:]
  private var hosts: [String: HostQueues] = [:]
  private var byPriority = [KeyedHeap<String>](
    repeating: KeyedHeap(), count: Priority.allCases.count)
  private var byArrival = KeyedHeap<String>()
  private var arrivals: Int64 = 0
  private var frontKey: Int64 = 0
  private var backKey: Int64 = 0

  init(settings: Settings = Settings()) {
    self.settings = settings
  }

  /// Other limits hold from now on; what runs already is left to finish.
  mutating func apply(_ settings: Settings) {
    self.settings = settings
    for host in hosts.keys { announce(host) }
  }

  // MARK: Queueing

  mutating func enqueue(_ serial: UInt64, host: String, priority: Priority, at now: Instant) {
    arrivals += 1
    items[serial] = Item(
      host: host, priority: priority, key: newKey(), arrival: arrivals, enqueuedAt: now)
    queuedCount += 1
    hosts[host, default: HostQueues()].queued += 1
    hosts[host]?.byArrival.insert(serial, key: arrivals)
    place(serial)
  }

  private mutating func newKey() -> Int64 {
    settings.order == .fifo ? keyAtBack() : keyAtFront()
  }

  private mutating func keyAtBack() -> Int64 {
    backKey += 1
    return backKey
  }

  private mutating func keyAtFront() -> Int64 {
    frontKey -= 1
    return frontKey
  }

  /// Raised, it goes behind those that had the higher priority before; lowered, ahead.
  mutating func setPriority(_ serial: UInt64, _ priority: Priority) {
    guard var item = items[serial], item.priority != priority else { return }
    if item.isActive, item.priority == .low { activeLow -= 1 }
    if item.isActive, priority == .low { activeLow += 1 }
    item.key = priority > item.priority ? keyAtBack() : keyAtFront()
    item.priority = priority
    items[serial] = item
    if !item.isActive { place(serial) }
  }

  private mutating func place(_ serial: UInt64) {
    guard let item = items[serial] else { return }
    hosts[item.host]?.byPriority[item.priority.rank].insert(serial, key: item.key)
    tidy(item.host)
    announce(item.host)
  }

  /// Queued or running, it is gone, and its place is free.
  mutating func remove(_ serial: UInt64) {
    guard let item = items.removeValue(forKey: serial) else { return }
    if item.isActive {
      activeCount -= 1
      if item.priority == .low { activeLow -= 1 }
      hosts[item.host]?.active -= 1
    } else {
      queuedCount -= 1
      hosts[item.host]?.queued -= 1
    }
    guard let host = hosts[item.host], host.queued > 0 || host.active > 0 else {
      hosts[item.host] = nil
      return
    }
    tidy(item.host)
    announce(item.host)
  }

  // MARK: Starting

  /// What may start now; it counts as running from here on.
  mutating func startable(at now: Instant) -> [UInt64] {
    var started: [UInt64] = []
    while activeCount < settings.maxActive, let serial = next(at: now) {
      start(serial)
      started.append(serial)
    }
    return started
  }

  private mutating func start(_ serial: UInt64) {
    guard let item = items[serial] else { return }
    items[serial]?.isActive = true
    activeCount += 1
    queuedCount -= 1
    peakActive = max(peakActive, activeCount)
    if item.priority == .low { activeLow += 1 }
    hosts[item.host]?.active += 1
    hosts[item.host]?.queued -= 1
    announce(item.host)
  }

  private mutating func next(at now: Instant) -> UInt64? {
    if let overdue = firstByArrival(), let item = items[overdue],
      now - item.enqueuedAt > settings.ageBound, mayStart(item.priority)
    {
      return overdue
    }
    for priority in Priority.allCases.reversed() where mayStart(priority) {
      if let serial = first(of: priority) { return serial }
    }
    return nil
  }

  private func mayStart(_ priority: Priority) -> Bool {
    priority > .low || settings.maxActive < 2 || activeLow < settings.maxActive - 1
  }

  private mutating func first(of priority: Priority) -> UInt64? {
    let rank = priority.rank
    while let entry = byPriority[rank].first {
      if let serial = head(of: entry.value, rank), items[serial]?.key == entry.key,
        isFree(entry.value)
      {
        return serial
      }
      byPriority[rank].removeFirst()
    }
    return nil
  }

  private mutating func firstByArrival() -> UInt64? {
    while let entry = byArrival.first {
      if let serial = headByArrival(of: entry.value), items[serial]?.arrival == entry.key,
        isFree(entry.value)
      {
        return serial
      }
      byArrival.removeFirst()
    }
    return nil
  }

  // MARK: Hosts

  private func isFree(_ host: String) -> Bool {
    hosts[host].map { $0.active < settings.maxPerHost } ?? false
  }

  /// Puts the host's first downloads into the common queues, if it may have one more.
  private mutating func announce(_ host: String) {
    guard isFree(host) else { return }
    for priority in Priority.allCases {
      let rank = priority.rank
      guard let serial = head(of: host, rank), let item = items[serial] else { continue }
      announceOnce(host, key: item.key, in: &byPriority[rank])
    }
    if let serial = headByArrival(of: host), let item = items[serial] {
      announceOnce(host, key: item.arrival, in: &byArrival)
    }
  }

  private func announceOnce(_ host: String, key: Int64, in heap: inout KeyedHeap<String>) {
    if let first = heap.first, first.key == key { return }
    heap.insert(host, key: key)
  }

  private mutating func head(of host: String, _ rank: Int) -> UInt64? {
    while let entry = hosts[host]?.byPriority[rank].first {
      if isWaiting(entry.value, key: entry.key) { return entry.value }
      hosts[host]?.byPriority[rank].removeFirst()
    }
    return nil
  }

  private mutating func headByArrival(of host: String) -> UInt64? {
    while let entry = hosts[host]?.byArrival.first {
      if isWaiting(entry.value) { return entry.value }
      hosts[host]?.byArrival.removeFirst()
    }
    return nil
  }

  private func isWaiting(_ serial: UInt64, key: Int64? = nil) -> Bool {
    guard let item = items[serial], !item.isActive else { return false }
    return key.map { $0 == item.key } ?? true
  }

  /// Drops entries of downloads that are gone, when they are most of what is there: a client that
  /// asks and cancels for ever must not make a queue grow.
  private mutating func tidy(_ host: String) {
    guard let queues = hosts[host] else { return }
    let limit = 2 * queues.queued + 64
    for rank in queues.byPriority.indices where queues.byPriority[rank].count > limit {
      let items = self.items
      hosts[host]?.byPriority[rank].keep { key, serial in
        items[serial].map { !$0.isActive && $0.key == key } ?? false
      }
    }
    if queues.byArrival.count > limit {
      let items = self.items
      hosts[host]?.byArrival.keep { _, serial in items[serial].map { !$0.isActive } ?? false }
    }
    tidyCommon()
  }

  private mutating func tidyCommon() {
    let limit = 8 * hosts.count + 2 * queuedCount + 64
    let hosts = self.hosts
    for rank in byPriority.indices where byPriority[rank].count > limit {
      byPriority[rank].keep { _, host in hosts[host] != nil }
    }
    if byArrival.count > limit { byArrival.keep { _, host in hosts[host] != nil } }
  }
}

extension Priority {
  fileprivate var rank: Int {
    switch self {
    case .low: 0
    case .normal: 1
    case .high: 2
    }
  }
}
