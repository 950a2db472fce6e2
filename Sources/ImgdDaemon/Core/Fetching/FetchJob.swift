internal import CCrypto
import ImgdCache
import ImgdDecode
import ImgdSystem
import ImgdWire

/// One receipt: a client's request, and the connection that gets the answer.
///
/// It exists from the moment that a fetch which memory cannot answer is accepted until its one terminal line has been
/// written; `FetchJobs.end` is the only way out.
final class FetchJob {
  /// A `wait` command that waits for the outcome.
  struct Collector {
    let client: ReplyPlace
    let ticket: ReplyPlace.Ticket
    let id: RequestID
    /// Replaces the delivery that the fetch asked for.
    let delivery: Delivery?

    var openClient: ReplyPlace? { client.isOpen ? client : nil }
  }

  /// What a job waits for: one thing at a time, and its place among all who wait for that.
  enum Wait {
    /// A look at the disk; also the state of a job that waits for nothing.
    case disk
    /// What its client has handed in is being copied.
    case copy(HandedBytes.Place)
    case fleet(FleetLookups.Place)
    case download(Downloader.Place)
    /// The picture is there, and another form of it is being made.
    case decoder(RenditionWork.Place)
    /// The picture is there, and is being written to disk.
    case file
  }

  let receipt: ReceiptID
  /// Jobs are numbered as they come.
  var number: UInt64 = 0
  /// Whether it has begun, and has not ended.
  fileprivate(set) var isLive = false
  let id: RequestID
  let request: FetchRequest
  let url: CanonicalURL
  /// The identity of the request, before any redirect.
  let requested: MergeKey
  var machine: FetchMachine
  let uid: UInt32
  /// What the entry gets that it is shown.
  let entryTags: [String]
  let slot: String?
  let startedAt: Instant
  let allowance: PictureWish.Allowance
  /// What its client has handed in; nil for a picture of an origin.
  let handed: HandedIn?

  /// The connection that gets the terminal line; nil when none waits for it.
  var client: ReplyPlace? {
    get { waiting?.isOpen == true ? waiting : nil }
    set { waiting = newValue }
  }
  /// The connection that it was begun on and whose slot it fills; it need not be the one that waits for the answer.
  var owner: ReplyPlace? {
    get { beginner?.isOpen == true ? beginner : nil }
    set { beginner = newValue }
  }
  private var waiting: ReplyPlace?
  private var beginner: ReplyPlace?
  var collectors: [Collector] = []
  var isCoalesced = false
  var deadline: Timer?

  /// The claimant for whom it waits, and in whose turn its transfer starts.
  var claimant: Claimant
  let weight: Int
  var waitingFor = Wait.disk
  /// The form in which it wants the picture; nil for the picture as it comes.
  let wanted: WantedRendition?
  /// Whether that form may be made of another one, where the picture's own bytes have gone.
  var mayMakeOfForm = true
  /// Whether the event `queued` was sent.
  var isAnnounced = false
  /// Whether the event `started` is still to be sent.
  var isQueued = true

  /// The bytes of the last `progress` event, so that the final count comes exactly once.
  var lastProgress: Int?

  init(
    receipt: ReceiptID, id: RequestID, request: FetchRequest, url: CanonicalURL, mergeKey: MergeKey, uid: UInt32,
    entryTags: [String], startedAt: Instant, allowance: PictureWish.Allowance, isRefresh: Bool = false,
    own: MergeKey? = nil, handed: HandedIn? = nil
  ) {
    self.receipt = receipt
    self.id = id
    self.request = request
    self.url = url
    requested = mergeKey
    machine = FetchMachine(to: mergeKey, at: url, mode: request.cache, isRefresh: isRefresh, uid: uid, own: own)
    self.handed = handed
    self.uid = uid
    self.entryTags = entryTags
    claimant = Claimant(uid: uid, connection: 0)
    weight = request.weight + (handed?.file.weight ?? 0)
    self.slot = request.slot
    wanted = WantedRendition(request.form, for: request.delivery)
    self.startedAt = startedAt
    self.allowance = allowance
  }

  var route: FetchRoute { machine.route }
  /// The identity of its present hop.
  var mergeKey: MergeKey { machine.route.mergeKey }
  var mode: CacheMode { machine.mode }

  /// Whether it can be shown what it is to have confirmed, now that its origin cannot be reached.
  func mayShowOffered(at now: Instant) -> Bool {
    !machine.isRefresh && mode == .default_ && machine.offered?.state(at: now).mayBeShownDisconnected == true
  }

  /// What it wants at its present hop.
  var wish: PictureWish {
    PictureWish(
      request, mode, tags: entryTags, at: route.sentURL, refusals: machine.refusals, by: claimant, allowance: allowance,
      isRefresh: machine.isRefresh, isServedNext: route.finalURL != nil || machine.wasInterrupted,
      needsBody: machine.offered?.hasBody ?? true)
  }

  var state: FetchState {
    switch waitingFor {
    case .disk, .fleet: .queued
    case .download(let place): place.download.state == .running ? .running : .queued
    case .copy, .decoder, .file: .running
    }
  }

  var download: MergedDownload? { if case .download(let place) = waitingFor { place.download } else { nil } }

  /// An outcome as this job sees it: its stale stand-in, its own limit, and whether it joined another's transfer.
  func own(_ outcome: FetchOutcome, at now: Instant) -> FetchOutcome {
    switch standingIn(for: outcome, at: now) {
    case .image(let found):
      var delivered = found.shown(at: now)
      guard delivered.image.byteCount <= allowance.bytes else {
        return .failure(FetchFailure(error: .tooLarge(limit: allowance.bytes)))
      }
      delivered.isCoalesced = isCoalesced
      delivered.finalURL = route.finalURL
      // What another host has answered with was not asked for.
      delivered.isOffered = machine.offered != nil && (delivered.source == .network || outcome.isFailure)
      return .image(delivered)
    case .notModified(var answer):
      answer.isCoalesced = isCoalesced
      answer.finalURL = route.finalURL
      return .notModified(answer)
    case .failure(var failure):
      if machine.offered != nil { failure.error = failure.error.asOffered }
      return .failure(failure)
    }
  }

  private func standingIn(for outcome: FetchOutcome, at now: Instant) -> FetchOutcome {
    guard case .failure(let failure) = outcome, failure.isOfOrigin, let fallback = machine.fallback else {
      return outcome
    }
    return FetchOutcome(stored: fallback, under: mergeKey, at: now)
  }

  func needsDecoder(for found: DeliveredImage) -> Bool {
    if found.isMade { return false }
    if request.describe, found.image.description.isEmpty { return true }
    return wanted?.leavesAsItIs(found.image.facts) == false
  }

  var wantsPath: Bool {
    (client != nil && request.delivery == .path) || collectors.contains { ($0.delivery ?? request.delivery) == .path }
  }

  /// A job of the daemon's own, which has a stale picture confirmed after another job was shown it.
  convenience init(refreshing job: FetchJob, receipt: ReceiptID, at now: Instant) {
    self.init(
      receipt: receipt, id: .none, request: job.request.refreshing, url: job.route.sentURL,
      mergeKey: job.mergeKey.unconditional, uid: job.uid, entryTags: job.entryTags, startedAt: now,
      allowance: job.allowance, isRefresh: true)
  }
}

extension FetchOutcome {
  /// The outcome of a fetch that is shown what is stored, under the condition that its client has set.
  init(stored: DeliveredImage, under key: MergeKey, at now: Instant) {
    // The client's own condition, as far as it is for the cache.
    let condition = key.headers.isEmpty ? nil : ClientCondition(key.sent, now: WallClock.seconds)
    if let answer = NotModified(stored, under: condition, at: now) {
      self = .notModified(answer)
    } else {
      self = .image(stored)
    }
  }
}

/// Fetches in the order in which they came.
typealias JobRoll = Roll<FetchJob>

extension JobRoll {
  mutating func add(_ job: FetchJob) { add(job, numbered: job.number) }
  mutating func remove(_ job: FetchJob) { remove(job.number) }
}

/// Every live receipt, and the last ones that have ended.
struct JobRegistry {
  /// Receipts remembered as finished, so that a late `cancel` can say so; older ones are `unknown`.
  private static let rememberedEnds = 1_000

  private var live = SteadyDictionary<ReceiptID, FetchJob>()
  private(set) var roll = JobRoll()
  private var tagged = SteadyDictionary<String, JobRoll>()
  private var lastNumber: UInt64 = 0
  /// The receipts that have ended, and the users who had them: until it is forgotten, a receipt belongs to its user.
  private var ended: [ReceiptID: UInt32] = [:]
  private var endedInOrder = Fifo<ReceiptID>()

  var count: Int { live.count }
  subscript(receipt: ReceiptID) -> FetchJob? { live[receipt] }

  /// The user whose fetch had the receipt, as far as that is remembered.
  func formerOwner(of receipt: ReceiptID) -> UInt32? { ended[receipt] }

  mutating func add(_ job: FetchJob) {
    lastNumber += 1
    job.number = lastNumber
    job.isLive = true
    live[job.receipt] = job
    roll.add(job)
    for tag in Set(job.request.tags) {
      tagged.update(tag) { roll in
        if roll == nil { roll = JobRoll() }
        roll?.add(job)
      }
    }
  }

  /// The live fetches with a tag; without one, all of them.
  func roll(of tag: String?) -> JobRoll {
    guard let tag else { return roll }
    return tagged[tag] ?? JobRoll()
  }

  mutating func remove(_ job: FetchJob) {
    guard live.removeValue(forKey: job.receipt) != nil else { return }
    job.isLive = false
    roll.remove(job)
    for tag in Set(job.request.tags) {
      tagged.update(tag) { roll in
        roll?.remove(job)
        if roll?.isEmpty == true { roll = nil }
      }
    }
    guard ended.updateValue(job.uid, forKey: job.receipt) == nil else { return }
    endedInOrder.append(job.receipt)
    if endedInOrder.count > Self.rememberedEnds, let oldest = endedInOrder.popFirst() { ended[oldest] = nil }
  }
}

/// Receipts for requests that bring none: random UUIDs, made in batches.
///
/// They come from libcrypto's generator, which takes a twentieth of the time that the kernel's own does.
struct ReceiptSource {
  private static let batch = 256

  private var words = [UInt64](repeating: 0, count: 2 * batch)
  private var place = 2 * batch

  mutating func next() -> ReceiptID {
    if place == words.count { refill() }
    defer { place += 2 }
    return .random(using: (words[place], words[place + 1]))
  }

  private mutating func refill() {
    let isFilled = unsafe words.withUnsafeMutableBytes { bytes in
      let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return unsafe RAND_bytes(start, CInt(bytes.count)) == 1
    }
    if !isFilled { Randomness.fill(&words) }
    place = 0
  }
}

/// Ends many fetches in parts: queued ones first, or they would be started only to be ended.
final class MassEnding {
  /// The most fetches that one step ends.
  private static let mostEnded = 16
  /// The most that it looks at.
  private static let mostExamined = 256

  typealias Part = (members: [FetchJob], end: UInt64?)

  /// The fetches after a number, as `JobRoll` has them.
  private let part: (_ number: UInt64, _ most: Int) -> Part
  private let isMeant: (FetchJob) -> Bool
  private let end: (FetchJob) -> Void
  /// Those that come later are left alone.
  private let newest: UInt64
  private var position: UInt64 = 0
  private var endsRunning = false
  private(set) var count = 0

  init(
    upTo newest: UInt64, _ part: @escaping (_ number: UInt64, _ most: Int) -> Part,
    where isMeant: @escaping (FetchJob) -> Bool = { _ in true }, end: @escaping (FetchJob) -> Void
  ) {
    self.newest = newest
    self.part = part
    self.isMeant = isMeant
    self.end = end
  }

  /// Ends all fetches of a roll that nobody else uses.
  convenience init(_ roll: JobRoll, end: @escaping (FetchJob) -> Void) {
    self.init(upTo: roll.newest, { roll.part(after: $0, most: $1) }, end: end)
  }

  /// Ends some of them; returns whether there may be more.
  func step() -> Bool {
    let part = part(position, Self.mostExamined)
    let before = count
    for job in part.members {
      guard job.number <= newest else { return endPass() }
      position = job.number
      guard endsRunning || job.state == .queued, isMeant(job) else { continue }
      end(job)
      count += 1
      if count - before == Self.mostEnded { return true }
    }
    guard let next = part.end else { return endPass() }
    position = next
    return true
  }

  func endAll() { while step() {} }

  private func endPass() -> Bool {
    guard !endsRunning else { return false }
    endsRunning = true
    position = 0
    return true
  }
}
