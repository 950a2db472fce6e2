/// The ends of the leases on files that are about to go, in seconds since 1970.
struct LeaseEnds: Sendable {
  /// By the numbers of entries.
  var ends: [UInt32: UInt32] = [:]
  /// Leases that are shared with the control loop, the latest last.
  var former: [FormerLeases] = []
  /// For all others.
  var otherwise: Int64 = 0
  /// Leases that end by then are over.
  var since: Int64 = 0

  /// Zero for a file that is not leased.
  func end(of number: UInt32) -> Int64 {
    guard let end = found(number), Int64(end) > since else { return otherwise }
    return Int64(end)
  }

  private func found(_ number: UInt32) -> UInt32? {
    if let end = ends[number] { return end }
    for leases in former.reversed() {
      if let end = leases.ends[number] { return end }
    }
    return nil
  }
}

/// Leases that do not change any more, so that two threads can look at them.
final class FormerLeases: Sendable {
  /// Few enough to be copied.
  private static let few = 4_096

  let ends: [UInt32: UInt32]
  let lastEnd: Int64

  init(_ ends: [UInt32: UInt32], lastEnd: Int64) {
    self.ends = ends
    self.lastEnd = lastEnd
  }

  /// Both together; nil when they are many.
  func merged(with later: FormerLeases) -> FormerLeases? {
    guard ends.count + later.ends.count <= Self.few else { return nil }
    return FormerLeases(
      ends.merging(later.ends) { $1 }, lastEnd: max(lastEnd, later.lastEnd))
  }
}
