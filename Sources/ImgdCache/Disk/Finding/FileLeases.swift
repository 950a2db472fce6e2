internal import ImgdSystem

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

  /// How many ended leases are forgotten in one go.
  private static let mostForgotten = 1_024

  /// The latest end of all leases that were given.
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

  /// Leases the file of an entry, so that it stays for a while.
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

  /// Bytes of leased files whose entries still exist.
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

  /// Starts over with another index.
  func forget() {
    current = [:]
    former = []
    endings = Fifo()
    lastEnd = 0
  }
}
