// Chooses the waiting download that starts next.
//
// A download that several connections want stands in the line of each, and starts with the first whose turn it is
// (`FairQueue`), as its host and the places let it (`HostGate`). In a connection the first, or the last, goes first.
//
// It is a table and nothing else: it starts nothing, and gets the time from its caller.

import ImgdSystem
import ImgdTransfer
import ImgdWire

final class DownloadScheduler {
  struct Settings: Equatable {
    var maxActive = 32
    var maxPerHost = 4
    var order = Order.fifo
    var ageBound = Duration.seconds(10)
  }

  private final class Download {
    let host: HostQueue
    /// One claim for each connection that wants it, while it waits.
    var claims: [Claimant: Claim] = [:]
    /// The claimant for whom it runs.
    var holder: Claimant?
    var isSlow = false
    /// How many requests of each priority wait for it.
    var requests = PriorityCounts()

    init(host: HostQueue) { self.host = host }
  }

  private(set) var settings: Settings
  private(set) var queuedCount = 0

  let gate: HostGate
  private var downloads = SteadyDictionary<UInt64, Download>()
  /// Counts claims and their moves.
  private var lastNumber: Int64 = 0

  init(settings: Settings = Settings()) {
    self.settings = settings
    gate = HostGate(places: settings.maxActive, mostPerHost: settings.maxPerHost)
  }

  var places: Places { gate.places }

  /// Takes new settings. What runs goes on, even if it is now too much.
  func apply(_ settings: Settings) {
    let isReordered = settings.order != self.settings.order
    self.settings = settings
    gate.places.limit = settings.maxActive
    gate.mostPerHost = settings.maxPerHost
    if isReordered { reverseAll() }
    gate.refreshAll()
  }

  /// Puts a download at the young end of its priority, or, if its request has waited for its turn before, at the front
  /// of its connection's line. Times never go back from call to call.
  func enqueue(
    _ serial: UInt64, host name: String, by claimant: Claimant, _ priority: Priority,
    limits: HostLimits = HostLimits(), isServedNext: Bool = false, at now: Instant
  ) {
    precondition(downloads[serial] == nil, "a transfer's serial number is used once")
    let download = Download(host: gate.host(named: name))
    gate.limit(download.host, to: limits, at: now)
    downloads[serial] = download
    queuedCount += 1
    download.host.queued += 1
    join(serial, by: claimant, priority, isServedNext: isServedNext, at: now)
  }

  /// Counts one more request for a download, which may then come up in the turn of that connection too.
  ///
  /// A claim whose priority is raised comes after those that had the higher one before.
  func join(_ serial: UInt64, by claimant: Claimant, _ priority: Priority, isServedNext: Bool = false, at now: Instant)
  {
    guard let download = downloads[serial] else { return }
    changeRequests(of: download) { $0.add(priority) }
    guard download.holder == nil else { return }
    if let claim = download.claims[claimant] {
      claim.requests.add(priority)
      return moveIfNeeded(claim, of: download)
    }
    let claim = Claim(to: serial, by: claimant, priority, arrival: nextNumber(), due: now + settings.ageBound)
    claim.requests.add(priority)
    download.claims[claimant] = claim
    lineUp(claim, of: download, isServedLast: settings.order == .fifo && !isServedNext)
  }

  /// Counts one request fewer. A claim whose priority falls comes before those that had the lower one.
  func leave(_ serial: UInt64, by claimant: Claimant, _ priority: Priority) {
    guard let download = downloads[serial] else { return }
    changeRequests(of: download) { $0.remove(priority) }
    guard let claim = download.claims[claimant] else { return }
    claim.requests.remove(priority)
    guard claim.requests.isEmpty else { return moveIfNeeded(claim, of: download) }
    download.claims[claimant] = nil
    gate.remove(claim, at: download.host)
  }

  /// Has the limits of each host be those of its downloads, by their serials.
  func limitHosts(at now: Instant, _ limits: (UInt64) -> HostLimits) {
    for (serial, download) in downloads.all { gate.limit(download.host, to: limits(serial), at: now) }
  }

  /// What slows down a download's host.
  func throttle(of serial: UInt64) -> Throttle? { downloads[serial]?.host.throttle }

  /// Forgets a download, whether it waits or runs; its place is free at once.
  func remove(_ serial: UInt64) {
    guard let download = downloads.removeValue(forKey: serial) else { return }
    if let holder = download.holder {
      gate.giveBackPlace(at: download.host, by: holder, download.requests.highest, isSlow: download.isSlow)
    } else {
      leaveQueue(download)
    }
    gate.refresh(download.host)
  }

  private func changeRequests(of download: Download, _ change: (inout PriorityCounts) -> Void) {
    let before = download.requests.highest
    change(&download.requests)
    guard download.holder != nil, !download.isSlow else { return }
    gate.places.change(from: before, to: download.requests.highest)
  }

  private func leaveQueue(_ download: Download) {
    queuedCount -= 1
    download.host.queued -= 1
    for claim in download.claims.values { gate.remove(claim, at: download.host) }
    download.claims = [:]
  }

  private func lineUp(_ claim: Claim, of download: Download, isServedLast: Bool) {
    claim.turnKey = isServedLast ? nextNumber() : -nextNumber()
    gate.insert(claim, at: download.host)
  }

  private func moveIfNeeded(_ claim: Claim, of download: Download) {
    let priority = claim.requests.highest
    guard priority != claim.priority else { return }
    gate.remove(claim, at: download.host)
    let isRaised = priority > claim.priority
    claim.priority = priority
    lineUp(claim, of: download, isServedLast: isRaised)
  }

  /// Reverses the order within every connection.
  private func reverseAll() {
    let all = downloads.all.flatMap { _, download in download.claims.values.map { (claim: $0, host: download.host) } }
      .sorted { $0.claim.arrival < $1.claim.arrival }
    for (claim, host) in all { gate.remove(claim, at: host) }
    for (claim, host) in all {
      claim.turnKey.negate()
      gate.insert(claim, at: host)
    }
  }

  private func nextNumber() -> Int64 {
    lastNumber += 1
    return lastNumber
  }

  /// The downloads that may start now, in order; they count as running from here on.
  func startable(at now: Instant) -> [UInt64] {
    gate.releaseHosts(at: now)
    var started: [UInt64] = []
    while queuedCount > 0, let claim = gate.next(at: now), let download = downloads[claim.serial] {
      gate.givePlace(to: claim, at: download.host, download.requests.highest, at: now)
      download.holder = claim.claimant
      leaveQueue(download)
      started.append(claim.serial)
    }
    return started
  }

  /// Notes whether a running download is slow: if so, it has no share in `maxActive`.
  func mark(_ serial: UInt64, isSlow: Bool) {
    guard let download = downloads[serial], download.holder != nil, download.isSlow != isSlow else { return }
    download.isSlow = isSlow
    gate.mark(at: download.host, download.requests.highest, isSlow: isSlow)
  }

  func hold(_ name: String, until end: Instant) { gate.hold(name, until: end) }

  /// When the next host may be asked again; nil where there is none, or nothing waits.
  var nextRelease: Instant? { queuedCount > 0 ? gate.nextRelease : nil }
}

/// Finds the running downloads that are slow: less than 16 KiB of them have come in the last second or more.
final class FlowWatch {
  static let window = Duration.seconds(1)
  static let leastBytes = 16 << 10

  private struct Flow {
    /// The time from which bytes are counted, and how many there were.
    var since: Instant
    var counted = 0
    var received = 0
    var isSlow = false
  }

  private var flows: [UInt64: Flow] = [:]

  func beginWatching(_ serial: UInt64, at now: Instant) { flows[serial] = Flow(since: now) }

  func endWatching(_ serial: UInt64) { flows[serial] = nil }

  /// Takes in how far a download has come; true when it was slow and flows again.
  func noteProgress(_ serial: UInt64, received: Int, at now: Instant) -> Bool {
    guard var flow = flows[serial] else { return false }
    flow.received = received
    // A body may begin again from its start.
    flow.counted = min(flow.counted, received)
    let flowsAgain = flow.isSlow && received - flow.counted >= Self.leastBytes
    if flowsAgain { flow = Flow(since: now, counted: received, received: received) }
    flows[serial] = flow
    return flowsAgain
  }

  func review(at now: Instant) -> [UInt64] {
    var slow: [UInt64] = []
    for (serial, flow) in flows where now - flow.since >= Self.window {
      let milliseconds = (now - flow.since).milliseconds
      let isSlow = Int64(flow.received - flow.counted) * 1_000 < Int64(Self.leastBytes) * milliseconds
      // A slow download flows again when bytes come, not when time passes.
      if isSlow, !flow.isSlow { slow.append(serial) }
      flows[serial] = Flow(since: now, counted: flow.received, received: flow.received, isSlow: isSlow || flow.isSlow)
    }
    return slow
  }
}
