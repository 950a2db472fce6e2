import ImgdConnection

/// What happened in one interval, per second.
struct Traffic {
  let hits: Double
  let misses: Double
  let downloads: Double
  let bytes: Double
  /// The share of look-ups that were answered from the cache; nil without any.
  let ratio: Double?

  init(_ interval: Interval) {
    hits = interval.hitRate
    misses = interval.missRate
    downloads = interval.rate("downloads", "completed")
    bytes = interval.rate("downloads", "bytes_received")
    ratio = interval.hitRatio
  }
}
