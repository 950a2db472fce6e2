import ImgdCache
import ImgdSystem
import ImgdWire

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
