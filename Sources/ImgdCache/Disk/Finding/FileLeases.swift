internal import ImgdSystem

/// Paths that were handed out: their files stay for a while, whatever becomes of the entries.
final class FileLeases {
  private struct Lease {
    /// In seconds since 1970.
    let end: Int64
    /// The place that its entry had then.
    let place: Int
  }

  /// The end of the last lease that was given.
  private(set) var lastEnd: Int64 = 0

  private let index: DiskIndex
  private let rules: DiskRules
  /// By the numbers of entries.
  private var leases: [UInt32: Lease] = [:]
  /// How many were not over when the others were last forgotten.
  private var kept = 0

  init(_ index: DiskIndex, _ rules: DiskRules) {
    self.index = index
    self.rules = rules
  }

  /// Has the file of an entry stay from now on.
  func lease(_ place: Int) {
    let (duration, entry) = (rules.leaseSeconds, index[place])
    let end = rules.wall + duration
    guard Int64(entry.leaseEnd) < end else { return }
    // Half as long again, so that the lease need not be renewed at every use.
    let leaseEnd = UInt32(clamping: end + duration / 2)
    index.setLease(until: leaseEnd, at: place)
    leases[entry.number] = Lease(end: Int64(leaseEnd), place: place)
    lastEnd = max(lastEnd, Int64(leaseEnd))
    forgetEnded()
  }

  /// Leases that are over are forgotten when the table has doubled since the last time, so that to
  /// look through it costs each lease little.
  private func forgetEnded() {
    guard leases.count > max(1_024, 2 * kept) else { return }
    let wall = rules.wall
    leases = leases.filter { $0.value.end > wall }
    kept = leases.count
  }

  /// The leases of some entries that are not over.
  func ends(of numbers: [UInt32]) -> LeaseEnds {
    let wall = rules.wall
    var ends = LeaseEnds()
    for number in numbers {
      if let lease = leases[number], lease.end > wall { ends.ends[number] = lease.end }
    }
    return ends
  }

  /// Every lease that is not over.
  var ends: LeaseEnds {
    let wall = rules.wall
    return LeaseEnds(ends: leases.compactMapValues { $0.end > wall ? $0.end : nil })
  }

  /// Bytes of the files that are leased and have their entries still.
  var bytes: Int {
    let wall = rules.wall
    return leases.reduce(0) { sum, lease in
      guard lease.value.end > wall,
        let entry = index.entry(at: lease.value.place, number: lease.key)
      else { return sum }
      return sum + Int(entry.bytes)
    }
  }

  /// Begins anew with another index.
  func forget() {
    leases = [:]
    kept = 0
    lastEnd = 0
  }
}
