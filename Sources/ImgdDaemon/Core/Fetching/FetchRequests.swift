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
    guard let image = pictures.readyImage(for: request, uid: client.peer.uid) else { return false }
    return answer(request, with: image, id: id, to: client)
  }

  /// Answers with a picture that is known under another URL, to which remembered redirects lead.
  private func answerAlongRedirects(_ request: FetchRequest, id: RequestID, to client: ReplyPlace) -> Bool {
    guard request.identifier == nil, let image = pictures.readyImage(redirectedFrom: request.url, atMost: mostRedirects)
    else { return false }
    return answer(request, with: image, finalURL: image.url.text, id: id, to: client)
  }

  /// Answers with a picture in memory, unless its file has to be waited for.
  private func answer(
    _ request: FetchRequest, with image: CachedImage, finalURL: String? = nil, id: RequestID, to client: ReplyPlace
  ) -> Bool {
    if finalURL == nil, let hit = hits.hit(image, request.showing, for: client) {
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
    hub.hit(receipt, url: request.url, from: .memory)
    return true
  }

  /// Counts and logs a hit in memory; returns how long it took, in nanoseconds.
  private func recordHit(_ request: FetchRequest, of image: CachedImage) -> Int64 {
    let elapsed = hits.recordHit()
    FetchLog.hit(request, from: .memory, bytes: image.byteCount, after: elapsed)
    return elapsed
  }

  /// Answers a plain fetch with a picture that only the disk has, as far as the disk tier has it at hand.
  func answer(_ request: FetchRequest, under digest: KeyDigest, id: RequestID, to client: ReplyPlace) -> Bool {
    guard !(client.isFull && request.delivery.bringsBytes), !request.describe,
      let hit = pictures.readyHit(for: request, digest, uid: client.peer.uid)
    else { return false }
    let receipt = request.receipt ?? hits.nextReceipt()
    let elapsed = hits.recordHit()
    let (details, version) = (hit.details, hit.version)
    FetchLog.hit(request, from: .disk, bytes: details.bytes, after: elapsed)
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
    hub.hit(receipt, url: request.url, from: .disk)
    return true
  }

  /// The digest under which the disk has the picture of a plain request.
  func digest(of request: FetchRequest, from client: ReplyPlace) -> KeyDigest {
    KeyDigest(url: request.url, identifier: request.identifier, variant: request.plainVariant(of: client.peer.uid))
  }
}

/// A hit in memory that can be answered at once, whether its request was read by the shape of its line or by the
/// parser.
struct PlainHit {
  let image: CachedImage
  /// The fields that all answers with the picture share, encoded.
  let facts: [UInt8]
  /// The end of the line, or what comes before the bytes that end it.
  let ending: [UInt8]
  /// Whether the picture's bytes end the line.
  var isInline = false
}

/// The shortest way for a fetch: from the varying parts of a line of a known shape to the answer, when the picture is
/// in memory and nothing has to be found out.
///
/// It does everything that the long way does for such a hit, or nothing.
final class PlainHits {
  // Each part is held directly: reaching it through another object would cost each hit a count of references.
  private let pictures: PictureTiers
  private let memory: MemoryTier
  private let disk: DiskTier
  private let answers: FetchAnswers
  private let hub: EventHub
  private let turns: Turns
  private let loop: EventLoop
  private let jobs: FetchJobs
  private let commands: CommandCounter
  private var receipts = ReceiptSource()
  /// How many hits were answered without parsing their lines.
  private(set) var count = 0
  /// How long hits took.
  private(set) var latency = LatencyHistogram()

  init(_ ground: FetchGround, jobs: FetchJobs, commands: CommandCounter) {
    pictures = ground.pictures
    memory = ground.pictures.memory
    disk = ground.pictures.disk
    answers = ground.answers
    hub = ground.hub
    turns = ground.turns
    loop = ground.loop
    self.jobs = jobs
    self.commands = commands
  }

  /// Answers a line of a known shape; false when it has to go the long way.
  func answer(_ line: Span<UInt8>, _ parts: LineShape.Parts, _ showing: FetchRequest.Showing, to client: ReplyPlace)
    -> Bool
  {
    let now = loop.now
    guard !jobs.isDraining, jobs.isUnknown(parts.receipt),
      let image = memory.peekReady(line.extracting(parts.url), at: now), let hit = hit(image, showing, for: client)
    else { return false }
    count += 1
    commands.countCommand()
    memory.noteUse(of: image, at: now)
    let elapsed = turns.lastLook.nanoseconds - now.nanoseconds
    latency.record(elapsed)
    let id = line.extracting(parts.id)
    answer(hit, id: id, receipt: parts.receipt, after: elapsed, to: client)
    return true
  }

  /// Answers a hit that was found either way; the time that it took has been recorded.
  @inline(__always) func answer(
    _ hit: PlainHit, id: Span<UInt8>, receipt: ReceiptID?, after nanoseconds: Int64, to client: ReplyPlace
  ) {
    let now = loop.now
    let receipt = receipt ?? receipts.next()
    let numbers = FetchLine.Numbers(
      receipt: receipt, age: hit.image.age(at: now), freshFor: hit.image.freshFor(at: now),
      elapsedNanoseconds: nanoseconds)
    client.write(numbers, id: id, facts: hit.facts, ending: hit.ending)
    if hit.isInline { client.write(hit.image.payload) }
    if hub.hasSubscribers(to: .jobs) { hub.hit(receipt, url: hit.image.url.text, from: .memory) }
  }

  /// The hit for an image, as the request wants it shown. Nil if something has to be found out first, or if the client
  /// has to take earlier output first. A descriptor is attached to the line that is written next.
  @inline(__always) func hit(_ image: CachedImage, _ showing: FetchRequest.Showing, for client: ReplyPlace) -> PlainHit?
  {
    guard let facts = image.replyPieces else { return nil }
    guard !showing.http, !showing.describe else { return detailedHit(image, facts, showing, for: client) }
    switch showing.delivery {
    case .none: return PlainHit(image: image, facts: facts, ending: FetchLine.plainEnding)
    case .path:
      guard let file = disk.lendAgain(image) else { return nil }
      return PlainHit(image: image, facts: facts, ending: FetchLine.ending(of: file))
    case .inline:
      guard !client.isFull, answers.mayBeInline(image) else { return nil }
      return PlainHit(image: image, facts: facts, ending: FetchLine.inlineEnding, isInline: true)
    case .fd:
      // Kept first: that may evict pictures, and a client that hears of it would get the descriptor with the event.
      let ending = pictures.lentEnding(of: image)
      guard attach(image, to: client) else { return nil }
      return PlainHit(image: image, facts: facts, ending: ending)
    case .pixels: return nil
    }
  }

  /// Makes a hit that includes the origin's status and headers, or a placeholder.
  @inline(never) private func detailedHit(
    _ image: CachedImage, _ facts: [UInt8], _ showing: FetchRequest.Showing, for client: ReplyPlace
  ) -> PlainHit? {
    guard let delivered = DeliveredImage(ready: image, describing: showing.describe) else { return nil }
    var line = PictureLine(picture: ShownPicture(delivered, url: image.url.text, at: loop.now))
    line.http = showing.http ? image.response : nil
    switch showing.delivery {
    case .none: break
    case .path:
      guard let file = disk.lendAgain(image) else { return nil }
      line.path = .lent(file.path)
    case .inline:
      guard !client.isFull, answers.mayBeInline(image) else { return nil }
      line.content = .inline(image.payload)
    case .fd:
      guard attach(image, to: client) else { return nil }
      line.content = .descriptor(LentPicture(image, among: pictures.purges))
    case .pixels: return nil
    }
    return PlainHit(image: image, facts: facts, ending: line.ending, isInline: showing.delivery == .inline)
  }

  /// Attaches a descriptor to the line that is written next; false if the long way has to say why it cannot.
  private func attach(_ image: CachedImage, to client: ReplyPlace) -> Bool {
    guard !client.isFull, let descriptor = try? pictures.openDescriptor(of: image) else { return false }
    client.attach(descriptor)
    return true
  }

  func nextReceipt() -> ReceiptID { receipts.next() }

  /// Records a hit as having taken the time since the tick began; returns that time in nanoseconds.
  func recordHit() -> Int64 {
    let elapsed = loop.moment.nanoseconds - loop.now.nanoseconds
    latency.record(elapsed)
    return elapsed
  }
}
