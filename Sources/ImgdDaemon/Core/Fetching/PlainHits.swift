// The shortest way of a fetch: from the varying parts of a line to the answer.

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
  var details: [UInt8] = []
  let ending: Ending

  enum Ending {
    /// What all answers without a path, a descriptor or bytes end with.
    case plain
    /// The end that is kept with the picture and tells its path.
    case path
    case descriptor([UInt8])
    /// What comes before the bytes that end the line.
    case bytes
    /// The picture is not shown, since the client has it.
    case confirmed(ImageConfirmation)
  }
}

/// The shortest way for a fetch: from the varying parts of a line of a known shape to the answer, when the picture is
/// in memory and nothing has to be found out.
///
/// It does everything that the long way does for such a hit, or nothing.
final class PlainHits: KnownLineAnswers {
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
  private let access: Access
  /// Whether there is more to look at than whether the picture is there: claims are kept, or the daemon ends.
  private var isWatched = false
  private let own: OwnPictures
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
    access = ground.access
    self.jobs = jobs
    self.commands = commands
    own = ground.own
    review()
  }

  /// Takes in that the roles have changed, or that the daemon ends.
  func review() { isWatched = access.keepsClaims || jobs.isDraining }

  func mayAnswer(_ client: ReplyPlace) -> Bool { own.areNone(of: client.peer.uid) }

  var looksAhead: Bool { memory.count > mostNear }

  /// Prepares to answer several lines, most of which will be hits.
  func prepare(_ ahead: LinesAhead, in bytes: Span<UInt8>) {
    tags.removeAll(keepingCapacity: true)
    tags.append(addingCapacity: ahead.lines.count) { (tags: inout OutputSpan<UInt32>) in
      for index in ahead.lines.indices {
        let url = ahead.lines[index].found.parts.url
        let start = ahead.lines[index].place.lowerBound
        let tag = memory.tag(ofPlain: bytes.extracting(start + url.lowerBound..<start + url.upperBound))
        ahead.lines[index].found.tag = tag
        tags.append(tag)
      }
    }
    // One picture asked for again and again is in the nearest memory already.
    let all = tags
    if all.contains(where: { $0 != all[0] }) { memory.prefetch(all.span) }
  }

  /// Answers a line of a known shape; false when it has to go the long way.
  func answer(
    _ line: Span<UInt8>, _ found: KnownShape.Found, with further: KnownShape.Further?, to client: ReplyPlace
  ) -> Bool {
    isWatched
      ? answerWatched(line, found, with: further, to: client)
      : answer(line, found, with: further, to: client, isWatched: false)
  }

  @inline(never) private func answerWatched(
    _ line: Span<UInt8>, _ found: KnownShape.Found, with further: KnownShape.Further?, to client: ReplyPlace
  ) -> Bool { !jobs.isDraining && answer(line, found, with: further, to: client, isWatched: true) }

  /// It is compiled twice, so that a daemon without claims does not pay for them.
  @inline(__always) private func answer(
    _ line: Span<UInt8>, _ found: KnownShape.Found, with further: KnownShape.Further?, to client: ReplyPlace,
    isWatched: Bool
  ) -> Bool {
    guard jobs.isUnknown(found.parts.receipt) else { return false }
    let (id, url) = (line.extracting(found.parts.id), line.extracting(found.parts.url))
    if let brief = found.brief {
      let isAnswered = memory.withReady(url, tag: found.tag, at: loop.now) { image in
        (!isWatched || isClaimed(image, by: client))
          && answer(brief, with: image, id: id, receipt: found.parts.receipt, to: client)
      }
      switch isAnswered {
      case true: return true
      case nil: return false
      // Something has to be encoded first, which may let pictures go.
      case false: break
      }
    }
    // Tags and claims that the picture lacks are added on the long way.
    guard let image = memory.peekReady(url, tag: found.tag, at: loop.now),
      further?.adds(to: image, for: client.peer.uid, access) != true,
      !isWatched || isClaimed(image, by: client),
      let hit = found.parts.tag.isEmpty
        ? hit(image, further?.form, found.showing, for: client)
        : hit(image, unlessTagged: line.extracting(found.parts.tag), found.showing, for: client)
    else { return false }
    let elapsed = countKnown(hit.image, for: client)
    if !hit.original.hasBody { memory.touch(hit.original, at: loop.now) }
    answer(hit, id: id, receipt: found.parts.receipt, after: elapsed, to: client)
    return true
  }

  private func isClaimed(_ image: CachedImage, by client: ReplyPlace) -> Bool {
    !access.keepsClaims || image.isClaimed(by: client.peer.uid)
  }

  /// Answers with a picture as its origin sends it, alone or with its path, if all that it takes is kept with it. Nothing
  /// that is done here lets a picture go, so no reference to it is counted.
  @inline(__always) private func answer(
    _ brief: KnownShape.BriefAnswer, with image: CachedImage, id: Span<UInt8>, receipt: ReceiptID?,
    to client: ReplyPlace
  ) -> Bool {
    guard image.hasReply, brief == .facts || image.hasPathEnding && disk.lendAgain(image) else { return false }
    let numbers = numbers(of: image, receipt, after: countKnown(image, for: client))
    image.withReply { facts, pathEnding in
      switch brief {
      case .path: client.write(numbers, id: id, facts: facts, ending: pathEnding)
      case .facts:
        let ending = FetchLine.plainEnding
        client.write(numbers, id: id, facts: facts, ending: ending.span)
      }
    }
    tellSubscribers(numbers.receipt, image, of: client)
    return true
  }

  /// Counts a hit with a line of a known shape; returns how long it took, in nanoseconds.
  @inline(__always) private func countKnown(_ image: CachedImage, for client: ReplyPlace) -> Int64 {
    count += 1
    commands.countCommand()
    client.requests += 1
    memory.noteUse(of: image, at: loop.now)
    let elapsed = turns.lastLook.nanoseconds - loop.now.nanoseconds
    latency.record(elapsed)
    return elapsed
  }

  /// The hit for a client that has the version with a tag: it is told so if that is the picture's own.
  @inline(never) private func hit(
    _ image: CachedImage, unlessTagged tag: Span<UInt8>, _ showing: FetchRequest.Showing, for client: ReplyPlace
  ) -> PlainHit? {
    guard image.vary == .none else { return nil }
    let confirmation = pictures.confirmation(of: image)
    guard confirmation.isAbout(tag) else { return hit(image, nil, showing, for: client) }
    return PlainHit(original: image, image: image, ending: .confirmed(confirmation))
  }

  /// Answers a hit that was found either way; the time that it took has been recorded.
  func answer(
    _ hit: PlainHit, id: Span<UInt8>, receipt: ReceiptID?, after nanoseconds: Int64, to client: ReplyPlace
  ) {
    let numbers = numbers(of: hit.original, receipt, after: nanoseconds)
    let details = hit.details.span
    hit.image.withReply { facts, pathEnding in
      switch hit.ending {
      case .plain:
        let ending = FetchLine.plainEnding
        client.write(numbers, id: id, facts: facts, details: details, ending: ending.span)
      case .path: client.write(numbers, id: id, facts: facts, details: details, ending: pathEnding)
      case .descriptor(let ending): client.write(numbers, id: id, facts: facts, details: details, ending: ending.span)
      case .bytes:
        let ending = FetchLine.inlineEnding
        client.write(numbers, id: id, facts: facts, details: details, ending: ending.span)
        client.write(hit.image)
      case .confirmed(let confirmation):
        client.write(numbers, id: id, facts: confirmation.facts.span, ending: confirmation.ending.span)
      }
    }
    tellSubscribers(numbers.receipt, hit.image, of: client)
  }

  @inline(__always) private func numbers(
    of original: CachedImage, _ receipt: ReceiptID?, after nanoseconds: Int64
  ) -> FetchLine.Numbers {
    FetchLine.Numbers(
      receipt: receipt ?? receipts.next(), age: original.age(at: loop.now), freshFor: original.freshFor(at: loop.now),
      elapsedNanoseconds: nanoseconds)
  }

  @inline(__always) private func tellSubscribers(_ receipt: ReceiptID, _ image: CachedImage, of client: ReplyPlace) {
    if hub.hasSubscribers(to: .jobs) { hub.hit(receipt, url: image.url.text, of: client.peer.uid, from: .memory) }
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
    guard image.hasReply else { return nil }
    var details: [UInt8] = []
    if image !== original { details = FetchLine.details(framesOf: original.facts.frames, in: image.facts) }
    if showing.http || showing.describe {
      guard let known = self.details(of: image, original, showing) else { return nil }
      details += known
    }
    guard let ending = ending(of: image, showing.delivery, for: client) else { return nil }
    return PlainHit(original: original, image: image, details: details, ending: ending)
  }

  @inline(__always) private func ending(
    of image: CachedImage, _ delivery: Delivery, for client: ReplyPlace
  ) -> PlainHit.Ending? {
    switch delivery {
    case .none: return .plain
    case .path: return disk.lendAgain(image) && pictures.keepPathEnding(of: image) ? .path : nil
    case .inline: return !client.isFull && answers.mayBeInline(image) ? .bytes : nil
    case .fd, .pixels:
      // Kept first: that may evict pictures, and a client that hears of it would get the descriptor with the event.
      let ending = pictures.lentEnding(of: image)
      return attach(image, to: client) ? .descriptor(ending) : nil
    }
  }

  /// The origin's answer and the placeholder, as far as they are wanted; nil if the picture has not been described yet.
  @inline(never) private func details(
    of image: CachedImage, _ original: CachedImage, _ showing: FetchRequest.Showing
  ) -> [UInt8]? {
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
