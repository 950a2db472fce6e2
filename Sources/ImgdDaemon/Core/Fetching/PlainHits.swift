// The hits that need no job: what is said of them, and the way to them from a line that was not parsed.

import ImgdCache
import ImgdDecode
import ImgdSystem
import ImgdWire

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
