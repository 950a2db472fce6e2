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
      guard let image = download.revalidated else {
        return .failure(FetchFailure(error: .confirmedForClient, head: result.head))
      }
      return .image(renew(image, with: result, of: download))
    case .notAPicture(let result, let reason):
      return .failure(FetchFailure(error: .notAnImage(reason), head: result.head))
    case .failed(let failure):
      return .failure(FetchFailure(failure))
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
      serial: download.serial, isPurged: download.isPurged, at: loop.now,
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
      serial: download.serial, isPurged: download.isPurged, at: loop.now, wall: WallClock.seconds)
    store(image, of: download)
    return DeliveredImage(image: image, source: .revalidated)
  }

  private func freshness(
    of headers: HeaderList, status: Int, _ download: MergedDownload
  ) -> Freshness {
    Freshness(
      status: status, headers: headers, rules: FreshnessRules(settings.http),
      ttl: download.beneficiaries.compactMap(\.request.ttl).min().map { .seconds($0) },
      isScoped: download.mergeKey.key.scope != nil, receivedAt: WallClock.seconds)
  }

  /// Keeps what somebody wanted kept; an orphan too, which was left to run for that.
  private func store(_ image: CachedImage, of download: MergedDownload) {
    let isWanted = download.beneficiaries.contains { $0.request.keepsInMemory }
    guard isWanted, case .stored(let evicted) = memory.add(image, at: loop.now) else { return }
    hub.cache(.stored, entries: 1, bytes: image.payload.count)
    hub.cache(.evicted, evicted)
  }

  // MARK: Removing

  /// Removes what matches, and keeps what is on its way from being stored.
  func purge(_ filter: PurgeFilter, marksOnly: Bool) -> Removal {
    downloader.purge { filter.matches(key: $0.mergeKey.key, tags: $0.tags) }
    let removed = memory.purge(filter, soft: marksOnly, at: loop.now)
    if !marksOnly { hub.cache(filter.matchesAll ? .removedAll : .purged, removed) }
    return removed
  }

  /// Empties the tier; what is on its way is stored as if nothing had happened.
  func removeAll() -> Removal {
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
}

extension ResponseHead {
  /// The headers that belong to the answer itself.
  var pairs: HeaderList { StoredHeaders.storable(headers.map { ($0.name, $0.value) }) }
}

extension MergeKey {
  /// What the clients sent along.
  var sent: HeaderList { headers.map { ($0.name, $0.value) } }

  func outcome(of freshness: Freshness) -> VaryOutcome {
    VaryOutcome(varying: freshness.varyingHeaders, sent: sent)
  }
}

extension CacheMode {
  /// Whether the cache is looked into at all.
  var reads: Bool { self != .reload && self != .noStore }

  /// Whether an image that is there may be used as it is.
  func accepts(_ image: CachedImage, at now: Instant) -> Bool {
    switch self {
    case .default_: image.isFresh(at: now)
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
    guard bytes <= job.allowance.bytes else {
      return .failure(FetchFailure(error: .tooLarge(limit: job.allowance.bytes)))
    }
    delivered.isCoalesced = job.isCoalesced
    return .image(delivered)
  }
}
