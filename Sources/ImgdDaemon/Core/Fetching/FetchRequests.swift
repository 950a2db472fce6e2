// The way in for a fetch: request → picture at hand, or a key and a job.
//
// A plain hit ends here, in the same call, without a job and without leaving the loop. A request that has to wait
// becomes a `FetchJob`, which `FetchPipeline` carries out.

import ImgdCache
import ImgdSystem
import ImgdWire

final class FetchRequests: FetchPart {
  let ground: FetchGround
  private let jobs: FetchJobs
  private let hits: PlainHits
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
    let mayBeReady = request.isPlain && !jobs.isDraining && jobs.isUnknown(request.receipt)
    if mayBeReady, ready.answer(request, id: id, to: client) { return }
    let digest = mayBeReady ? ready.digest(of: request, from: client) : nil
    if let digest, ready.answer(request, under: digest, id: id, to: client) { return }
    do throws(WireError) { try accept(request, digest, id: id, from: client) } catch {
      client.refuse(id: id, receipt: request.receipt, url: request.url, error)
    }
  }

  // MARK: Accepting

  /// `digest` belongs to the URL as it was written, where it has been computed.
  private func accept(_ request: FetchRequest, _ digest: KeyDigest?, id: RequestID, from client: ReplyPlace)
    throws(WireError)
  {
    guard !jobs.isDraining else { throw .shuttingDown }
    let url: CanonicalURL
    do throws(URLProblem) { url = try CanonicalURL.parse(request.url) } catch {
      let refusal = WireError.of(error)
      let target = FetchJobs.Refused(slot: request.slot, id: id, receipt: request.receipt, url: request.url)
      return jobs.refuse(target, refusal, to: client)
    }
    try check(request, from: client)
    let isAsWritten = url.text.utf8.elementsEqual(request.url.utf8)
    let mergeKey = MergeKey(
      request, url, uid: client.peer.uid, credentials: credentials, digest: isAsWritten ? digest : nil)
    let job = FetchJob(
      receipt: request.receipt ?? hits.nextReceipt(), id: id, request: request, url: url, mergeKey: mergeKey,
      uid: client.peer.uid, startedAt: loop.now, allowance: request.allowance(within: settings.downloads))
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
  private func check(_ request: FetchRequest, from client: ReplyPlace) throws(WireError) {
    if let receipt = request.receipt { try jobs.checkIsFree(receipt, for: client.peer.uid) }
    guard jobs.hasRoom(on: client, inSlot: request.slot) else { throw .tooManyReceipts(limit: client.limits.receipts) }
    if let refusal = jobs.shares.refusal(of: request.weight, from: client.claimant, client.limits) { throw refusal }
  }
}
