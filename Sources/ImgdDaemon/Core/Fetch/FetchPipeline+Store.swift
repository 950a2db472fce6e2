import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdTransfer
import ImgdWire

// What a transfer brought becomes an image, and the image an entry.

extension FetchPipeline {
  /// What a download's outcome means for those who wait, once it is stored as far as it may be.
  func settle(_ outcome: DownloadOutcome, of download: MergedDownload) -> FetchOutcome {
    switch outcome {
    case .picture(let result, let picture):
      negatives.forget(download.mergeKey.key)
      let accepted = settings.downloads.acceptTypes
      guard accepted.contains(where: { $0.rawValue == picture.format.name }) else {
        return .failure(FetchFailure(error: .unsupported(picture, accepted: accepted)))
      }
      return .image(keep(result, picture, of: download))
    case .confirmed(let result):
      guard let image = download.confirming else {
        return .failure(FetchFailure(error: .confirmedForClient, head: result.head))
      }
      negatives.forget(download.mergeKey.key)
      return .image(renew(image, with: result, of: download))
    case .notAPicture(let result, let reason):
      return .failure(FetchFailure(error: .notAnImage(reason), head: result.head))
    case .failed(let failure):
      let known = FetchFailure(failure)
      if [404, 410].contains(failure.status) { forget(download) }
      remember(known, failure, of: download)
      return .failure(known)
    }
  }

  private func keep(
    _ result: TransferResult, _ picture: Picture, of download: MergedDownload
  ) -> DeliveredImage {
    let freshness = freshness(of: result.head.pairs, status: result.head.status, download)
    let image = CachedImage(
      key: download.mergeKey.key, payload: result.payload, facts: ImageFacts(picture),
      response: StoredResponse(
        status: result.head.status, headers: result.head.pairs, finalURL: result.head.finalURL),
      freshness: freshness, vary: download.mergeKey.outcome(of: freshness), tags: download.tags,
      serial: download.serial, isPurged: download.isPurgedEverywhere, at: loop.now,
      wall: WallClock.seconds)
    store(image, of: download)
    return DeliveredImage(image: image, source: .network)
  }

  private func renew(
    _ confirmed: CachedImage, with result: TransferResult, of download: MergedDownload
  ) -> DeliveredImage {
    let headers = confirmed.response.headers.confirmed(with: result.head.pairs)
    let status = confirmed.response.status
    let freshness = freshness(of: headers, status: status, download)
    let image = confirmed.renewed(
      response: StoredResponse(
        status: status, headers: headers, finalURL: confirmed.response.finalURL),
      freshness: freshness, vary: download.mergeKey.outcome(of: freshness), tags: download.tags,
      serial: download.serial,
      isPurged: download.isPurgedEverywhere, at: loop.now, wall: WallClock.seconds)
    store(image, of: download)
    return DeliveredImage(image: image, source: .revalidated)
  }

  private func freshness(
    of headers: HeaderList, status: Int, _ download: MergedDownload
  ) -> Freshness {
    Freshness(
      status: status, headers: headers, rules: FreshnessRules(settings.http),
      ttl: download.beneficiaries.compactMap(\.request.ttl).min().map { .seconds($0) },
      isScoped: download.mergeKey.key.scope != nil, receivedAt: WallClock.seconds,
      delay: delay(of: download))
  }

  /// What the exchange took, in whole seconds as HTTP counts them: the answer may have been made at
  /// its beginning.
  private func delay(of download: MergedDownload) -> Duration {
    guard let begunAt = download.begunAt else { return .zero }
    return .seconds((loop.now - begunAt).components.seconds)
  }

  /// Keeps what somebody wanted kept; an orphan too, which was left to run for that.
  ///
  /// What a tier has of the same picture goes, if the new one must not or shall not be kept there:
  /// nobody may find the old one afterwards.
  private func store(_ image: CachedImage, of download: MergedDownload) {
    guard download.isForKeeping else { return }
    if !download.isPurged { downloader.overtake(by: download) }
    let wishes = download.beneficiaries.map(\.request)
    let isWanted = image.freshness.refusal == nil
    if !download.purgedTiers.contains(.memory) {
      if isWanted, wishes.contains(where: \.keepsInMemory) {
        storeInMemory(image)
      } else {
        _ = memory.remove(image.key)
      }
    }
    if !download.purgedTiers.contains(.disk) {
      if isWanted, wishes.contains(where: \.keepsOnDisk) {
        storeOnDisk(image)
      } else {
        disk.remove(image.key)
      }
    }
  }

  func storeInMemory(_ image: CachedImage) {
    guard case .stored(let evicted) = memory.add(image, at: loop.now) else {
      if !image.isPurged, memory.peek(image.key)?.serial ?? .max < image.serial {
        _ = memory.remove(image.key)
      }
      return
    }
    hub.cache(.stored, entries: 1, bytes: image.payload.count)
    hub.cache(.evicted, evicted)
  }

  /// What the origin has confirmed keeps its file.
  private func storeOnDisk(_ image: CachedImage) {
    if disk.holds(image) { return disk.renew(image) }
    if disk.add(image) != nil, !image.isPurged { disk.remove(image.key) }
  }

  // MARK: What is not there

  /// Removes a picture of which the origin says that there is none: that is its answer now, in place
  /// of the picture. Who takes what is stored however old it is must not be shown for ever what was
  /// taken down.
  ///
  /// A request with headers of its own can have been refused for what it was, and speaks only of
  /// what it asked the origin to confirm.
  private func forget(_ download: MergedDownload) {
    guard download.isForKeeping, !download.isPurged,
      download.mergeKey.headers.isEmpty || download.confirming != nil,
      memory.peek(download.mergeKey.key)?.serial ?? 0 < download.serial
    else { return }
    downloader.overtake(by: download)
    _ = memory.remove(download.mergeKey.key)
    disk.remove(download.mergeKey.key)
  }

  private static let longestUnknownHost = Duration.seconds(5)

  /// The failure that a recent fetch has met, if it holds for this one too.
  func knownFailure(for job: FetchJob) -> FetchFailure? {
    guard job.request.cache == .default_ || job.request.cache == .forceCache,
      job.mergeKey.headers.isEmpty
    else { return nil }
    return negatives.find(job.mergeKey.key, at: loop.now)?.value
  }

  private func remember(
    _ failure: FetchFailure, _ cause: TransferFailure, of download: MergedDownload
  ) {
    guard !download.isPurged, download.mergeKey.headers.isEmpty,
      download.beneficiaries.contains(where: { $0.request.cache != .noStore }),
      let lifetime = lifetime(of: cause)
    else { return }
    var known = failure
    known.error = failure.error.markedAsCached
    negatives.note(known, for: download.mergeKey.key, lasting: lifetime, at: loop.now)
  }

  private func lifetime(of cause: TransferFailure) -> Duration? {
    let rule = settings.http.negativeFreshness
    if cause.kind == .dns { return rule > .zero ? min(rule, Self.longestUnknownHost) : nil }
    guard let head = cause.head else { return nil }
    return negativeLifetime(
      status: head.status, headers: head.pairs, rule: rule, receivedAt: WallClock.seconds)
  }

  // MARK: Removing

  /// Removes what matches, and keeps what is on its way from being stored; `then` is told how much
  /// was in memory and how much on disk.
  func purge(
    _ filter: PurgeFilter, tiers: PurgeRequest.Scope, marksOnly: Bool,
    then: @escaping (_ memory: Removal, _ disk: Removal) -> Void
  ) {
    downloader.purge(tiers.tiers) { filter.matches(key: $0.mergeKey.key, tags: $0.tags) }
    if !marksOnly {
      if tiers != .memory {
        for image in outcomes.images { image.purge(filter, at: loop.now) }
      }
      if filter.matchesAll, tiers != .disk { downloader.dropPartials() }
    }
    var fromMemory = Removal.none
    if tiers != .disk {
      memoryPurges += 1
      negatives.remove(where: filter, at: loop.now)
      fromMemory = memory.purge(
        filter, soft: marksOnly, fromAllTiers: tiers == .all, at: loop.now)
      if !marksOnly {
        onMemoryPurge()
        hub.cache(filter.matchesAll ? .removedAll : .purged, fromMemory)
      }
    }
    guard tiers != .memory else { return then(fromMemory, .none) }
    disk.purge(filter, soft: marksOnly) { [unowned hub] fromDisk in
      if !marksOnly { hub.cache(filter.matchesAll ? .removedAll : .purged, fromDisk, tier: .disk) }
      then(fromMemory, fromDisk)
    }
  }

  /// Empties the memory tier; what is on its way is stored as if nothing had happened.
  func removeAll() -> Removal {
    memoryPurges += 1
    let removed = memory.removeAll()
    hub.cache(.removedAll, removed)
    return removed
  }
}

extension ImageFacts {
  init(_ picture: Picture) {
    self.init(
      format: picture.format.rawValue, width: picture.width, height: picture.height,
      frames: picture.frames, orientation: picture.orientation)
  }
}

extension ImageFacts {
  var pictureFormat: PictureFormat {
    guard let known = PictureFormat(rawValue: format) else {
      preconditionFailure("an image is stored with a format that was recognised")
    }
    return known
  }
}

extension CachedImage {
  var format: PictureFormat { facts.pictureFormat }

  /// Whether the origin would answer a job's request with it, as far as Vary says.
  func isFor(_ job: FetchJob) -> Bool { isFor(sent: job.mergeKey.sent) }
}

extension MergeKey {
  /// What the clients sent along.
  var sent: HeaderList { headers.map { ($0.name, $0.value) } }

  func outcome(of freshness: Freshness) -> VaryOutcome {
    VaryOutcome(varying: freshness.varyingHeaders, sent: sent)
  }
}

extension ResponseHead {
  /// The headers that belong to the answer itself.
  var pairs: HeaderList { StoredHeaders.storable(headers.map { ($0.name, $0.value) }) }
}

extension CacheMode {
  /// Whether the caches are looked into at all.
  var reads: Bool { self != .reload && self != .noStore }
}

extension CachePolicy {
  /// The web's names are NSURLRequest's policies.
  init(_ mode: CacheMode) {
    self =
      switch mode {
      case .default_: .useProtocol
      case .reload: .reload
      case .noCache: .revalidate
      case .forceCache: .returnElseLoad
      case .onlyIfCached: .returnDontLoad
      case .noStore: .noStore
      }
  }
}

extension TransferFailure {
  /// Whether a stale picture may stand in: the origin could not be asked, or is in trouble.
  var isOfOrigin: Bool {
    switch kind {
    case .dns, .connect, .tls, .timeout, .truncated, .emptyBody: true
    case .httpStatus: CacheDecision.isFailure(status: status ?? 0)
    default: false
    }
  }
}

extension FetchOutcome {
  var state: FetchJob.State {
    switch self {
    case .image: .done
    case .failure(let failure): failure.error.code == .cancelled ? .cancelled : .failed
    }
  }

  /// What a waiter may be shown of what is stored, when the origin fails.
  private func standingIn(for job: FetchJob) -> FetchOutcome {
    guard case .failure(let failure) = self, failure.isOfOrigin, let fallback = job.fallback
    else { return self }
    return .image(fallback)
  }

  /// The outcome as one waiter sees it: with what stands in for it, its own limit, and whether it
  /// came late.
  func own(of job: FetchJob) -> FetchOutcome {
    guard case .image(var delivered) = standingIn(for: job) else { return self }
    let bytes = delivered.image.payload.count
    guard bytes <= job.allowance.bytes else {
      return .failure(FetchFailure(error: .tooLarge(limit: job.allowance.bytes)))
    }
    delivered.isCoalesced = job.isCoalesced
    return .image(delivered)
  }
}

extension PurgeRequest.Scope {
  var tiers: Set<Tier> {
    switch self {
    case .all: [.memory, .disk]
    case .memory: [.memory]
    case .disk: [.disk]
    }
  }
}
