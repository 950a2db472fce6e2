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
    let mayBeReady =
      request.isPlain && !jobs.isDraining && jobs.isUnknown(request.receipt) && (origins.isEmpty || isByKey(request))
    if mayBeReady, ready.answer(request, id: id, to: client) { return }
    let digest = mayBeReady ? ready.digest(of: request, from: client) : nil
    if let digest, ready.answer(request, under: digest, id: id, to: client) { return }
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
    let url: CanonicalURL
    do throws(URLProblem) { url = try CanonicalURL.parse(request.url) } catch {
      let refusal = WireError.of(error)
      let target = FetchJobs.Refused(slot: request.slot, id: id, receipt: request.receipt, url: request.url)
      return jobs.refuse(target, refusal, to: client)
    }
    try check(request, from: client)
    let isAsWritten = sameBytes(url.text, request.url)
    let mergeKey = MergeKey(
      request, origins.key(of: url), uid: client.peer.uid, credentials: credentials, digest: isAsWritten ? digest : nil)
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
    hub.hit(receipt, url: request.url, from: .memory)
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
  /// The picture that was asked for, whose age is told.
  let original: CachedImage
  /// What is shown: that picture, or a form of it.
  let image: CachedImage
  /// The fields that all answers with the picture share, encoded.
  let facts: [UInt8]
  let details: [UInt8]
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
  private let renditions: Renditions
  private let hub: EventHub
  private let turns: Turns
  private let loop: EventLoop
  private let jobs: FetchJobs
  private let commands: CommandCounter
  /// What so many pictures need stays near the processor by itself.
  var mostNear = 512
  private var receipts = ReceiptSource()
  /// The tags of the lines of one read; the room for them is kept.
  private var tags: [UInt32] = []
  /// How many hits were answered without parsing their lines.
  private(set) var count = 0
  /// How long hits took.
  private(set) var latency = LatencyHistogram()

  init(_ ground: FetchGround, jobs: FetchJobs, commands: CommandCounter) {
    pictures = ground.pictures
    memory = ground.pictures.memory
    disk = ground.pictures.disk
    answers = ground.answers
    renditions = ground.preparation.renditions
    hub = ground.hub
    turns = ground.turns
    loop = ground.loop
    self.jobs = jobs
    self.commands = commands
  }

  var looksAhead: Bool { memory.count > mostNear }

  /// Prepares to answer several lines, most of which will be hits.
  func prepare(_ ahead: LinesAhead, in bytes: Span<UInt8>) {
    tags.removeAll(keepingCapacity: true)
    for index in ahead.lines.indices {
      let line = ahead.lines[index]
      let url = line.found.parts.url
      let start = line.place.lowerBound
      let tag = memory.tag(ofPlain: bytes.extracting(start + url.lowerBound..<start + url.upperBound))
      ahead.lines[index].found.tag = tag
      tags.append(tag)
    }
    // One picture asked for again and again is in the nearest memory already.
    if tags.contains(where: { $0 != tags[0] }) { memory.prefetch(tags) }
  }

  /// Answers a line of a known shape; false when it has to go the long way.
  func answer(
    _ line: Span<UInt8>, _ found: KnownShape.Found, in form: WantedRendition?, to client: ReplyPlace
  ) -> Bool {
    let now = loop.now
    guard !jobs.isDraining, jobs.isUnknown(found.parts.receipt),
      let image = memory.peekReady(line.extracting(found.parts.url), tag: found.tag, at: now),
      let hit = found.parts.tag.isEmpty
        ? hit(image, form, found.showing, for: client)
        : hit(image, unlessTagged: line.extracting(found.parts.tag), found.showing, for: client)
    else { return false }
    count += 1
    commands.countCommand()
    memory.noteUse(of: hit.image, at: now)
    if !hit.original.hasBody { memory.touch(hit.original, at: now) }
    let elapsed = turns.lastLook.nanoseconds - now.nanoseconds
    latency.record(elapsed)
    answer(hit, id: line.extracting(found.parts.id), receipt: found.parts.receipt, after: elapsed, to: client)
    return true
  }

  /// The hit for a client that has the version with a tag: it is told so if that is the picture's own.
  @inline(never) private func hit(
    _ image: CachedImage, unlessTagged tag: Span<UInt8>, _ showing: FetchRequest.Showing, for client: ReplyPlace
  ) -> PlainHit? {
    guard image.vary == .none else { return nil }
    memory.touch(image, at: loop.now)
    let confirmation = pictures.confirmation(of: image)
    guard confirmation.isAbout(tag) else { return hit(image, nil, showing, for: client) }
    return PlainHit(
      original: image, image: image, facts: confirmation.facts, details: [], ending: confirmation.ending)
  }

  /// Answers a hit that was found either way; the time that it took has been recorded.
  @inline(__always) func answer(
    _ hit: PlainHit, id: Span<UInt8>, receipt: ReceiptID?, after nanoseconds: Int64, to client: ReplyPlace
  ) {
    let now = loop.now
    let receipt = receipt ?? receipts.next()
    let numbers = FetchLine.Numbers(
      receipt: receipt, age: hit.original.age(at: now), freshFor: hit.original.freshFor(at: now),
      elapsedNanoseconds: nanoseconds)
    client.write(numbers, id: id, facts: hit.facts, details: hit.details, ending: hit.ending)
    if hit.isInline { client.write(hit.image) }
    if hub.hasSubscribers(to: .jobs) { hub.hit(receipt, url: hit.image.url.text, from: .memory) }
  }

  /// The hit for a picture, in the form and as the request wants it shown. Nil if something has to be found out first, or
  /// if the client has to take earlier output first. A descriptor is attached to the line that is written next.
  @inline(__always) func hit(
    _ original: CachedImage, _ form: WantedRendition?, _ showing: FetchRequest.Showing, for client: ReplyPlace
  ) -> PlainHit? {
    guard let form else { return hit(original, of: original, showing, for: client) }
    return made(form, of: original, showing, for: client)
  }

  @inline(never) private func made(
    _ form: WantedRendition, of original: CachedImage, _ showing: FetchRequest.Showing, for client: ReplyPlace
  ) -> PlainHit? {
    switch form.choice(for: original.facts, writable: renditions.writable) {
    case .original: hit(original, of: original, showing, for: client)
    case .form(let form): memory.form(form.text, of: original).flatMap { hit($0, of: original, showing, for: client) }
    case .refused: nil
    }
  }

  @inline(__always) private func hit(
    _ image: CachedImage, of original: CachedImage, _ showing: FetchRequest.Showing, for client: ReplyPlace
  ) -> PlainHit? {
    guard let facts = image.replyPieces else { return nil }
    var details: [UInt8] = []
    if image !== original { details = FetchLine.details(framesOf: original.facts.frames, in: image.facts) }
    if showing.http || showing.describe {
      guard let known = self.details(of: image, original, showing) else { return nil }
      details += known
    }
    let ending: [UInt8]
    switch showing.delivery {
    case .none: ending = FetchLine.plainEnding
    case .path:
      guard let file = disk.lendAgain(image) else { return nil }
      ending = FetchLine.ending(of: file)
    case .inline:
      guard !client.isFull, answers.mayBeInline(image) else { return nil }
      ending = FetchLine.inlineEnding
    case .fd, .pixels:
      // Kept first: that may evict pictures, and a client that hears of it would get the descriptor with the event.
      memory.touch(image, at: loop.now)
      ending = pictures.lentEnding(of: image)
      guard attach(image, to: client) else { return nil }
    }
    return PlainHit(
      original: original, image: image, facts: facts, details: details, ending: ending,
      isInline: showing.delivery == .inline)
  }

  /// The origin's answer and the placeholder, as far as they are wanted; nil if the picture has not been described yet.
  @inline(never) private func details(
    of image: CachedImage, _ original: CachedImage, _ showing: FetchRequest.Showing
  ) -> [UInt8]? {
    memory.touch(image, at: loop.now)
    let response = showing.http ? pictures.encodedResponse(of: image) : []
    guard showing.describe else { return response }
    return PictureDescription(packed: original.description).map { response + FetchLine.details(of: .description($0)) }
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
