// The transfers under way, and their waiters.
//
// A request joins a transfer that is under way for the same thing, or begins one. Each waiter has its own receipt and
// leaves on its own; when the last one has left, the transfer is aborted and its place is free at once, or, where
// orphans may finish, it fills the cache for the next request.
//
// "Closed for joining" is the same step as taking the waiters out: no request joins what is being handed out.

import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class Downloader {
  /// How long an item may wait in the queue before it is taken ahead of all younger ones.
  static let ageBound = Duration.seconds(10)
  /// Roughly what a download takes, with its places in the queue and in the tables.
  private static let bytesOfOne = 1_024
  private static let reviewPause = Duration.milliseconds(250)
  /// No origin holds back its downloads for longer, whatever it says.
  private static let longestHold = Duration.seconds(300)

  private let transfers: any Transfers
  private let purges: PurgeList
  let origins: OriginRules
  var proxies: ProxyRules
  private let ledger: OriginLedger
  let loop: EventLoop
  var scheduler: DownloadScheduler
  private var orphans: Orphans
  private var downloads = SteadyDictionary<UInt64, MergedDownload>()
  private var byKey = SteadyDictionary<MergeKey, [MergedDownload]>()
  private var lastSerial: UInt64 = 0
  private(set) var counts = Statistics.Downloads()
  /// How long downloads waited for their turn.
  private(set) var waits = LatencyHistogram()
  /// How long transfers took.
  private(set) var latency = LatencyHistogram()
  private let flows = FlowWatch()
  private var review: Timer?
  private var release: Timer?
  /// Called when there may be places for more transfers; set once by the composition.
  var onPlaces: () -> Void = {}

  init(
    transfers: any Transfers, purges: PurgeList, origins: OriginRules, ledger: OriginLedger, loop: EventLoop,
    settings: Configuration
  ) {
    self.transfers = transfers
    self.purges = purges
    self.origins = origins
    self.ledger = ledger
    self.loop = loop
    scheduler = DownloadScheduler(settings: Self.schedule(settings.downloads))
    proxies = ProxyRules(settings.network, origins: origins)
    orphans = settings.downloads.orphans
  }

  /// Takes new settings, and those of the rules, which have been applied before.
  func apply(_ settings: Configuration) {
    proxies = ProxyRules(settings.network, origins: origins)
    scheduler.apply(Self.schedule(settings.downloads))
    orphans = settings.downloads.orphans
    scheduler.limitHosts(at: loop.now) { serial in downloads[serial].map { limits(of: $0.askedURL) } ?? HostLimits() }
  }

  private static func schedule(_ settings: Configuration.Downloads) -> DownloadScheduler.Settings {
    DownloadScheduler.Settings(
      maxActive: settings.maxActive, maxPerHost: settings.maxPerHost, order: settings.order, ageBound: ageBound)
  }

  /// A place among those that wait for a download.
  struct Place {
    let download: MergedDownload
    /// Whether others had begun it.
    let isShared: Bool
    let number: UInt64
  }

  /// Shares a transfer that is under way, or begins one.
  func join(_ key: MergeKey, _ waiter: MergedDownload.Waiter, confirming stored: CachedImage?) -> Place {
    let wish = waiter.wish
    let shared = downloads(for: key).last { $0.admits(wish) }
    if let shared {
      counts.coalesced += 1
      scheduler.join(shared.serial, by: wish.claimant, wish.priority, at: loop.now)
    }
    let download = shared ?? begin(key, wish, confirming: stored)
    let number = download.add(waiter)
    widen(download, to: wish.allowance)
    return Place(download: download, isShared: shared != nil, number: number)
  }

  func hasShare(for key: MergeKey, _ wish: PictureWish) -> Bool { downloads(for: key).contains { $0.admits(wish) } }

  /// The downloads for a key, compared with what was purged in the meantime.
  private func downloads(for key: MergeKey) -> [MergedDownload] {
    let downloads = byKey[key] ?? []
    for download in downloads { download.check(against: purges) }
    return downloads
  }

  /// A number for something that brings a picture: later numbers are greater.
  func nextSerial() -> UInt64 {
    lastSerial += 1
    return lastSerial
  }

  func isUnderWay(_ key: MergeKey) -> Bool { downloads(for: key).contains { $0.state != .closed && !$0.isPurged } }

  private func begin(_ key: MergeKey, _ wish: PictureWish, confirming stored: CachedImage?) -> MergedDownload {
    let download = MergedDownload(
      serial: nextSerial(), mergeKey: key, policy: wish.mode, confirming: stored, allowance: wish.allowance,
      checked: purges.newest)
    downloads[download.serial] = download
    byKey.update(download.mergeKey) { $0 = ($0 ?? []) + [download] }
    enqueue(download, for: wish, isServedNext: wish.isServedNext)
    return download
  }

  /// Has a download wait for its turn at the host that it asks.
  private func enqueue(_ download: MergedDownload, for wish: PictureWish, isServedNext: Bool) {
    let url = download.askedURL
    let host = origins.place(of: url)
    download.section = ledger.noteQueued(at: host, url)
    download.section?.queued += 1
    download.queuedAt = loop.now
    scheduler.enqueue(
      download.serial, host: host.name, by: wish.claimant, wish.priority, limits: limits(of: url),
      isServedNext: isServedNext, at: loop.now)
  }

  private func limits(of url: CanonicalURL) -> HostLimits {
    guard !origins.isEmpty || proxies.hasUsual else { return HostLimits() }
    let origin = origins[url]
    return HostLimits(
      places: origin?.maxActive, pace: origin?.rate.map { HostLimits.Pace(interval: $0.interval, burst: $0.burst) },
      bandwidth: origin?.bandwidth, contact: proxies.contact(for: url))
  }

  private func widen(_ download: MergedDownload, to wanted: PictureWish.Allowance) {
    var allowance = download.allowance
    var own = wanted
    // The engine counts from the start of the transfer, which may have been long ago.
    if let begunAt = download.begunAt { own.time += loop.now - begunAt }
    allowance.widen(to: own)
    guard allowance != download.allowance else { return }
    download.allowance = allowance
    guard download.state == .running else { return }
    transfers.adjust(serial: download.serial, maxBytes: allowance.bytes, deadline: allowance.time)
  }

  /// Takes a waiter off its transfer, which goes on or ends. Returns whether others may start in its place.
  func leave(_ place: Place) -> Bool {
    let download = place.download
    guard let wish = download.remove(at: place.number) else { return false }
    scheduler.leave(download.serial, by: wish.claimant, wish.priority)
    let isRunning = download.state == .running
    guard download.state != .closed, download.waiterCount == 0, orphans == .cancel || !isRunning else { return false }
    close(download)
    counts.cancelled += 1
    if isRunning { transfers.abort(serial: download.serial) }
    return true
  }

  /// Keeps earlier downloads of the same thing from replacing a later one's picture.
  func overtake(by download: MergedDownload) { overtake(download.mergeKey, by: download.serial) }

  /// Keeps them from replacing what has come otherwise.
  func overtake(_ key: MergeKey, by serial: UInt64) {
    for other in byKey[key] ?? [] where other.serial < serial { other.close() }
  }

  func dropPartials() { transfers.dropPartials() }

  /// Begins the transfers for which there is a place now, and returns them.
  func startReady() -> [MergedDownload] {
    reviewFlows()
    let started: [MergedDownload] = scheduler.startable(at: loop.now).compactMap { serial in
      guard let download = downloads[serial] else { return nil }
      download.state = .running
      download.section?.queued -= 1
      download.section?.active += 1
      if let queuedAt = download.queuedAt { waits.record((loop.now - queuedAt).nanoseconds) }
      flows.beginWatching(serial, at: loop.now)
      begin(download)
      return download
    }
    waitForPlaces()
    return started
  }

  /// Looks for slow downloads while others wait: when the first begins to wait, and then four times a second.
  private func reviewFlows() {
    guard review == nil, scheduler.queuedCount > 0, scheduler.places.isShared else { return }
    for serial in flows.review(at: loop.now) { scheduler.mark(serial, isSlow: true) }
  }

  private func waitForPlaces() {
    if review == nil, scheduler.queuedCount > 0, scheduler.places.isShared {
      review = loop.schedule(after: Self.reviewPause) { [unowned self] in
        review = nil
        onPlaces()
      }
    }
    guard scheduler.nextRelease != release?.deadline else { return }
    release?.cancel()
    release = scheduler.nextRelease.map { end in
      loop.schedule(after: end - loop.now) { [unowned self] in
        release = nil
        onPlaces()
      }
    }
  }

  private func begin(_ download: MergedDownload) {
    download.begin(after: purges, at: loop.now)
    counts.started += 1
    let url = download.fallback ?? download.sentURL
    let headers =
      download.fallback == nil
      ? download.mergeKey.headers + (download.confirming?.conditions ?? []) : download.mergeKey.headersForOthers
    let order = TransferOrder(
      serial: download.serial, url: url.text,
      headers: headers + download.mergeKey.tracing + ownFields(for: url, beside: headers),
      maxBytes: download.allowance.bytes, deadline: download.allowance.time, keepsPartial: download.isForKeeping,
      uid: download.uid, isAfterPublic: download.mergeKey.isAfterPublic, signer: origins.signer(for: url),
      proxy: proxies.proxy(for: url), throttle: scheduler.throttle(of: download.serial))
    download.transferPhase = order.phase
    transfers.begin(order)
  }

  /// The fields of the section for a URL; those that a client has sent itself stay.
  private func ownFields(for url: CanonicalURL, beside headers: [HeaderField]) -> [HeaderField] {
    guard let own = origins[url]?.headers?.value else { return [] }
    let names = Set(headers.map { $0.name.lowercased() })
    return own.filter { !names.contains($0.name.lowercased()) }
  }

  /// Takes in a report, and returns the download that it is about; nil when that is over already, or begins once more.
  func receive(_ report: TransferReport) -> MergedDownload? {
    guard let download = downloads[report.serial] else { return nil }
    if case .finished(_, let outcome) = report.event { tell(outcome, report.content, of: download) }
    switch report.event {
    case .headers(_, let expected):
      download.hasHeaders = true
      download.received = 0
      download.expected = expected
      _ = flows.noteProgress(download.serial, received: 0, at: loop.now)
    case .progress(_, let received, let expected):
      download.received = received
      download.expected = expected
      if flows.noteProgress(download.serial, received: received, at: loop.now) {
        scheduler.mark(download.serial, isSlow: false)
      }
    case .finished(_, .received(let result)) where result.isConfirmation && download.isMisconfirmed(by: result.head):
      askAgain(download, after: result)
      return nil
    case .finished(_, let outcome):
      if case .failed(let failure) = outcome, let fallback = fallback(for: download, after: failure) {
        ask(fallback, for: download, after: failure)
        return nil
      }
      if case .received(let result) = outcome { download.noteEnd(with: result) }
      holdHost(of: download, after: outcome)
      close(download)
      count(outcome, report.content, of: download)
    }
    return download
  }

  /// Counts a transfer, and has the ledger count it by the host that was asked.
  private func tell(_ outcome: TransferOutcome, _ content: TransferReport.Content?, of download: MergedDownload) {
    if case .failed(let failure) = outcome, isInterruption(failure, of: download) { return }
    if let begunAt = download.begunAt { latency.record((loop.now - begunAt).nanoseconds) }
    let isPicture = if case .failure? = content { false } else { true }
    ledger.countDownload(of: download.askedURL, outcome, isPicture: isPicture)
  }

  /// Fetches the picture anew, without a condition: the origin has confirmed a version other than the stored one.
  private func askAgain(_ download: MergedDownload, after result: TransferResult) {
    counts.completed += 1
    counts.retries += result.retries
    download.confirming = nil
    begin(download)
  }

  /// Another server that may have the picture, if this one has not said anything about it. The parameters that are not
  /// part of a key are not for others.
  private func fallback(for download: MergedDownload, after failure: TransferFailure) -> CanonicalURL? {
    guard download.fallback == nil, failure.mayBeReplaced, let origin = origins[download.url] else { return nil }
    return origin.fallback?.url(for: download.url).flatMap { reaches($0) ? $0 : nil }
  }

  /// Fetches the picture from elsewhere, in the turn of that host, as it has waited for a turn already. Nothing is
  /// confirmed there: its versions are another server's.
  private func ask(_ fallback: CanonicalURL, for download: MergedDownload, after failure: TransferFailure) {
    counts.failed += 1
    counts.retries += failure.retries
    let wishes = download.wishes
    guard let first = wishes.first else { return }
    leavePlace(of: download)
    download.turn(to: fallback, after: failure)
    enqueue(download, for: first, isServedNext: true)
    for wish in wishes.dropFirst() { scheduler.join(download.serial, by: wish.claimant, wish.priority, at: loop.now) }
    onPlaces()
  }

  /// Leaves a host alone for as long as it asks for, and with it everything that waits for it.
  private func holdHost(of download: MergedDownload, after outcome: TransferOutcome) {
    guard case .failed(let failure) = outcome, let pause = failure.retryAfter, pause > .zero,
      failure.status == 429 || failure.status == 503
    else { return }
    scheduler.hold(origins.host(of: download.askedURL), until: loop.now + min(pause, Self.longestHold))
  }

  private func count(_ outcome: TransferOutcome, _ content: TransferReport.Content?, of download: MergedDownload) {
    switch outcome {
    case .received(let result):
      counts.retries += result.retries
      if case .failure? = content { counts.failed += 1 } else { counts.completed += 1 }
      guard content != nil else { return counts.revalidated += 1 }
      if result.resumedFrom > 0 { counts.resumed += 1 }
      counts.bytesReceived += result.bytesReceived - result.resumedFrom
    case .redirected(let redirect):
      counts.redirected += 1
      counts.retries += redirect.retries
    case .failed(let failure):
      if isInterruption(failure, of: download) { counts.interrupted += 1 } else { counts.failed += 1 }
      counts.retries += failure.retries
    }
  }

  private func close(_ download: MergedDownload) {
    leavePlace(of: download)
    download.state = .closed
    downloads.removeValue(forKey: download.serial)
    byKey.update(download.mergeKey) { same in
      same?.removeAll { $0 === download }
      if same?.isEmpty == true { same = nil }
    }
  }

  /// Gives up the place of a download, in the queue or among those that run.
  private func leavePlace(of download: MergedDownload) {
    if download.state == .running { download.section?.active -= 1 } else { download.section?.queued -= 1 }
    scheduler.remove(download.serial)
    flows.endWatching(download.serial)
  }

  var holdings: TransferHoldings { transfers.holdings }
  /// Roughly the bytes that the downloads hold besides the requests for them and their bodies.
  var heldBytes: Int { downloads.count * Self.bytesOfOne }
  var places: Places { scheduler.places }
  var queuedCount: Int { scheduler.queuedCount }
  var maxActive: Int { scheduler.settings.maxActive }
}

extension TransferFailure {
  /// Whether the origin has failed in a way that another server may stand in for.
  fileprivate var mayBeReplaced: Bool {
    switch kind {
    case .dns, .connect, .tls, .timeout, .truncated: true
    case .httpStatus: status ?? 0 >= 500
    default: false
    }
  }
}

extension CachedImage {
  /// The request headers that ask an origin whether the image is still right.
  fileprivate var conditions: [HeaderField] {
    var headers: [HeaderField] = []
    if let tag = response.entityTag { headers.append(HeaderField("If-None-Match", tag)) }
    if let date = response.lastModified { headers.append(HeaderField("If-Modified-Since", date)) }
    return headers
  }
}
