import ImgdCache

/// The newest pictures that were kept under keys for which others are still on their way. A picture that takes less time
/// overtakes one that was begun before it; by the time the older one comes, no tier may hold the newer one any more.
final class LatestPictures {
  private var keys: [CacheKey: (arrivals: Int, newest: UInt64)] = [:]

  /// A picture on its way, for as long as somebody holds this.
  final class Arrival {
    private let key: CacheKey
    private let latest: LatestPictures

    fileprivate init(of key: CacheKey, in latest: LatestPictures) {
      (self.key, self.latest) = (key, latest)
      latest.keys[key, default: (0, 0)].arrivals += 1
    }

    deinit {
      guard let known = latest.keys[key] else { return }
      latest.keys[key] = known.arrivals > 1 ? (known.arrivals - 1, known.newest) : nil
    }
  }

  func expect(_ key: CacheKey) -> Arrival { Arrival(of: key, in: self) }

  /// Whether nothing newer has been kept since a picture, or an answer without one, was begun.
  func permits(_ image: CachedImage) -> Bool {
    keys.isEmpty || keys[image.key].map { $0.newest <= image.serial } ?? true
  }

  /// Notes a picture that is to be kept; false if a newer one has been kept since it was begun.
  func note(_ image: CachedImage) -> Bool {
    guard permits(image) else { return false }
    keys[image.key]?.newest = image.serial
    return true
  }
}
