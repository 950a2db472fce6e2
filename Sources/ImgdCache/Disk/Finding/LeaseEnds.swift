/// The ends of the leases on files that are about to go, in seconds since 1970.
struct LeaseEnds: Sendable {
  /// The ends of single leases, by the numbers of entries.
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

  /// Both merged; nil if there are too many.
  func merged(with later: FormerLeases) -> FormerLeases? {
    guard ends.count + later.ends.count <= Self.few else { return nil }
    return FormerLeases(ends.merging(later.ends) { $1 }, lastEnd: max(lastEnd, later.lastEnd))
  }
}
