// A finished transfer becomes a picture or a failure, and the picture an entry of the tiers.

import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class DownloadSettlement: FetchPart {
  /// The longest time for which an unknown name is remembered, whatever the rule.
  private static let longestUnknownName = Duration.seconds(5)

  let ground: FetchGround
  private var settings: Configuration

  init(_ ground: FetchGround, settings: Configuration) {
    self.ground = ground
    self.settings = settings
  }

  func apply(_ settings: Configuration) { self.settings = settings }

  /// Stores the picture of a download as far as it may be stored, and returns the outcome for its waiters.
  func settle(_ outcome: TransferOutcome, _ content: TransferReport.Content?, of download: MergedDownload)
    -> MergedDownload.Settlement
  {
    defer { fleet.giveUp(download) }
    // What stands in for an origin brings a picture, or nothing: the origin's own failure counts.
    let outcome =
      content?.isPicture == true ? outcome : download.failureOfOrigin.map { TransferOutcome.failed($0) } ?? outcome
    download.check(against: pictures.purges)
    let named = OriginTags(outcome.head, fields: origins[download.url]?.tagFields ?? [])
    download.add(tagsOfOrigin: named.all, checkedAgainst: pictures.purges)
    if case .failed(let failure) = outcome, downloader.isInterruption(failure, of: download) { return .interrupted }
    if outcome.isOfHost { pictures.answers.unknownNames.forget(download.mergeKey.key) }
    return switch (outcome, content) {
    case (.received(let result), .success(let picture)): .ended(received(result, picture, download))
    case (.received(let result), .failure(let reason)):
      .ended(.failure(FetchFailure(error: .notAnImage(reason), head: result.head)))
    case (.received(let result), nil): confirmed(result, download, keepsGroups: named.groups == nil)
    case (.redirected(let redirect), _): .redirected(redirected(redirect, download))
    case (.failed(let failure), _) where isAboutURL(failure, of: download):
      .refused(FetchFailure(failure), download.sentURL)
    case (.failed(let failure), _): .ended(failed(failure, download))
    }
  }

  // MARK: A picture

  private func received(_ result: TransferResult, _ received: ReceivedPicture, _ download: MergedDownload)
    -> FetchOutcome
  {
    let (picture, directions) = (received.picture, received.directions)
    let key = download.mergeKey.key(keeping: result.head.pairs)
    removeAnswers(to: download)
    let accepted = settings.downloads.acceptTypes
    guard accepted.contains(where: { $0.rawValue == picture.format.name }) else {
      return .failure(FetchFailure(error: .unsupported(picture, accepted: accepted)))
    }
    let freshness = pictureFreshness(directions, for: key, download)
    let vary = download.mergeKey.outcome(varying: directions.varying)
    let image = CachedImage.make(
      key: key, body: ImageBody(result.payload, facts: ImageFacts(picture), checksum: received.checksum),
      answer: ImageAnswer(
        received.response, freshness: freshness, vary: vary, isFromPublicAddress: result.isFromPublicAddress),
      tags: download.tags, owner: download.owner, serial: download.serial, isPurged: download.isPurgedEverywhere,
      checked: download.checked, stored: moment)
    keep(image, of: download)
    return .image(DeliveredImage(image: image, source: .network))
  }

  /// The origin has confirmed what is stored (304).
  private func confirmed(_ result: TransferResult, _ download: MergedDownload, keepsGroups: Bool)
    -> MergedDownload.Settlement
  {
    guard let stored = download.confirming else {
      return .ended(.failure(FetchFailure(error: .confirmedForClient, head: result.head)))
    }
    let response = stored.response
    let headers = response.headers.confirmed(with: result.head.pairs)
    let key = download.mergeKey.key(keeping: headers)
    let freshness =
      stored.isPicture
      ? pictureFreshness(
        AnswerDirections(status: response.status, headers, now: fleet.wallSeconds), for: key, download)
      : answerFreshness(of: headers, status: response.status, response.redirectTarget, for: key, download)
    let image = stored.renewed(
      under: key,
      answer: ImageAnswer(
        StoredResponse(status: response.status, headers: headers, redirectTarget: response.redirectTarget),
        freshness: freshness, vary: download.mergeKey.outcome(of: headers)), tags: download.tags,
      keepsGroups: keepsGroups, serial: download.serial, isPurged: download.isPurgedEverywhere,
      checked: download.checked, stored: moment)
    guard stored.isPicture else { return confirmed(answer: image, download) }
    removeAnswers(to: download)
    keep(image, of: download)
    // It may have been purged by a tag that its origin gives it only now: what is stored does not have that.
    if download.isPurgedEverywhere { _ = pictures.remove(stored.key, olderThan: download.serial) }
    return .ended(.image(DeliveredImage(image: image, source: .revalidated)))
  }

  private func confirmed(answer: CachedImage, _ download: MergedDownload) -> MergedDownload.Settlement {
    if mayRemember(download) {
      removeAnswers(to: download)
      pictures.keep(answer: answer)
      share(answer, of: download)
    }
    if let redirect = answer.redirect { return .redirected(redirect) }
    return .ended(.failure(FetchFailure(remembered: answer, at: loop.now)))
  }

  /// The freshness of a picture, which is all that the operator's least lifetime is about.
  private func pictureFreshness(_ directions: AnswerDirections, for key: CacheKey, _ download: MergedDownload)
    -> Freshness
  {
    freshness(directions, ttl: ttl(of: download), floor: origins[download.url]?.minFresh, for: key, download)
  }

  private func freshness(
    _ directions: AnswerDirections, ttl: Duration?, silence: Duration? = nil, floor: Duration? = nil,
    for key: CacheKey, _ download: MergedDownload
  ) -> Freshness {
    // The answer may have been made when the exchange began. HTTP counts whole seconds.
    let delay = download.begunAt.map { (loop.now - $0).components.seconds } ?? 0
    return Freshness(
      directions, rules: FreshnessRules(settings.http),
      terms: FreshnessTerms(
        ttl: ttl, silence: silence, floor: floor, isScoped: key.scope != nil,
        isOpenedByCredentials: !download.mergeKey.credentialNames.isEmpty), receivedAt: fleet.wallSeconds,
      delay: .seconds(delay))
  }

  private var moment: StoredMoment { StoredMoment(loop.now, wall: WallClock.seconds) }

  private func ttl(of download: MergedDownload) -> Duration? {
    download.wishes.compactMap(\.ttl).min().map { .seconds($0) }
  }

  /// Keeps a picture where any waiter wants it kept, or, for an orphan, where its last waiter wanted it.
  private func keep(_ image: CachedImage, of download: MergedDownload) {
    // Another configuration has come, by which no request finds this key.
    guard download.isForKeeping, origins.isKey(download.url) else { return }
    if !download.isPurged { downloader.overtake(by: download) }
    let wanted = download.wishes.reduce(into: Tiers()) { $0.formUnion($1.tiers) }
    let tiers = Tiers.all.subtracting(download.closedTiers)
    pictures.keep(image, wanted: wanted, in: tiers)
    // Where it replaces something under another key, the origin has begun or ceased to let everybody have it.
    for key in download.keys where key != image.key { _ = pictures.remove(key, olderThan: download.serial) }
    fleet.keep(image, of: download)
  }

  // MARK: No picture

  private func redirected(_ redirect: TransferRedirect, _ download: MergedDownload) -> Redirect {
    let hop = Redirect(target: redirect.target, isFromPublicAddress: redirect.isFromPublicAddress)
    if let answer = remember(redirect.head, hop, of: download) { share(answer, of: download) }
    return hop
  }

  /// Whether a failure is about the signature of a URL: it removes nothing, and is not remembered.
  private func isAboutURL(_ cause: TransferFailure, of download: MergedDownload) -> Bool {
    [400, 401, 403].contains(cause.status) && origins.mayRefuse(download.url)
  }

  private func failed(_ cause: TransferFailure, _ download: MergedDownload) -> FetchOutcome {
    let failure = FetchFailure(cause)
    if [404, 410].contains(cause.status) {
      forget(download)
      if mayRemember(download) { removeAnswers(to: download) }
    }
    let rule = settings.http.negativeFreshness
    if cause.kind == .dns, rule > .zero, !download.isPurged, download.mergeKey.headers.isEmpty, download.isForKeeping {
      pictures.answers.unknownNames.note(
        failure, for: download.mergeKey.key, lasting: min(rule, Self.longestUnknownName), at: loop.now)
    }
    let answer = cause.isAnswer ? cause.head.flatMap { remember($0, nil, of: download) } : nil
    if [404, 410].contains(cause.status), isAboutStored(download) { share(answer, of: download) }
    return .failure(failure)
  }

  /// Removes a picture that its origin no longer has: the answer that says so takes its place. A client that accepts
  /// stored pictures of any age must not be shown for ever one that was taken down.
  ///
  /// A request with headers of its own may have been refused because of them: the answer is only about what was stored
  /// for requests like it, or about what it asked the origin to confirm.
  private func forget(_ download: MergedDownload) {
    guard isAboutStored(download) else { return }
    if removePicture(of: download) { downloader.overtake(by: download) }
  }

  private func isAboutStored(_ download: MergedDownload) -> Bool {
    download.isForKeeping && !download.isPurged
      && (download.mergeKey.headers.isEmpty || download.mergeKey.key.variant != nil || download.confirming != nil)
  }

  /// Has other hosts know an answer without a picture, or nothing of what it has replaced.
  private func share(_ answer: CachedImage?, of download: MergedDownload) {
    let named = answer.map { answer in
      AnswerDirections(status: answer.response.status, answer.response.headers.list, now: fleet.wallSeconds)
        .namesLifetime
    }
    fleet.keep(answer: answer, named: named ?? false, of: download)
  }

  /// Remembers an answer for as long as HTTP permits a cache to, in place of the one before.
  private func remember(_ head: ResponseHead, _ redirect: Redirect?, of download: MergedDownload) -> CachedImage? {
    guard mayRemember(download) else { return nil }
    let headers = head.pairs
    let key = download.mergeKey.key(keeping: headers)
    let freshness = answerFreshness(of: headers, status: head.status, redirect?.target, for: key, download)
    let response = StoredResponse(
      status: head.status, headers: RememberedAnswers.fitting(headers), redirectTarget: redirect?.target)
    guard freshness.refusal == nil, redirect != nil || isOfUse(freshness, response), !isOutranked(head.status, download)
    else { return nil }
    removeAnswers(to: download)
    let answer = CachedImage.make(
      key: key, body: ImageBody(Payload([]), facts: .none, checksum: .unknown),
      answer: ImageAnswer(
        response, freshness: freshness, vary: download.mergeKey.outcome(of: headers),
        isFromPublicAddress: redirect?.isFromPublicAddress ?? false), tags: download.tags, owner: download.owner,
      serial: download.serial, checked: download.checked, stored: moment)
    pictures.keep(answer: answer)
    return answer
  }

  /// Whether a failure can serve as an answer later: for a while, once it has been confirmed, or in place of an origin
  /// that fails. A redirect of any age is of use to clients that accept any age.
  private func isOfUse(_ freshness: Freshness, _ response: StoredResponse) -> Bool {
    if response.canBeConfirmed { return true }
    guard !freshness.needsConfirmation else { return false }
    return freshness.remaining > .zero || freshness.staleWhileRevalidate > .zero
      || freshness.staleIfError ?? settings.http.staleIfError > .zero
  }

  /// Whether there is an earlier answer that may stand in for an origin in trouble.
  private func isOutranked(_ status: Int, _ download: MergedDownload) -> Bool {
    guard status >= 500, let earlier = pictures.answers.find(download.mergeKey), earlier.response.status < 500 else {
      return false
    }
    let state = earlier.state(at: loop.now)
    return state.isUsable || state.mayStandIn(for: state.staleIfError ?? settings.http.staleIfError)
  }

  private func removePicture(of download: MergedDownload) -> Bool {
    let wasThere = pictures.remove(download.mergeKey, olderThan: download.serial)
    guard let confirmed = download.confirming?.key, confirmed != download.mergeKey.key else { return wasThere }
    return pictures.remove(confirmed, olderThan: download.serial) || wasThere
  }

  private func removeAnswers(to download: MergedDownload) {
    for key in download.keys { pictures.answers.remove(key, olderThan: download.serial) }
  }

  /// Whether the answer may be remembered: one to a condition of the client's own may be right for nobody else.
  private func mayRemember(_ download: MergedDownload) -> Bool {
    !download.isPurged && !download.mergeKey.hasCondition && download.isForKeeping
  }

  /// The freshness of an answer without a picture. A lifetime that a request has set applies to its picture, and so to
  /// the redirects on the way there, but to no failure.
  private func answerFreshness(
    of headers: HeaderList, status: Int, _ target: String?, for key: CacheKey, _ download: MergedDownload
  ) -> Freshness {
    let silence = AnswerLifetime.ofSilence(status: status, headers: headers, rule: settings.http.negativeFreshness)
    return freshness(
      AnswerDirections(status: status, headers, now: fleet.wallSeconds),
      ttl: target == nil ? nil : ttl(of: download), silence: silence, for: key, download)
  }
}

extension TransferReport.Content {
  fileprivate var isPicture: Bool { if case .success = self { true } else { false } }
}

extension TransferOutcome {
  /// Whether a host has answered, so that its name is known.
  fileprivate var isOfHost: Bool { if case .failed(let failure) = self { failure.head != nil } else { true } }
}

extension TransferFailure {
  /// Whether it is a whole answer whose status says that no picture comes with it.
  fileprivate var isAnswer: Bool { kind == .httpStatus || kind == .emptyBody && (status == 204 || status == 205) }
}

extension ImageFacts {
  init(_ picture: PictureMeasures) {
    self.init(
      format: picture.format.rawValue, width: picture.width, height: picture.height, frames: picture.frames,
      orientation: picture.orientation | (picture.isOpaque ? Self.opaque : 0))
  }

  /// Kept with the orientation, and so with what is on disk. Pictures that were stored without it may have alpha.
  private static let opaque = 0x80

  /// Whether nothing can be seen through the picture, as far as its file says so.
  var isOpaque: Bool { !pictureFormat.hasAlpha || Int(orientation) & Self.opaque != 0 }

  /// 1 for a picture that is upright as it is stored.
  var exifOrientation: Int { Int(orientation) & ~Self.opaque }

  var pictureFormat: PictureFormat {
    guard let known = PictureFormat(rawValue: format) else {
      preconditionFailure("an image is stored with a format that was recognised")
    }
    return known
  }
}

extension MergeKey {
  func outcome(of headers: HeaderList) -> VaryOutcome { outcome(varying: varyingNames(headers)) }

  func outcome(varying names: [String]) -> VaryOutcome {
    names.isEmpty ? .none : VaryOutcome(varying: names, fields: fields, owner: owner)
  }
}

extension ResponseHead {
  /// The headers that belong to the answer itself.
  var pairs: HeaderList { StoredHeaders.storable(headers.map { ($0.name, $0.value) }) }
}
