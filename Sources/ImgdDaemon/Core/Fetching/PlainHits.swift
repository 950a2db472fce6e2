import ImgdCache
import ImgdSystem
import ImgdWire

/// A hit in memory about which nothing has to be found out, whether the shape of its line or the parser has said what
/// is wanted.
struct PlainHit {
  let image: CachedImage
  /// The fields that all answers with the picture have, encoded.
  let facts: [UInt8]
  /// The end of the line, with the path where one is wanted.
  let ending: [UInt8]
}

/// The shortest way for a fetch: from the places of its id and its URL in the line to the answer, when the picture is
/// in memory and nothing has to be found out.
///
/// It does everything that the long way does for such a hit, or nothing at all.
final class PlainHits {
  private let memory: MemoryTier
  private let disk: DiskTier
  private let jobs: FetchJobs
  private let hub: EventHub
  private let commands: CommandCounter
  private let turns: Turns
  private let loop: EventLoop
  private var receipts = ReceiptSource()
  /// How many hits were answered without parsing their lines.
  private(set) var count = 0
  /// How long hits took.
  private(set) var latency = LatencyHistogram()

  init(_ ground: FetchGround, jobs: FetchJobs, commands: CommandCounter) {
    memory = ground.pictures.memory
    disk = ground.pictures.disk
    hub = ground.hub
    turns = ground.turns
    loop = ground.loop
    self.jobs = jobs
    self.commands = commands
  }

  /// Answers a line of a known shape; false when it has to go the long way.
  func answer(
    _ line: Span<UInt8>, _ parts: LineShape.Parts, wantsPath: Bool, to client: ReplyPlace
  ) -> Bool {
    let now = loop.now
    guard !jobs.isDraining, let image = memory.peekReady(line.extracting(parts.url), at: now),
      let facts = image.replyPieces, let ending = ending(of: image, wantsPath: wantsPath)
    else { return false }
    let hit = PlainHit(image: image, facts: facts, ending: ending)
    count += 1
    commands.countCommand()
    memory.noteUse(of: hit.image, at: now)
    let elapsed = turns.lastLook.nanoseconds - now.nanoseconds
    latency.record(elapsed)
    answer(hit, id: line.extracting(parts.id), after: elapsed, to: client)
    return true
  }

  /// Answers a hit that was found either way; the time that it took has been recorded.
  @inline(__always)
  func answer(_ hit: PlainHit, id: Span<UInt8>, after nanoseconds: Int64, to client: ReplyPlace) {
    let now = loop.now
    let receipt = receipts.next()
    let numbers = FetchLine.Numbers(
      receipt: receipt, age: hit.image.age(at: now), freshFor: hit.image.freshFor(at: now),
      elapsedNanoseconds: nanoseconds)
    client.write(numbers, id: id, facts: hit.facts, ending: hit.ending)
    if hub.hasSubscribers(to: .jobs) { hub.hit(receipt, url: hit.image.url.text, from: .memory) }
  }

  /// The end of the line; nil where the path has to be found out.
  @inline(__always)
  private func ending(of image: CachedImage, wantsPath: Bool) -> [UInt8]? {
    guard wantsPath else { return FetchLine.plainEnding }
    return disk.lendAgain(image).map(FetchLine.ending(of:))
  }

  func nextReceipt() -> ReceiptID { receipts.next() }

  /// Counts a hit by the clock as it stands: it has taken the time since the tick began.
  func recordHit() -> Int64 {
    let elapsed = loop.moment.nanoseconds - loop.now.nanoseconds
    latency.record(elapsed)
    return elapsed
  }
}
