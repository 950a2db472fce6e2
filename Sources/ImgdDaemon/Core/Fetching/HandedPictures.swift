// Pictures that clients hand in: kept under a URL (`put`), or shown to the client in the form that it wants (`fetch` of
// a descriptor). Both wait for their copy like any fetch for its download.

import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdWire

/// What a request brings.
struct HandedIn {
  let file: HandedFile
  /// The number of the request among all that bring pictures: it is a new version, and earlier downloads are not.
  let serial: UInt64
  /// The last purge before it came.
  let checked: UInt64
  /// Announces it to the tiers where it is kept under the request's own key; nil elsewhere.
  let arrival: LatestPictures.Arrival?

  var isPut: Bool { arrival != nil }
}

extension FetchRequests {
  /// Keeps a picture under a URL; answered like a fetch of it, when it is in the cache.
  func put(_ put: PutRequest, id: RequestID, from client: ReplyPlace) {
    do throws(WireError) { try accept(put, id: id, from: client) } catch {
      client.refuse(id: id, receipt: nil, url: put.url, error)
    }
  }

  private func accept(_ put: PutRequest, id: RequestID, from client: ReplyPlace) throws(WireError) {
    guard !jobs.isDraining else { throw .shuttingDown }
    let url: CanonicalURL
    do throws(URLProblem) { url = try CanonicalURL.parse(put.url) } catch { throw .of(error) }
    let isForAll = try own.putIsForAll(put, by: client)
    if client.handed.last != nil, put.data != nil { throw .twoPictures }
    guard let file = client.handed.last ?? put.data.map({ HandedFile(.base64($0)) }) else { throw .noPicture }
    var request = FetchRequest(url: put.url)
    request.delivery = .none
    request.extras.tags = put.tags
    request.extras.ttl = put.ttl
    let uid = client.peer.uid
    let key = CacheKey(url: origins.key(of: url), variant: isForAll ? nil : KeyVariant(of: uid))
    let mergeKey = MergeKey(key: key, owner: key.variant, headers: [])
    try begin(request, at: url, mergeKey, bringing: file, isPut: true, id: id, from: client)
  }

  /// Accepts a fetch of a picture whose descriptor came with its line.
  func acceptDescriptor(_ request: FetchRequest, id: RequestID, from client: ReplyPlace) throws(WireError) {
    guard let file = client.handed.last else { throw .noDescriptorCame }
    if let field = request.fieldOfOrigin {
      throw WireError(
        .badRequest, "\"\(field)\" is about an origin, and a descriptor has none: leave it out",
        details: ["field": .string(field)])
    }
    let url = CanonicalURL.ofDescriptor
    let mergeKey = MergeKey(key: CacheKey(url: url), owner: nil, headers: [])
    try begin(request, at: url, mergeKey, bringing: file, isPut: false, id: id, from: client)
  }

  private func begin(
    _ request: FetchRequest, at url: CanonicalURL, _ mergeKey: MergeKey, bringing file: HandedFile, isPut: Bool,
    id: RequestID, from client: ReplyPlace
  ) throws(WireError) {
    try check(request, weight: request.weight + file.weight, from: client)
    // What is refused until here is closed with the line.
    client.handed = []
    let handed = HandedIn(
      file: file, serial: downloader.nextSerial(), checked: pictures.purges.newest,
      arrival: isPut ? pictures.latest.expect(mergeKey.key) : nil)
    let job = FetchJob(
      receipt: request.receipt ?? hits.nextReceipt(), id: id, request: request, url: url, mergeKey: mergeKey,
      uid: client.peer.uid, entryTags: access.tags(request.tags, claimedBy: client.peer.uid), startedAt: loop.now,
      allowance: request.allowance(within: settings.downloads), handed: handed)
    lineUp(job, from: client)
  }
}

extension FetchRequest {
  /// The first field that is about an origin, or about a name that is not the bytes themselves.
  fileprivate var fieldOfOrigin: String? {
    if identifier != nil { return "identifier" }
    if !headers.isEmpty { return "headers" }
    if ttl != nil { return "ttl" }
    return cache == .reload || cache == .noCache ? "cache" : nil
  }
}

extension FetchPipeline {
  /// Has what a client has handed in copied and recognised.
  func copy(_ handed: HandedIn, for job: FetchJob) {
    guard let client = job.client else { return }
    job.waitingFor = .copy(
      copies.copy(handed.file, within: job.allowance.bytes, for: client) { [unowned self] outcome in
        job.waitingFor = .disk
        receive(outcome, handed, for: job)
      })
    wait(for: job)
    tellStarted(job)
  }

  private func receive(_ outcome: HandedBytes.Outcome, _ handed: HandedIn, for job: FetchJob) {
    let accepted = settings.downloads.acceptTypes
    switch outcome {
    case .failure(let error): complete(job, .failure(FetchFailure(error: error)))
    case .success(let picture) where !accepted.contains { $0.rawValue == picture.measures.format.name }:
      complete(job, .failure(FetchFailure(error: .unsupported(picture.measures, accepted: accepted))))
    case .success(let picture) where handed.isPut: keep(picture, handed, for: job)
    case .success(let picture):
      let key = CacheKey(url: picture.url, variant: own.variantOfDescriptors(of: job.uid))
      carry(job, on: .handed(image(of: picture, handed, under: key, for: job), under: job.mergeKey.moved(to: key)))
    }
  }

  /// Keeps a picture under the URL of its request, in place of whatever was there.
  private func keep(_ picture: HandedPicture, _ handed: HandedIn, for job: FetchJob) {
    let key = job.mergeKey.key
    let image = image(of: picture, handed, under: key, for: job)
    if let uid = key.soleUser { own.note(uid) }
    pictures.answers.remove(key, olderThan: handed.serial)
    pictures.answers.unknownNames.forget(key)
    // Another configuration may have come, by which no request finds this key.
    if origins.isKey(key.url) {
      downloader.overtake(job.mergeKey, by: handed.serial)
      pictures.keep(image, wanted: .all, in: .all)
    }
    complete(job, .image(DeliveredImage(image: image, source: .client)))
  }

  /// Shows a client what it has handed in, and keeps that for those who have the same bytes.
  func show(handedIn image: CachedImage, to job: FetchJob) {
    pictures.keep(image, wanted: job.request.tiers, in: job.request.tiers)
    complete(job, .image(DeliveredImage(image: image, source: .client)))
  }

  private func image(
    of picture: HandedPicture, _ handed: HandedIn, under key: CacheKey, for job: FetchJob
  ) -> CachedImage {
    var rules = FreshnessRules(settings.http)
    // The same bytes are always the same picture.
    if !handed.isPut { rules.defaultLifetime = .seconds(WireLimits.seconds.upperBound) }
    let freshness = Freshness(
      status: 200, headers: [], rules: rules, terms: FreshnessTerms(ttl: job.request.ttl.map { .seconds($0) }),
      receivedAt: fleet.wallSeconds)
    return CachedImage.make(
      key: key, body: ImageBody(picture.payload, facts: ImageFacts(picture.measures), checksum: picture.checksum),
      answer: ImageAnswer(StoredResponse(status: 200, headers: []), freshness: freshness), tags: job.entryTags,
      owner: job.uid, serial: handed.serial, checked: handed.checked,
      stored: StoredMoment(loop.now, wall: WallClock.seconds))
  }
}

extension WireError {
  fileprivate static let noPicture = WireError(
    .badRequest, "\"put\" needs the picture: as \"data\", in base64, or as a descriptor sent with the line",
    details: ["field": "data"])
  fileprivate static let twoPictures = WireError(
    .badRequest, "the line has \"data\" and came with a descriptor: send one of both", details: ["field": "data"])
  fileprivate static let noDescriptorCame = WireError(
    .badRequest, "\"url\" was \"fd:\", which is for a descriptor sent with the line, and none came",
    details: ["field": "url"])
}
