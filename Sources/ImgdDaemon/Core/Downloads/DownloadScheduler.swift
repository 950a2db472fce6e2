// Chooses the waiting download that starts next.
//
// The rules, the first one first: never more than `maxActive` at a time; never more than
// `maxPerHost` from one host; where there is more than one place, one is kept from `low`. Among
// what may start under these, whatever has waited longer than the age bound goes first, oldest
// first; then the higher priority; then the order of the queue, from its old or its young end.
//
// A host whose places are taken must not be looked at again and again, however much waits for it.
// So each host has lines of its own, and only the heads of hosts with a free place are offered in
// the common lines, from which a download is picked. An offer of a host that has filled up is
// dropped when it comes up, and made again when the host has a place. Every step is a few
// operations on heaps, whatever the number of waiting downloads.
//
// It is a table and nothing else: it starts nothing, and knows the time from its caller.

import ImgdSystem
import ImgdWire

final class DownloadScheduler {
  struct Settings: Equatable {
    var maxActive = 4
    var maxPerHost = 6
    var order = Order.fifo
    var ageBound = Duration.seconds(10)
  }

  enum State {
    case queued
    case active
  }

  private(set) var settings: Settings
  private(set) var activeCount = 0
  private(set) var queuedCount = 0
  /// The most that ever ran at once.
  private(set) var peakActive = 0

  private var downloads: [UInt64: ScheduledDownload] = [:]
  private var hosts: [String: HostQueue] = [:]
  /// The heads of hosts with a free place.
  private(set) var offered = QueueLines()
  private var activeLow = 0
  /// The ends of the queue: the young one counts up, the old one down.
  private var youngEnd: Int64 = 0
  private var oldEnd: Int64 = 0
  private var arrivals: Int64 = 0

  init(settings: Settings = Settings()) {
    self.settings = settings
  }

  func state(of serial: UInt64) -> State? { downloads[serial]?.state }

  /// Takes new settings. What runs goes on, even if it is now too much.
  func apply(_ settings: Settings) {
    let isReordered = settings.order != self.settings.order
    self.settings = settings
    if isReordered { lineUpAnew() }
    for host in hosts.values { offerHeads(of: host) }
  }

  // MARK: In and out

  /// Puts a download at the young end of its priority. Times never go back from call to call.
  func enqueue(_ serial: UInt64, host name: String, priority: Priority, at now: Instant) {
    precondition(downloads[serial] == nil, "a transfer's serial number is used once")
    let host = hosts[name] ?? HostQueue(name: name)
    hosts[name] = host
    arrivals += 1
    youngEnd += 1
    let download = ScheduledDownload(
      serial: serial, host: host, priority: priority, arrival: arrivals, enqueuedAt: now,
      position: youngEnd)
    downloads[serial] = download
    queuedCount += 1
    host.queued += 1
    lineUp(download)
  }

  /// Changes a priority.
  ///
  /// Raised, a download comes after those that had the higher one before; lowered, before those
  /// that had the lower one. For one that runs it is only noted.
  func setPriority(_ serial: UInt64, _ priority: Priority) {
    guard let download = downloads[serial], download.priority != priority else { return }
    let before = download.priority
    download.priority = priority
    guard download.state == .queued else {
      activeLow += (priority == .low ? 1 : 0) - (before == .low ? 1 : 0)
      return
    }
    download.position = endPosition(isServedLast: priority > before)
    lineUp(download)
    offerHead(of: download.host, before)
  }

  /// Forgets a download, whether it waits or runs; its place is free at once.
  func remove(_ serial: UInt64) {
    guard let download = downloads.removeValue(forKey: serial) else { return }
    if download.state == .active { leavePlace(download) } else { leaveQueue(download) }
    download.state = nil
    offerHeads(of: download.host)
    forgetIfUnused(download.host)
  }

  private func leavePlace(_ download: ScheduledDownload) {
    activeCount -= 1
    download.host.active -= 1
    if download.priority == .low { activeLow -= 1 }
  }

  private func leaveQueue(_ download: ScheduledDownload) {
    queuedCount -= 1
    download.host.queued -= 1
  }

  /// The claims that are left hold the host through their downloads, and have to go with it.
  private func forgetIfUnused(_ host: HostQueue) {
    guard host.queued == 0, host.active == 0 else { return }
    host.lines = QueueLines()
    hosts[host.name] = nil
  }

  // MARK: Starting

  /// The downloads that may start now, in order; they count as running from here on.
  func startable(at now: Instant) -> [UInt64] {
    var started: [UInt64] = []
    while activeCount < settings.maxActive, let download = next(at: now) {
      start(download)
      started.append(download.serial)
    }
    return started
  }

  private func next(at now: Instant) -> ScheduledDownload? {
    let open = Priority.allCases.filter { $0 != .low || lowMayStart }
    let firsts = open.compactMap { firstOffered($0, .byArrival) }
    guard let oldest = firsts.min(by: { $0.arrival < $1.arrival }) else { return nil }
    if now - oldest.enqueuedAt > settings.ageBound { return oldest }
    for priority in open.reversed() {
      if let first = firstOffered(priority, .byTurn) { return first }
    }
    return nil
  }

  private var lowMayStart: Bool {
    settings.maxActive < 2 || activeLow < settings.maxActive - 1
  }

  private func start(_ download: ScheduledDownload) {
    leaveQueue(download)
    download.state = .active
    download.host.active += 1
    activeCount += 1
    peakActive = max(peakActive, activeCount)
    if download.priority == .low { activeLow += 1 }
    offerHead(of: download.host, download.priority)
  }

  // MARK: Lines

  private func lineUp(_ download: ScheduledDownload) {
    download.offers = []
    for sorting in QueueLines.Sorting.allCases {
      download.host.lines.insert(download, sorting, key: key(of: download, sorting))
    }
    download.host.lines.tidy(live: download.host.queued)
    offered.tidy(live: queuedCount)
    offerHead(of: download.host, download.priority)
  }

  private func lineUpAnew() {
    offered = QueueLines()
    for host in hosts.values { host.lines = QueueLines() }
    for download in downloads.values where download.state == .queued { lineUp(download) }
  }

  private func key(of download: ScheduledDownload, _ sorting: QueueLines.Sorting) -> Int64 {
    switch sorting {
    case .byArrival: download.arrival
    case .byTurn: settings.order == .fifo ? download.position : -download.position
    }
  }

  private func endPosition(isServedLast: Bool) -> Int64 {
    if isServedLast == (settings.order == .fifo) {
      youngEnd += 1
      return youngEnd
    }
    oldEnd -= 1
    return oldEnd
  }

  // MARK: Offers

  private func hasPlace(_ host: HostQueue) -> Bool { host.active < settings.maxPerHost }

  private func offerHeads(of host: HostQueue) {
    for priority in Priority.allCases { offerHead(of: host, priority) }
  }

  /// Sees to it that the heads of a host's lines are offered, if it has a place for them.
  private func offerHead(of host: HostQueue, _ priority: Priority) {
    guard hasPlace(host) else { return }
    for sorting in QueueLines.Sorting.allCases {
      guard let head = host.lines.head(priority, sorting), head.offers.insert(sorting).inserted
      else { continue }
      offered.insert(head, sorting, key: key(of: head, sorting))
    }
  }

  private func firstOffered(
    _ priority: Priority, _ sorting: QueueLines.Sorting
  ) -> ScheduledDownload? {
    while let claim = offered.first(priority, sorting) {
      if claim.holds, hasPlace(claim.download.host) { return claim.download }
      if claim.holds { claim.download.offers.remove(sorting) }
      offered.removeFirst(priority, sorting)
    }
    return nil
  }
}
