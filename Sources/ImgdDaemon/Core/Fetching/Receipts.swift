internal import CCrypto
import ImgdSystem
import ImgdWire

/// Every live receipt, and the last ones that have ended.
struct JobRegistry {
  /// Receipts remembered as finished after their line was written, so that a late `cancel` can say
  /// so; older ones are `unknown`.
  private static let rememberedEnds = 1_000

  private var live = SteadyDictionary<ReceiptID, FetchJob>()
  /// The live fetches in the order in which they came.
  private(set) var roll = JobRoll()
  /// The live fetches by tag.
  private var tagged = SteadyDictionary<String, JobRoll>()
  private var lastNumber: UInt64 = 0
  /// The receipts that have ended, and the users who had them: until it is forgotten, a receipt belongs to its user.
  private var ended: [ReceiptID: UInt32] = [:]
  private var endedInOrder: [ReceiptID] = []
  private var oldestEnd = 0

  var count: Int { live.count }
  subscript(receipt: ReceiptID) -> FetchJob? { live[receipt] }

  func hasEnded(_ receipt: ReceiptID) -> Bool { ended[receipt] != nil }

  /// The user whose fetch had the receipt, as far as that is remembered.
  func formerOwner(of receipt: ReceiptID) -> UInt32? { ended[receipt] }

  mutating func add(_ job: FetchJob) {
    lastNumber += 1
    job.number = lastNumber
    live[job.receipt] = job
    roll.add(job)
    for tag in job.tags {
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

  private mutating func removeTags(of job: FetchJob) {
    for tag in job.tags {
      tagged.update(tag) { roll in
        roll?.remove(job)
        if roll?.isEmpty == true { roll = nil }
      }
    }
  }

  mutating func remove(_ job: FetchJob) {
    guard live.removeValue(forKey: job.receipt) != nil else { return }
    roll.remove(job)
    removeTags(of: job)
    rememberEnd(of: job.receipt, by: job.uid)
  }

  /// Keeps the newest ends in a ring.
  private mutating func rememberEnd(of receipt: ReceiptID, by uid: UInt32) {
    guard ended.updateValue(uid, forKey: receipt) == nil else { return }
    guard endedInOrder.count == Self.rememberedEnds else { return endedInOrder.append(receipt) }
    ended[endedInOrder[oldestEnd]] = nil
    endedInOrder[oldestEnd] = receipt
    oldestEnd = (oldestEnd + 1) % Self.rememberedEnds
  }
}

/// Receipts for requests that bring none: random UUIDs, made in batches.
///
/// They come from libcrypto's generator, which the kernel seeds, and which takes a twentieth of the time
/// that the kernel's own does.
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
