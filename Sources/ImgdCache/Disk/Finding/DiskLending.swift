internal import ImgdSystem

/// Hands out the paths of images.
///
/// A file that was lent is lent again without any check within the same term, which ends with the
/// second, or when any entry has gone or any file was touched. Its use and its lease are noted in whole
/// seconds, so there would be nothing new to note either.
final class DiskLending: DiskPart {
  private let stores: DiskStores
  private let verified: VerifiedFiles
  private let removals: DiskRemovals
  /// The tick in which it was last asked what others have done to the files, and the second of that tick.
  private var heardIn: UInt64 = 0
  private var second = 0

  init(_ ground: DiskGround, stores: DiskStores, verified: VerifiedFiles, removals: DiskRemovals) {
    self.stores = stores
    self.verified = verified
    self.removals = removals
    super.init(ground)
  }

  /// The number of the current term; both summands only rise, so no two terms have the same number.
  private func term() -> Int {
    if heardIn != loop.tickCount {
      heardIn = loop.tickCount
      second = Int(rules.wall)
      verified.hear()
    }
    return verified.changeCount + second
  }

  func lend(_ image: CachedImage, mayStore: Bool, countsAsUse: Bool) -> PathLending {
    if let refusal = health.absence { return .refused(refusal) }
    if stores.contains(image) { return .waiting }
    if image.file == nil { reunite(image) }
    if let file = image.file, let entry = files.entry(of: file), entry.hasBody {
      switch verified.check(entry, at: file.place) {
      case .sound:
        if countsAsUse { uses.note(file.place) }
        leases.lease(file.place)
        return .lent
      case .wouldWait, .unknown: return .waiting
      case .missing: removals.removeMissing(file.place)
      case .damaged: removals.removeDamaged(file.place, "it is not the file that was stored")
      }
    }
    guard mayStore else { return .refused(image.file == nil ? .notWanted : .lost) }
    if let refusal = stores.add(image) { return .refused(refusal) }
    return .waiting
  }

  func lendAgain(_ image: CachedImage) -> Bool {
    guard health.isUp, stores.isEmpty || !stores.contains(image) else { return false }
    let term = term()
    if image.lentTerm == term { return true }
    guard let file = image.file, files.holds(file), verified.isSound(file.place) else { return false }
    uses.note(file.place)
    leases.lease(file.place)
    image.lentTerm = term
    return true
  }

  func whenSettled(_ image: CachedImage, _ action: @escaping () -> Void) {
    if stores.whenSettled(image, action) { return }
    if let file = image.file, verified.whenChecked(file.number, action) { return }
    action()
  }

  /// Finds the file of an image that an earlier process has left in memory, if it is still there.
  private func reunite(_ image: CachedImage) {
    guard image.formerFile != 0, let digest = image.digest,
      let place = index.place(of: digest, number: image.formerFile)
    else { return }
    let entry = index[place]
    guard Int(entry.bytes) == image.byteCount else { return }
    image.file = files.stored(entry, at: place)
  }
}

/// The leases of paths that were handed out: their files stay for a while, whatever becomes of the entries.
///
/// Leases end in the order in which they were given, and are forgotten as later ones are given, so no
/// call passes over all of them.
final class FileLeases {
  private struct Ending {
    let end: UInt32
    let number: UInt32
    /// The place that its entry had when the lease was given.
    let place: Int
  }

  private static let mostForgotten = 1_024

  private(set) var lastEnd: Int64 = 0

  private let index: DiskIndex
  private let rules: DiskRules
  /// The ends of leases, in seconds since 1970, by the numbers of entries.
  private var current: [UInt32: UInt32] = [:]
  /// Leases that were handed to the writer, the latest last.
  private var former: [FormerLeases] = []
  private var endings = Fifo<Ending>()

  init(index: DiskIndex, rules: DiskRules) {
    self.index = index
    self.rules = rules
  }

  /// The number of leases held here, including those that have ended but are not forgotten yet.
  var count: Int { endings.count }

  func lease(_ place: Int) {
    let (duration, entry) = (rules.leaseSeconds, index[place])
    let end = rules.wall + duration
    guard Int64(entry.leaseEnd) < end else { return }
    // Half as long again, so that the lease need not be renewed at every use.
    let leaseEnd = UInt32(clamping: end + duration / 2)
    index.setLease(until: leaseEnd, at: place)
    current[entry.number] = leaseEnd
    endings.append(Ending(end: leaseEnd, number: entry.number, place: place))
    lastEnd = max(lastEnd, Int64(leaseEnd))
    forgetEnded(atMost: 2)
  }

  /// The leases of some entries that have not ended.
  func ends(of numbers: [UInt32]) -> LeaseEnds {
    let all = LeaseEnds(ends: current, former: former, since: rules.wall)
    var ends = LeaseEnds()
    for number in numbers {
      let end = all.end(of: number)
      if end > 0 { ends.ends[number] = UInt32(clamping: end) }
    }
    return ends
  }

  /// All leases that have not ended, for the writer: the table is handed over instead of copied.
  func takeEnds() -> LeaseEnds {
    let wall = rules.wall
    former.removeAll { $0.lastEnd <= wall }
    if !current.isEmpty {
      let latest = FormerLeases(current, lastEnd: lastEnd)
      current = [:]
      if let merged = former.last?.merged(with: latest) {
        former[former.count - 1] = merged
      } else {
        former.append(latest)
      }
    }
    return LeaseEnds(former: former, since: wall)
  }

  var bytes: Int {
    forgetEnded(atMost: Self.mostForgotten)
    return index.leasedBytes
  }

  private func forgetEnded(atMost most: Int) {
    let wall = rules.wall
    for _ in 0..<most {
      guard let first = endings.first, Int64(first.end) <= wall else { return }
      _ = endings.popFirst()
      // It may have been renewed.
      if current[first.number] == first.end { current[first.number] = nil }
      if index.entry(at: first.place, number: first.number)?.leaseEnd == first.end {
        index.setLease(until: 0, at: first.place)
      }
    }
  }

  func forget() {
    current = [:]
    former = []
    endings = Fifo()
    lastEnd = 0
  }
}

/// The ends of the leases on files that are about to go, in seconds since 1970.
struct LeaseEnds: Sendable {
  var ends: [UInt32: UInt32] = [:]
  /// Leases that are shared with the control loop, the latest last.
  var former: [FormerLeases] = []
  /// The end that holds for all other files.
  var otherwise: Int64 = 0
  /// Leases that end by this time do not count any more.
  var since: Int64 = 0

  /// The end of the lease on an entry's file; zero if it is not leased.
  func end(of number: UInt32) -> Int64 {
    guard let end = found(number), Int64(end) > since else { return otherwise }
    return Int64(end)
  }

  private func found(_ number: UInt32) -> UInt32? {
    if let end = ends[number] { return end }
    for leases in former.reversed() { if let end = leases.ends[number] { return end } }
    return nil
  }
}

/// Leases that no longer change, so that two threads can share them.
final class FormerLeases: Sendable {
  /// So few leases that copying them costs little.
  private static let few = 4_096

  let ends: [UInt32: UInt32]
  let lastEnd: Int64

  init(_ ends: [UInt32: UInt32], lastEnd: Int64) {
    self.ends = ends
    self.lastEnd = lastEnd
  }

  func merged(with later: FormerLeases) -> FormerLeases? {
    guard ends.count + later.ends.count <= Self.few else { return nil }
    return FormerLeases(ends.merging(later.ends) { $1 }, lastEnd: max(lastEnd, later.lastEnd))
  }
}
