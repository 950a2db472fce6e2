// The way in for a fetch: request → picture at hand, or a key and a job.
//
// A plain hit ends here, in the same call, without a job and without leaving the loop. A request that has to wait
// becomes a `FetchJob`, which `FetchPipeline` carries out.

import ImgdCache
import ImgdDecode
import ImgdSystem
import ImgdWire

final class FetchRequests: FetchPart {
  let ground: FetchGround
  let jobs: FetchJobs
  let hits: PlainHits
  private let pipeline: FetchPipeline
  private let ready: ReadyAnswers
  private(set) var settings: Configuration
  private var credentials: CredentialNames

  init(_ ground: FetchGround, jobs: FetchJobs, hits: PlainHits, pipeline: FetchPipeline, settings: Configuration) {
    self.ground = ground
    self.jobs = jobs
    self.hits = hits
    self.pipeline = pipeline
    self.settings = settings
    credentials = CredentialNames(settings.http)
    ready = ReadyAnswers(ground, hits: hits, mostRedirects: settings.downloads.maxRedirects)
  }

  func apply(_ settings: Configuration) {
    self.settings = settings
    credentials = CredentialNames(settings.http)
    ready.mostRedirects = settings.downloads.maxRedirects
  }

  /// Answers a fetch, or accepts it and answers later.
  func fetch(_ request: FetchRequest, id: RequestID, from client: ReplyPlace) {
    let mayBeReady =
      request.isPlain && !jobs.isDraining && jobs.isUnknown(request.receipt) && (origins.isEmpty || isByKey(request))
      && own.mayBeReady(for: client.peer.uid)
    if mayBeReady, ready.answer(request, id: id, to: client) { return }
    let digest = mayBeReady ? ready.digest(of: request, from: client) : nil
    if let digest, request.tags.isEmpty, ready.answer(request, under: digest, id: id, to: client) { return }
    do throws(WireError) { try accept(request, digest, id: id, from: client) } catch {
      client.refuse(id: id, receipt: request.receipt, url: request.url, error)
    }
  }

  /// Whether a request names the URL of a key, and not another one of the same key.
  private func isByKey(_ request: FetchRequest) -> Bool {
    (try? CanonicalURL.parse(request.url)).map(origins.isKey) ?? true
  }

  // MARK: Accepting

  /// `digest` belongs to the URL as it was written, where it has been computed.
  private func accept(_ request: FetchRequest, _ digest: KeyDigest?, id: RequestID, from client: ReplyPlace)
    throws(WireError)
  {
    guard !jobs.isDraining else { throw .shuttingDown }
    if request.isOfDescriptor { return try acceptDescriptor(request, id: id, from: client) }
    let url: CanonicalURL
    do throws(URLProblem) { url = try CanonicalURL.parse(request.url) } catch {
      let refusal = WireError.of(error)
      let target = FetchJobs.Refused(slot: request.slot, id: id, receipt: request.receipt, url: request.url)
      return jobs.refuse(target, refusal, to: client)
    }
    try check(request, weight: request.weight, from: client)
    let isAsWritten = sameBytes(url.text, request.url)
    let mergeKey = MergeKey(
      request, origins.key(of: url), uid: client.peer.uid, isOwn: own.isForAll, credentials: credentials,
      digest: isAsWritten ? digest : nil)
    let put =
      request.cache.usesUnconfirmed && request.identifier == nil
      ? own.key(of: mergeKey.key.url, for: client.peer.uid) : nil
    let job = FetchJob(
      receipt: request.receipt ?? hits.nextReceipt(), id: id, request: request, url: url, mergeKey: mergeKey,
      uid: client.peer.uid, entryTags: access.tags(request.tags, claimedBy: client.peer.uid), startedAt: loop.now,
      allowance: request.allowance(within: settings.downloads), own: put.map(mergeKey.moved))
    lineUp(job, from: client)
  }

  /// Has a fetch begin when its slot is free.
  func lineUp(_ job: FetchJob, from client: ReplyPlace) {
    job.client = client
    job.owner = client
    job.claimant = client.claimant
    jobs.makeRoom(for: job, on: client) { [unowned self] in begin(job, on: client) }
  }

  /// Another client may have used the receipt while the slot was being freed.
  private func begin(_ job: FetchJob, on client: ReplyPlace) {
    guard jobs[job.receipt] == nil else {
      return client.refuse(id: job.id, receipt: job.receipt, url: job.request.url, .duplicate(job.receipt))
    }
    jobs.begin(job, on: client)
    pipeline.begin(job)
  }

  /// Makes all the checks that may refuse a request, before it has any effect.
  func check(_ request: FetchRequest, weight: Int, from client: ReplyPlace) throws(WireError) {
    if let receipt = request.receipt { try jobs.checkIsFree(receipt, for: client.peer.uid) }
    guard jobs.hasRoom(on: client, inSlot: request.slot) else { throw .tooManyReceipts(limit: client.limits.receipts) }
    if let refusal = jobs.shares.refusal(of: weight, from: client.claimant, client.limits) { throw refusal }
  }
}

// The answers that are given in the same call: hits for the usual request, which names nothing but a URL.

/// Answers requests whose pictures are at hand.
final class ReadyAnswers: FetchPart {
  let ground: FetchGround
  private let hits: PlainHits
  /// How many remembered redirects are followed.
  var mostRedirects: Int

  init(_ ground: FetchGround, hits: PlainHits, mostRedirects: Int) {
    self.ground = ground
    self.hits = hits
    self.mostRedirects = mostRedirects
  }

  /// Answers a fetch with a picture in memory, if there is one.
  func answer(_ request: FetchRequest, id: RequestID, to client: ReplyPlace) -> Bool {
    answerFromMemory(request, id: id, to: client) || answerAlongRedirects(request, id: id, to: client)
  }

  /// The whole way of a hit in memory for the usual request, which names nothing but a URL.
  ///
  /// It takes no job and no lasting allocation. A URL that is not in canonical form goes the long way: no image is kept
  /// under such a URL.
  private func answerFromMemory(_ request: FetchRequest, id: RequestID, to client: ReplyPlace) -> Bool {
    let variant = request.plainVariant(of: client.peer.uid, isOwn: own.isForAll)
    guard let image = pictures.readyImage(for: request, variant) else { return false }
    claim(image, tagging: request.hasExtras ? request.tags : [], for: client)
    return answer(request, with: image, id: id, to: client)
  }

  /// Answers with a picture that is known under another URL, to which remembered redirects lead.
  private func answerAlongRedirects(_ request: FetchRequest, id: RequestID, to client: ReplyPlace) -> Bool {
    guard request.identifier == nil, !own.isForAll, request.tags.isEmpty,
      let image = pictures.readyImage(redirectedFrom: request.url, atMost: mostRedirects)
    else { return false }
    claim(image, tagging: [], for: client)
    return answer(request, with: image, finalURL: image.url.text, id: id, to: client)
  }

  private func claim(_ image: CachedImage, tagging tags: [String], for client: ReplyPlace) {
    guard !tags.isEmpty || access.keepsClaims && !image.isClaimed(by: client.peer.uid) else { return }
    pictures.add(access.tags(tags, claimedBy: client.peer.uid), to: image)
  }

  /// Answers with a picture in memory, unless its file has to be waited for.
  private func answer(
    _ request: FetchRequest, with image: CachedImage, finalURL: String? = nil, id: RequestID, to client: ReplyPlace
  ) -> Bool {
    if finalURL == nil, let hit = hits.hit(image, nil, request.showing, for: client) {
      let elapsed = recordHit(request, of: image)
      let id = id.written
      hits.answer(hit, id: id.span, receipt: request.receipt, after: elapsed, to: client)
      return true
    }
    guard let delivered = DeliveredImage(ready: image, finalURL: finalURL, describing: request.describe) else {
      return false
    }
    var lending: PathLending?
    if request.delivery == .path {
      lending = pictures.disk.lend(image, mayStore: request.keepsOnDisk)
      if lending == .waiting { return false }
    }
    _ = recordHit(request, of: image)
    let receipt = request.receipt ?? hits.nextReceipt()
    let recipient = Recipient(client, request, id: id, receipt: receipt, startedAt: loop.now)
    answers.write(.image(delivered), to: recipient, path: lending.map { PictureLine.Path($0, of: image) })
    hub.hit(receipt, url: request.url, of: client.peer.uid, from: .memory)
    return true
  }

  /// Counts and logs a hit in memory; returns how long it took, in nanoseconds.
  private func recordHit(_ request: FetchRequest, of image: CachedImage) -> Int64 {
    pictures.memory.noteUse(of: image, at: loop.now)
    let elapsed = hits.recordHit()
    FetchLog.hit(request, from: .memory, bytes: image.byteCount, after: elapsed)
    return elapsed
  }

  /// Answers a plain fetch with a picture that only the disk has, as far as the disk tier has it at hand.
  func answer(_ request: FetchRequest, under digest: KeyDigest, id: RequestID, to client: ReplyPlace) -> Bool {
    guard !(client.isFull && request.delivery.bringsBytes), !request.describe,
      let hit = pictures.readyHit(
        for: request, request.plainVariant(of: client.peer.uid, isOwn: own.isForAll), digest,
        owner: access.keepsClaims ? client.peer.uid : nil)
    else { return false }
    let receipt = request.receipt ?? hits.nextReceipt()
    let elapsed = hits.recordHit()
    let (details, version) = (hit.details, hit.version)
    FetchLog.hit(request, from: .disk, bytes: details.bytes, after: elapsed)
    if let url = try? CanonicalURL.parse(request.url) { ledger.countFetch(of: url, endedWith: .disk) }
    var line = PictureLine(
      picture: ShownPicture(details, url: request.url),
      path: request.delivery == .path ? .lent(details.path) : .notWanted)
    switch hit.takeContent() {
    case .none: break
    case .bytes(let payload): line.content = .inline(payload)
    case .descriptor(let file):
      line.content = .descriptor(LentPicture(version, mayBeKept: true))
      client.attach(file)
    }
    line.write(to: client, id: id, receipt: receipt, after: elapsed)
    hub.hit(receipt, url: request.url, of: client.peer.uid, from: .disk)
    return true
  }

  /// The digest under which the disk has the picture of a plain request.
  func digest(of request: FetchRequest, from client: ReplyPlace) -> KeyDigest {
    KeyDigest(
      url: request.url, identifier: request.identifier,
      variant: request.plainVariant(of: client.peer.uid, isOwn: own.isForAll))
  }
}
