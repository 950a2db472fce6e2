// A finished transfer becomes a picture or a failure, and the picture an entry of the tiers.

import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class DownloadSettlement {
  /// The bytes of an origin's headers that are remembered with a failure, for `http` to show.
  private static let mostRemembered = 1_024
  /// An unknown host is not remembered for longer than that, whatever the rule.
  private static let longestUnknownHost = Duration.seconds(5)

  private let pictures: PictureTiers
  private let downloader: Downloader
  private let loop: EventLoop
  private var settings: Configuration

  init(
    pictures: PictureTiers, downloader: Downloader, loop: EventLoop, settings: Configuration
  ) {
    self.pictures = pictures
    self.downloader = downloader
    self.loop = loop
    self.settings = settings
  }

  func apply(_ settings: Configuration) {
    self.settings = settings
  }

  /// The outcome of a download for its waiters, once the picture is stored as far as it may be.
  func settle(
    _ outcome: TransferOutcome, _ content: TransferReport.Content?, of download: MergedDownload
  ) -> MergedDownload.Settlement {
    switch (outcome, content) {
    case (.received(let result), .success(let picture)):
      .ended(received(result, picture, download))
    case (.received(let result), .failure(let reason)):
      .ended(.failure(FetchFailure(error: .notAnImage(reason), head: result.head)))
    case (.received(let result), nil): .ended(confirmed(result, download))
    case (.redirected(let redirect), _): .redirected(Redirect(redirect))
    case (.failed(let failure), _): .ended(failed(failure, download))
    }
  }

  // MARK: A picture

  private func received(
    _ result: TransferResult, _ received: ReceivedPicture, _ download: MergedDownload
  ) -> FetchOutcome {
    let (key, picture) = (download.mergeKey.key, received.picture)
    pictures.forgetFailure(for: key)
    let accepted = settings.downloads.acceptTypes
    guard accepted.contains(where: { $0.rawValue == picture.format.name }) else {
      return .failure(FetchFailure(error: .unsupported(picture, accepted: accepted)))
    }
    let head = result.head
    let headers = head.pairs
    let freshness = freshness(of: headers, status: head.status, download)
    let image = CachedImage.make(
      key: key, payload: result.payload, facts: ImageFacts(picture),
      response: StoredResponse(status: head.status, headers: headers),
      freshness: freshness, vary: download.mergeKey.outcome(of: headers), tags: download.tags,
      serial: download.serial, checksum: received.checksum,
      isPurged: download.isPurgedEverywhere, at: loop.now,
      wall: WallClock.seconds)
    keep(image, of: download)
    return .image(DeliveredImage(image: image, source: .network))
  }

  /// The origin has confirmed the stored picture (304).
  private func confirmed(
    _ result: TransferResult, _ download: MergedDownload
  ) -> FetchOutcome {
    guard let stored = download.confirming else {
      return .failure(FetchFailure(error: .confirmedForClient, head: result.head))
    }
    pictures.forgetFailure(for: download.mergeKey.key)
    let response = stored.response
    let headers = response.headers.confirmed(with: result.head.pairs)
    let freshness = freshness(of: headers, status: response.status, download)
    let image = stored.renewed(
      response: StoredResponse(status: response.status, headers: headers),
      freshness: freshness, vary: download.mergeKey.outcome(of: headers), tags: download.tags,
      serial: download.serial, isPurged: download.isPurgedEverywhere, at: loop.now,
      wall: WallClock.seconds)
    keep(image, of: download)
    return .image(DeliveredImage(image: image, source: .revalidated))
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

  /// The time that the exchange took, in whole seconds as HTTP counts them: the answer may have
  /// been made at its beginning.
  private func delay(of download: MergedDownload) -> Duration {
    guard let begunAt = download.begunAt else { return .zero }
    return .seconds((loop.now - begunAt).components.seconds)
  }

  /// Keeps a picture where any waiter wants it kept, or the last one of an orphan wanted it.
  private func keep(_ image: CachedImage, of download: MergedDownload) {
    guard download.isForKeeping else { return }
    if !download.isPurged { downloader.overtake(by: download) }
    let requests = download.beneficiaries.map(\.request)
    var wanted: Set<Tier> = []
    if requests.contains(where: \.keepsInMemory) { wanted.insert(.memory) }
    if requests.contains(where: \.keepsOnDisk) { wanted.insert(.disk) }
    let tiers = Set(Tier.allCases).subtracting(download.purgedTiers)
    pictures.keep(image, wanted: wanted, in: tiers)
  }

  // MARK: A failure

  private func failed(_ cause: TransferFailure, _ download: MergedDownload) -> FetchOutcome {
    let failure = FetchFailure(cause)
    if [404, 410].contains(cause.status) { forget(download) }
    remember(failure, cause, of: download)
    return .failure(failure)
  }

  /// Removes a picture of which the origin says that there is none: that is its answer now, in place
  /// of the picture. A client that takes stored pictures of any age must not be shown for ever one
  /// that was taken down.
  ///
  /// A request with headers of its own can have been refused for what it was, and speaks only of
  /// what was stored for its like, or of what it asked the origin to confirm.
  private func forget(_ download: MergedDownload) {
    guard download.isForKeeping, !download.isPurged,
      download.mergeKey.headers.isEmpty || download.mergeKey.key.variant != nil
        || download.confirming != nil,
      pictures.remove(download.mergeKey.key, olderThan: download.serial)
    else { return }
    downloader.overtake(by: download)
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
    known.head = failure.head?.fitting(within: Self.mostRemembered)
    pictures.remember(known, for: download.mergeKey.key, lasting: lifetime)
  }

  private func lifetime(of cause: TransferFailure) -> Duration? {
    let rule = settings.http.negativeFreshness
    if cause.kind == .dns { return rule > .zero ? min(rule, Self.longestUnknownHost) : nil }
    guard let head = cause.head else { return nil }
    return negativeLifetime(
      status: head.status, headers: head.pairs, rule: rule, receivedAt: WallClock.seconds)
  }
}

extension Redirect {
  fileprivate init(_ redirect: TransferRedirect) {
    self.init(target: redirect.target, isFromPublicAddress: redirect.isFromPublicAddress)
  }
}

extension ImageFacts {
  fileprivate init(_ picture: Picture) {
    self.init(
      format: picture.format.rawValue, width: picture.width, height: picture.height,
      frames: picture.frames, orientation: picture.orientation)
  }

  var pictureFormat: PictureFormat {
    guard let known = PictureFormat(rawValue: format) else {
      preconditionFailure("an image is stored with a format that was recognised")
    }
    return known
  }
}

extension MergeKey {
  fileprivate func outcome(of headers: HeaderList) -> VaryOutcome {
    VaryOutcome(varying: varyingNames(headers), sent: sent)
  }
}

extension ResponseHead {
  /// The headers that belong to the answer itself.
  var pairs: HeaderList { StoredHeaders.storable(headers.map { ($0.name, $0.value) }) }
}
