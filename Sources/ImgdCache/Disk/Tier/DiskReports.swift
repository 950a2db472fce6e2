/// Counts the events of the tier, and passes on its news.
final class DiskReports {
  private(set) var counts = DiskCounts()
  /// Set once by the composition of the daemon.
  var onNews: (DiskNews) -> Void = { _ in }

  func hit() { counts.hits += 1 }

  func miss() { counts.misses += 1 }

  func purge() { counts.purges += 1 }

  func writeError() { counts.writeErrors += 1 }

  func stored(isReplacement: Bool) { if isReplacement { counts.replacements += 1 } else { counts.insertions += 1 } }

  func evicted(_ removal: Removal) {
    counts.evictions += removal.entries
    counts.evictedBytes += removal.bytes
    onNews(.evicted(removal))
  }

  func damaged(_ description: String) {
    counts.corrupt += 1
    onNews(.damaged(description))
  }
}
