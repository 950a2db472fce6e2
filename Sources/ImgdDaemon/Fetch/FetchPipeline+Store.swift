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
      let accepted = settings.downloads.acceptTypes
      guard accepted.contains(where: { $0.rawValue == picture.format.name }) else {
        return .failure(FetchFailure(error: .unsupported(picture, accepted: accepted)))
      }
      return .image(keep(result, picture, of: download))
    case .confirmed(let result):
      return .image(renew(result, of: download))
    case .notAPicture(let result, let reason):
      return .failure(FetchFailure(error: .notAnImage(reason), head: result.head))
    case .failed(let failure):
      return .failure(FetchFailure(failure))
    }
  }

  private func keep(
    _ result: TransferResult, _ picture: Picture, of download: MergedDownload
  ) -> DeliveredImage {
    let image = CachedImage(
      key: download.mergeKey.key, payload: result.payload, facts: ImageFacts(picture),
      answer: answer(result.head.pairs, status: result.head.status, result.head.finalURL, download),
      tags: download.tags, serial: download.serial, storedAt: WallClock.seconds, now: loop.now)
    store(image, of: download)
    return DeliveredImage(image: image, source: .network)
  }

  private func renew(_ result: TransferResult, of download: MergedDownload) -> DeliveredImage {
    guard let confirmed = download.revalidated else {
      preconditionFailure("the engine reports 304 only for a transfer that carried a condition")
    }
    let headers = confirmed.answer.headers(confirmedWith: result.head.pairs)
    let image = confirmed.renewed(
      answer: answer(headers, status: confirmed.answer.status, confirmed.answer.finalURL, download),
      serial: download.serial, storedAt: WallClock.seconds, now: loop.now)
    store(image, of: download)
    return DeliveredImage(image: image, source: .revalidated)
  }

  private func answer(
    _ headers: [(name: String, value: String)], status: Int, _ finalURL: String?,
    _ download: MergedDownload
  ) -> StoredAnswer {
    let freshness = Freshness(
      { name in headers.first { $0.name == name }?.value },
      defaults: FreshnessDefaults(settings.http), now: WallClock.seconds,
      ttl: download.waiters.compactMap(\.request.ttl).min().map(Int64.init),
      isScoped: download.mergeKey.key.scope != nil)
    return StoredAnswer(
      status: status, headers: headers, finalURL: finalURL, freshness: freshness)
  }

  /// An orphan is stored: that is what it was left to run for.
  private func store(_ image: CachedImage, of download: MergedDownload) {
    let waiters = download.waiters
    let isWanted = waiters.isEmpty || waiters.contains { $0.request.keepsInMemory }
    guard isWanted, !download.isPurged, !image.varies(withSent: download.mergeKey.headers) else {
      return
    }
    guard case .stored(let evicted) = memory.add(image) else { return }
    hub.cache(.stored, MemoryTier.Removal(of: image))
    hub.cache(.evicted, evicted)
  }

  // MARK: Removing

  /// Removes what matches, and keeps what is on its way from being stored.
  func purge(_ filter: PurgeFilter, marksOnly: Bool) -> MemoryTier.Removal {
    downloader.purge { filter.matchesArriving($0.mergeKey.key, tags: $0.tags) }
    let removed = memory.purge(filter, marksOnly: marksOnly)
    if !marksOnly { hub.cache(filter.matchesAll ? .removedAll : .purged, removed) }
    return removed
  }

  /// Empties the tier; what is on its way is stored as if nothing had happened.
  func removeAll() -> MemoryTier.Removal {
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

extension CachedImage {
  var format: PictureFormat {
    guard let format = PictureFormat(rawValue: facts.format) else {
      preconditionFailure("an image is stored with a format that was recognised")
    }
    return format
  }

  /// Whether the answer depends on a header that the client sent along; credentials are part of the
  /// key already.
  func varies(withSent headers: [HeaderField]) -> Bool {
    let varying = answer.freshness.varying
    guard !varying.isEmpty, !headers.isEmpty else { return false }
    return headers.contains {
      varying.contains($0.name) && !RequestHeaders.credentials.contains($0.name)
    }
  }
}

extension ResponseHead {
  /// What speaks of one connection alone, and means nothing to whom the answer is shown later.
  private static let hopByHop: Set<String> = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
  ]

  /// The headers that belong to the answer itself.
  var pairs: [(name: String, value: String)] {
    headers.filter { !Self.hopByHop.contains($0.name) }.map { ($0.name, $0.value) }
  }
}

extension FetchRequest {
  /// Whether the memory tier may keep what comes.
  var keepsInMemory: Bool { cache != .noStore && (store == .all || store == .memory) }

  /// What only a decoder could do, when the request asks for it.
  var decoderFeature: String? {
    if delivery == .pixels { return "deliver pixels" }
    if resize != nil { return "resize" }
    return format == .original ? nil : "format \(format.rawValue)"
  }
}

extension CacheMode {
  /// Whether the cache is looked into at all.
  var reads: Bool { self != .reload && self != .noStore }

  /// Whether an image that is there may be used as it is.
  func accepts(_ image: CachedImage, at now: Instant) -> Bool {
    switch self {
    case .default: image.isFresh(at: now)
    case .forceCache, .onlyIfCached: true
    case .noCache, .reload, .noStore: false
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

  /// The outcome as one waiter sees it, with its own limit and whether it came late.
  func own(of job: FetchJob) -> FetchOutcome {
    guard case .image(var delivered) = self else { return self }
    let bytes = delivered.image.payload.count
    guard bytes <= job.allowance.bytes || delivered.source == .revalidated else {
      return .failure(FetchFailure(error: .tooLarge(limit: job.allowance.bytes)))
    }
    delivered.isCoalesced = job.isCoalesced
    return .image(delivered)
  }
}
