import ImgdCache

extension FetchPipeline {
  /// What goes on, in one line for everybody who looks: numbers, and no URL.
  var statusText: String {
    let counts = memory.counts
    let lookups = counts.hits + counts.misses
    let share = lookups > 0 ? "\(counts.hits * 100 / lookups) %" : "no"
    return "downloading \(downloader.activeCount), waiting \(downloader.queuedCount); "
      + "\(memory.count) pictures in memory (\(memory.usage >> 20) MB), \(disk.count) on disk; "
      + "\(share) hits"
  }
}
