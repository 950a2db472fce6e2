// The transfers under way, and their waiters.
//
// A request joins a transfer that is under way for the same thing, or begins one. Each waiter has
// its own receipt and leaves by itself; when the last one has left, the transfer is aborted and its
// place is free at once, or, where orphans may finish, it fills the cache for the next request.
//
// The table is touched by the control loop alone, and "closed for joining" is the same step as
// taking the waiters out: no request can join a transfer whose outcome is being handed out.

import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class Downloader {
  /// How long an item may wait in the queue before it is taken ahead of all younger ones.
  static let ageBound = Duration.seconds(10)

  private let transfers: any Transfers
  private let loop: EventLoop
  private var scheduler: DownloadScheduler
  private var orphans: Orphans
  private var downloads: [UInt64: MergedDownload] = [:]
  private var byKey: [MergeKey: [MergedDownload]] = [:]
  private var lastSerial: UInt64 = 0
  private(set) var counts = Statistics.Downloads()

  init(transfers: any Transfers, loop: EventLoop, settings: Configuration.Downloads) {
    self.transfers = transfers
    self.loop = loop
    scheduler = DownloadScheduler(settings: Self.schedule(settings))
    orphans = settings.orphans
  }

  func apply(_ settings: Configuration.Downloads) {
    scheduler.apply(Self.schedule(settings))
    orphans = settings.orphans
  }

  private static func schedule(_ settings: Configuration.Downloads) -> DownloadScheduler.Settings {
    DownloadScheduler.Settings(
      maxActive: settings.maxActive, maxPerHost: settings.maxPerHost,
      order: settings.order == .fifo ? .fifo : .lifo, ageBound: ageBound)
  }

  // MARK: Joining and leaving

  /// Shares a transfer that is under way, or begins one; the job waits for it afterwards.
  func join(_ job: FetchJob, confirming stored: CachedImage?) {
    let download = shared(for: job) ?? begin(for: job, confirming: stored)
    let before = download.priority
    download.add(job)
    widen(download, for: job)
    if download.priority != before { scheduler.setPriority(download.serial, download.priority) }
  }

  private func shared(for job: FetchJob) -> MergedDownload? {
    let shared = byKey[job.mergeKey]?.last { $0.admits(job.request.cache) }
    if shared != nil {
      job.isCoalesced = true
      counts.coalesced += 1
    }
    return shared
  }

  /// Whether a transfer for the key is under way.
  func isUnderWay(_ key: MergeKey) -> Bool {
    byKey[key]?.contains { $0.state != .closed && !$0.isPurged } == true
  }

  private func begin(
    for job: FetchJob, confirming stored: CachedImage?
  ) -> MergedDownload {
    lastSerial += 1
    let download = MergedDownload(
      serial: lastSerial, mergeKey: job.mergeKey, url: job.url, policy: job.request.cache,
      confirming: stored, allowance: job.allowance)
    downloads[download.serial] = download
    byKey[download.mergeKey, default: []].append(download)
    scheduler.enqueue(
      download.serial, host: job.url.host, priority: job.priority, at: loop.now)
    return download
  }

  private func widen(_ download: MergedDownload, for job: FetchJob) {
    var allowance = download.allowance
    var own = job.allowance
    // The engine counts from the start of the transfer, which may be long ago.
    if let begunAt = download.begunAt { own.time += loop.now - begunAt }
    allowance.widen(to: own)
    guard allowance != download.allowance else { return }
    download.allowance = allowance
    guard download.state == .running else { return }
    transfers.adjust(
      serial: download.serial, maxBytes: allowance.bytes, deadline: allowance.time)
  }

  /// Takes a waiter off its transfer, which goes on for the others, or as an orphan, or ends.
  /// Answers whether others may start in its place.
  func leave(_ job: FetchJob) -> Bool {
    guard let download = job.download else { return false }
    let before = download.priority
    download.remove(job)
    if download.priority != before { scheduler.setPriority(download.serial, download.priority) }
    guard download.waiterCount == 0, orphans == .cancel || download.state == .queued else {
      return false
    }
    abort(download)
    return true
  }

  private func abort(_ download: MergedDownload) {
    let wasRunning = download.state == .running
    close(download)
    counts.cancelled += 1
    if wasRunning { transfers.abort(serial: download.serial) }
  }

  /// Marks the downloads that a purge matches: their pictures are delivered, and not stored in those
  /// tiers.
  func purge(_ tiers: Set<Tier>, matching matches: (MergedDownload) -> Bool) {
    for download in downloads.values where matches(download) {
      download.purgedTiers.formUnion(tiers)
    }
  }

  /// Keeps earlier downloads of the same thing from being stored in place of a later one's picture.
  func overtake(by download: MergedDownload) {
    for other in byKey[download.mergeKey] ?? [] where other.serial < download.serial {
      other.purgedTiers = Set(Tier.allCases)
    }
  }

  /// Forgets the bodies that broke off and wait to be continued.
  func dropPartials() {
    transfers.dropPartials()
  }

  // MARK: Running

  /// Begins the transfers for which there is a place now, and answers which.
  func startReady() -> [MergedDownload] {
    scheduler.startable(at: loop.now).compactMap { serial in
      guard let download = downloads[serial] else { return nil }
      download.state = .running
      begin(download)
      return download
    }
  }

  private func begin(_ download: MergedDownload) {
    download.begunAt = loop.now
    counts.started += 1
    transfers.begin(order(for: download))
  }

  private func order(for download: MergedDownload) -> TransferOrder {
    let headers = download.mergeKey.headers + (download.confirming?.conditions ?? [])
    return TransferOrder(
      serial: download.serial, url: download.url.text, headers: headers,
      maxBytes: download.allowance.bytes, deadline: download.allowance.time,
      keepsPartial: download.isForKeeping)
  }

  /// Takes in a report, and answers the download that it is about; nil when that is over already,
  /// or begins once more.
  func take(_ report: TransferReport) -> MergedDownload? {
    guard let download = downloads[report.serial] else { return nil }
    switch report.event {
    case .headers(_, let expected):
      download.hasHeaders = true
      download.received = 0
      download.expected = expected
    case .progress(_, let received, let expected):
      download.received = received
      download.expected = expected
    case .finished(_, .received(let result))
    where result.isConfirmation && download.isMisconfirmed(by: result.head):
      askAgain(download, after: result)
      return nil
    case .finished(_, let outcome):
      close(download)
      count(outcome, report.content)
    }
    return download
  }

  /// Fetches the picture anew, without a condition: the origin has confirmed another version than
  /// the stored one.
  private func askAgain(_ download: MergedDownload, after result: TransferResult) {
    counts.completed += 1
    counts.retries += result.retries
    download.confirming = nil
    begin(download)
  }

  private func count(_ outcome: TransferOutcome, _ content: TransferReport.Content?) {
    switch (outcome, content) {
    case (.received(let result), nil):
      counts.completed += 1
      counts.revalidated += 1
      counts.retries += result.retries
    case (.received(let result), .success):
      counts.completed += 1
      count(result)
    case (.received(let result), .failure):
      counts.failed += 1
      count(result)
    case (.failed(let failure), _):
      counts.failed += 1
      counts.retries += failure.retries
    }
  }

  private func count(_ result: TransferResult) {
    counts.retries += result.retries
    if result.resumedFrom > 0 { counts.resumed += 1 }
    counts.bytesReceived += result.bytesReceived - result.resumedFrom
  }

  private func close(_ download: MergedDownload) {
    download.state = .closed
    downloads[download.serial] = nil
    byKey[download.mergeKey]?.removeAll { $0 === download }
    if byKey[download.mergeKey]?.isEmpty == true { byKey[download.mergeKey] = nil }
    scheduler.remove(download.serial)
  }

  // MARK: Looking in

  var activeCount: Int { scheduler.activeCount }
  var queuedCount: Int { scheduler.queuedCount }
  var peakActive: Int { scheduler.peakActive }
  var maxActive: Int { scheduler.settings.maxActive }
}

extension CachedImage {
  /// The request headers that ask an origin whether the image still holds.
  fileprivate var conditions: [HeaderField] {
    var headers: [HeaderField] = []
    if let tag = response.entityTag { headers.append(HeaderField("If-None-Match", tag)) }
    if let date = response.lastModified { headers.append(HeaderField("If-Modified-Since", date)) }
    return headers
  }
}
